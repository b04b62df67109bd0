package config

import (
	"strings"
	"testing"
)

func TestSameKeys(t *testing.T) {
	const text = "owner: a\nproviders:\n  p: {kind: local, dir: d, destinations: {deny: [192.0.2.0/24]}}\n"
	read := func(old, new string) Provider {
		t.Helper()
		return parse(t, strings.Replace(text, old, new, 1), env(t)).Providers["p"]
	}
	same := read("", "")
	for _, test := range []struct {
		name, old, new string
		want           bool
	}{
		{"as it was", "", "", true},
		{"elsewhere in the file", "providers", "\n\n\nproviders", true},
		{"in another order", "kind: local, dir: d", "dir: d, kind: local", true},
		{"retired", "kind: local", "kind: local, retired: true", true},
		{"another value", "dir: d", "dir: e", false},
		{"another value further down", "192.0.2.0/24", "192.0.2.0/25", false},
		{"another kind", "local", "other", false},
		{"one key less", "dir: d, ", "", false},
	} {
		if got := same.SameKeys(read(test.old, test.new)); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
	}
}
