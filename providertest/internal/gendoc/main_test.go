package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRun(t *testing.T) {
	document, err := os.ReadFile("../../../docs/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "providers.md")
	if err := os.WriteFile(file, document, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run([]string{file}); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(file)
	if err != nil || string(written) != string(document) {
		t.Errorf("a document that is fresh was changed: %v", err)
	}
}

func TestRunFails(t *testing.T) {
	bare := filepath.Join(t.TempDir(), "bare.md")
	if err := os.WriteFile(bare, []byte("# nothing\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{nil, {"a", "b"}, {filepath.Join(t.TempDir(), "none.md")}, {bare}} {
		if err := run(args); err == nil {
			t.Errorf("run(%q) answers nil", args)
		}
	}
	if text, err := os.ReadFile(bare); err != nil || string(text) != "# nothing\n" {
		t.Errorf("a document without parts was changed to %q: %v", text, err)
	}
}
