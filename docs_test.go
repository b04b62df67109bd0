package provider_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// documents returns the text of every Markdown file of the repository.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	walk(t, func(name string) {
		if path.Ext(name) == ".md" {
			texts[name] = read(t, name)
		}
	})
	return texts
}

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks holds that links within the repository lead somewhere, to a file
// and to a heading.
func TestLinks(t *testing.T) {
	texts := documents(t)
	for name, text := range texts {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			target, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(target, "://") {
				continue
			}
			file := name
			if target != "" {
				file = path.Join(path.Dir(name), target)
				if _, err := os.Stat(filepath.FromSlash(file)); err != nil {
					t.Errorf("%s links to %s, which is not there", name, m[1])
					continue
				}
			}
			if fragment != "" && !anchors(texts[file])[fragment] {
				t.Errorf("%s links to %s, but %s has no such heading", name, m[1], file)
			}
		}
	}
}

var (
	heading    = regexp.MustCompile(`(?m)^#+ (.*)$`)
	notInTitle = regexp.MustCompile("[^a-z0-9 _-]")
)

// anchors returns the names by which a document's headings are linked to.
func anchors(text string) map[string]bool {
	names := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		title := notInTitle.ReplaceAllString(strings.ToLower(m[1]), "")
		names[strings.ReplaceAll(title, " ", "-")] = true
	}
	return names
}

// TestMentions holds that a document that Go code points to is there.
func TestMentions(t *testing.T) {
	mention := regexp.MustCompile(`docs/[a-z0-9/-]+\.md|docs/decisions/[0-9]{4}`)
	for _, f := range readTree(t).files {
		for _, name := range mention.FindAllString(string(f.text), -1) {
			found, err := filepath.Glob(filepath.FromSlash(name) + "*")
			if err != nil {
				t.Fatal(err)
			}
			if len(found) == 0 {
				t.Errorf("%s mentions %s, which is not there", f.path, name)
			}
		}
	}
}

// TestReadme holds that the README stays short, shows the program that is
// compiled, and names commands that exist.
func TestReadme(t *testing.T) {
	readme := read(t, "README.md")
	if n := strings.Count(readme, "\n"); n > 150 {
		t.Errorf("README.md has %d lines; at most 150 are allowed, the rest belongs into docs", n)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme, -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d blocks of Go code; it has the quickstart and no other", len(blocks))
	}
	if program := read(t, "examples/quickstart/main.go"); !strings.Contains(program, blocks[0][1]) {
		t.Errorf("README.md shows this, which is not in examples/quickstart/main.go:\n%s", blocks[0][1])
	}
	makefile := read(t, "Makefile")
	for _, m := range regexp.MustCompile("make ([a-z-]+)").FindAllStringSubmatch(readme, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("README.md names `make %s`, which the Makefile has not", m[1])
		}
	}
}

// TestDecisions holds that the index has every decision under its title, and
// that each has a number of its own.
func TestDecisions(t *testing.T) {
	index := read(t, "docs/decisions/README.md")
	files, err := filepath.Glob("docs/decisions/0*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("no decisions: %v", err)
	}
	numbers := map[string]string{}
	for _, file := range files {
		number, _, _ := strings.Cut(filepath.Base(file), "-")
		if other, ok := numbers[number]; ok {
			t.Errorf("%s and %s have one number", other, file)
		}
		numbers[number] = file
		first, _, _ := strings.Cut(read(t, filepath.ToSlash(file)), "\n")
		_, title, _ := strings.Cut(first, ". ")
		if want := "[" + title + "](" + filepath.Base(file) + ")"; !strings.Contains(index, want) {
			t.Errorf("docs/decisions/README.md lacks %s", want)
		}
	}
}
