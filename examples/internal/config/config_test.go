package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

// env is an environment with a state directory of its own, and the variables
// given as pairs.
func env(t testing.TB, pairs ...string) func(string) string {
	vars := map[string]string{EnvStateDir: t.TempDir()}
	for i := 0; i < len(pairs); i += 2 {
		vars[pairs[i]] = pairs[i+1]
	}
	return func(key string) string { return vars[key] }
}

// parse reads a text that is expected to be good, and prepares it.
func parse(t *testing.T, text string, getenv func(string) string) *Config {
	t.Helper()
	c, err := Parse(filepath.Join(t.TempDir(), "test.yaml"), []byte(text), getenv)
	if err != nil {
		t.Fatalf("Parse: %v", err)
	}
	if err := c.Prepare(); err != nil {
		t.Fatalf("Prepare: %v", err)
	}
	return c
}

// faultsOf returns the faults of a text that is expected to be bad, as
// "line path: text".
func faultsOf(t *testing.T, text string, getenv func(string) string) []string {
	t.Helper()
	_, err := Parse("test.yaml", []byte(text), getenv)
	e, ok := errors.AsType[*Error](err)
	if !ok {
		t.Fatalf("Parse returned %v, want an *Error", err)
	}
	if kind := provider.KindOf(err); kind != provider.Invalid {
		t.Errorf("its Kind is %s, want Invalid", kind)
	}
	var lines []string
	for _, f := range e.Faults {
		lines = append(lines, fmt.Sprintf("%d %s: %s", f.Line, f.Path, f.Text))
	}
	return lines
}

// wantFault fails unless there is just one fault, and it begins with want.
func wantFault(t *testing.T, faults []string, want string) {
	t.Helper()
	if len(faults) != 1 || !strings.HasPrefix(faults[0], want) {
		t.Errorf("the faults are\n%s\nwant one that begins\n%s", strings.Join(faults, "\n"), want)
	}
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
