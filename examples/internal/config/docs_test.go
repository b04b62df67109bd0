package config

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestDocumented holds docs/configuration.md to the types: it names every key
// in a table or in a sentence, and every variable.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(data)
	for key, where := range keysOf(reflect.TypeFor[Config](), "", map[string]string{}) {
		if !strings.Contains(doc, "`"+key+"`") {
			t.Errorf("docs/configuration.md does not name the key %s of %s", key, where)
		}
	}
	for _, name := range []string{EnvConfig, EnvOwner, EnvStateDir, EnvListen, EnvToken, EnvCheckURL} {
		if !strings.Contains(doc, "| `"+name+"` |") {
			t.Errorf("docs/configuration.md does not name %s", name)
		}
	}
}

// TestDocumentedDefaults holds the defaults that the document states.
func TestDocumentedDefaults(t *testing.T) {
	data, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	d := defaults()
	seen := 0
	for section, v := range map[string]reflect.Value{
		"check": reflect.ValueOf(d.Check), "limits": reflect.ValueOf(d.Limits), "collector": reflect.ValueOf(d.Collector),
	} {
		_, text, _ := strings.Cut(string(data), "\n### "+section+"\n")
		text, _, _ = strings.Cut(text, "\n### ")
		for key, i := range fieldsOf(v.Type()) {
			row := regexp.MustCompile("(?m)^\\| `" + key + "` \\| `([^`]*)` ").FindStringSubmatch(text)
			if row == nil {
				continue // a default in words
			}
			seen++
			got := reflect.New(v.Type()).Elem().Field(i)
			if err := setText(got, row[1]); err != nil || got.Interface() != v.Field(i).Interface() {
				t.Errorf("docs/configuration.md says that %s.%s is %s (%v), and it is %v", section, key, row[1], err, v.Field(i))
			}
		}
	}
	if seen < 12 {
		t.Errorf("only %d defaults were found", seen)
	}
}

// keysOf gathers the keys of a type and of all within it.
func keysOf(t reflect.Type, path string, into map[string]string) map[string]string {
	switch {
	case t.Kind() == reflect.Slice || t.Kind() == reflect.Map:
		keysOf(t.Elem(), path, into)
	case t.Kind() == reflect.Struct && t != reflect.TypeFor[time.Time]():
		for key, i := range fieldsOf(t) {
			into[key] = join(path, key)
			keysOf(t.Field(i).Type, join(path, key), into)
		}
	}
	return into
}

func TestExampleFile(t *testing.T) {
	path := "../../proxyd/proxyd.example.yaml"
	c, err := Load(path, env(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	for i := range c.Fleets {
		for _, name := range c.Fleets[i].Members() {
			if _, err := c.Fleets[i].Spec(name); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	if len(c.Owners()) != 3 {
		t.Errorf("it has %d members, want 3", len(c.Owners()))
	}

	// What is commented out shows the defaults, so reading it changes nothing.
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?m)^# ((?:check|limits|collector|  \w+):.*)$`)
	text := block.ReplaceAllString(string(data), "$1")
	if text == string(data) {
		t.Fatal("nothing is commented out")
	}
	full, err := Parse(filepath.Join(t.TempDir(), "full.yaml"), []byte(text), env(t))
	if err != nil {
		t.Fatal(err)
	}
	if d := defaults(); full.Check != d.Check || full.Limits != d.Limits || full.Collector != d.Collector {
		t.Errorf("the values in comments are not the defaults: %+v %+v %+v", full.Check, full.Limits, full.Collector)
	}
}
