package guest

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

func guestPage(t *testing.T) string {
	t.Helper()
	page, err := os.ReadFile("../../../docs/guest.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

// The example of the page is a document, and uses every field.
func TestPageExample(t *testing.T) {
	_, rest, _ := strings.Cut(guestPage(t), "```json\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("docs/guest.md has no example in JSON")
	}
	doc, err := provider.ParseGuest([]byte(example))
	if err != nil {
		t.Fatalf("the example of docs/guest.md: %v", err)
	}
	if _, err := New(doc, Options{}); err != nil {
		t.Errorf("the guest refuses the example: %v", err)
	}
	for _, field := range jsonFields(reflect.TypeFor[provider.Guest](), "") {
		name := field[strings.LastIndex(field, ".")+1:]
		if !strings.Contains(example, `"`+strings.TrimSuffix(name, "[]")+`"`) {
			t.Errorf("the example does not show %s", field)
		}
	}
}

// The table names every field of the document, in its order, and no other.
func TestPageFields(t *testing.T) {
	_, rest, _ := strings.Cut(guestPage(t), "| field | default | meaning |\n")
	table, _, _ := strings.Cut(rest, "\n\n")
	var got []string
	for _, row := range regexp.MustCompile("(?m)^\\| `([^`]+)` \\|").FindAllStringSubmatch(table, -1) {
		got = append(got, row[1])
	}
	want := jsonFields(reflect.TypeFor[provider.Guest](), "")
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("the table of docs/guest.md has the fields\n%s\nand the document has\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// jsonFields lists the paths of the fields of a struct and of the structs in it.
func jsonFields(t reflect.Type, path string) []string {
	var fields []string
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "" {
			continue
		}
		fields = append(fields, path+name)
		inner, suffix := f.Type, "."
		if inner.Kind() == reflect.Slice {
			inner, suffix = inner.Elem(), "[]."
		}
		if inner.Kind() == reflect.Struct {
			fields = append(fields, jsonFields(inner, path+name+suffix)...)
		}
	}
	return fields
}

// The limits of the page are those of the code.
func TestPageLimits(t *testing.T) {
	page := guestPage(t)
	l := Limits{}.withDefaults()
	for row, holds := range map[string]bool{
		"| connections of clients | 1024 |":                  l.Connections == 1024,
		"for refusing | 32 |":                                spareConnections == 32,
		"| bytes of a request's header | 32 KiB |":           l.HeaderBytes == 32<<10,
		"| time to send a header | 10 s |":                   l.Header.String() == "10s",
		"requests of a connection | 1 min |":                 l.KeepAlive.String() == "1m0s",
		"connect | 15 s, and 5 s for each":                   l.Dial.String() == "15s" && dialEach.String() == "5s",
		"the last of at most 4 |":                            maxAddresses == 4,
		"| time in which nothing moves | 2 min |":            l.Idle.String() == "2m0s",
		"| time of a request or tunnel | 1 h |":              l.Total.String() == "1h0m0s",
		"a target's answer | 256 KiB |":                      maxTargetHeader == 256<<10,
		"| waits, for 10 s at most, then 503 |":              hashWait.String() == "10s",
		"| wrong passwords remembered | 4096 |":              maxWrong == 4096,
		"| time to drain at the end | 10 s |":                l.Drain.String() == "10s",
		"| bcrypt 14, SHA-512 1,000,000 rounds |":            maxHashCost == 14 && maxRounds == 1_000_000,
		"| size of the document | 1 MiB |":                   maxDocument == 1<<20,
		"targets are kept for 30 s":                          idleTargetExpiration.String() == "30s",
		"as the client wrote them, cut at 259 bytes":         len(clip(strings.Repeat("x", 1000))) == 259,
		"`GET /healthz` in origin form":                      healthPath == "/healthz",
		"| 0 | ended by SIGTERM or SIGINT |":                 exitOK == 0,
		"| 1 | it could not listen":                          exitError == 1,
		"| 2 | the arguments or the document cannot be used": exitUsage == 2,
	} {
		if !strings.Contains(page, row) || !holds {
			t.Errorf("docs/guest.md says %v %q, and the code agrees: %v", strings.Contains(page, row), row, holds)
		}
	}
}
