//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kinds_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/kinds"
)

// parse reads a configuration whose providers are as given.
func parse(t testing.TB, providers string) *config.Config {
	t.Helper()
	c, err := config.Parse("x.yaml", []byte("owner: a\nproviders:\n"+providers), func(key string) string {
		if key == config.EnvStateDir {
			return "/nonexistent"
		}
		return ""
	})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestValidate(t *testing.T) {
	for _, test := range []struct{ name, providers, want string }{
		{"least", "  p: {kind: local}\n", ""},
		{"all keys", `  p:
    kind: local
    retired: true
    dir: d
    command: [/bin/guest, -x]
    destinations:
      allow:
      - {prefix: 10.0.0.0/8, ports: [80, 443]}
      - prefix: fd00::/8
      deny: [10.1.0.0/16]
`, ""},
		{"unknown kind", "  p: {kind: locl}\n", `x.yaml:3: providers.p.kind: there is no kind "locl"; the kinds are gcp, kubernetes, local`},
		{"not built in", "  p:\n    kind: gcp\n    project: x\n", "x.yaml:4: providers.p.kind: gcp is not built into this program; take a version that has it, built with -tags gcp"},
		{"not built in either", "  p: {kind: kubernetes}\n", "built with -tags kubernetes"},
		{"unknown key", "  p: {kind: local, dirr: x}\n", "x.yaml:3: providers.p.dirr: unknown key; is dir meant?"},
		{"unknown deep key", "  p: {kind: local, destinations: {allow: [{prefx: x}]}}\n", "providers.p.destinations.allow[0].prefx: unknown key; is prefix meant?"},
		{"key of another kind", "  p: {kind: local, project: x}\n", "providers.p.project: unknown key; the keys here are command, destinations, dir"},
		{"empty command", "  p: {kind: local, command: ['', x]}\n", "providers.p.command: begins with an empty word"},
		{"bad network", "  p: {kind: local, destinations: {deny: [x]}}\n", "providers.p.destinations.deny[0]: "},
		{"bits beyond", "  p:\n    kind: local\n    destinations: {allow: [{prefix: 10.0.0.1/8}]}\n",
			"x.yaml:5: providers.p.destinations.allow[0].prefix: 10.0.0.1/8 has bits beyond"},
		{"missing prefix", "  p: {kind: local, destinations: {allow: [{ports: [1]}]}}\n", "destinations.allow[0].prefix: is not a network"},
		{"one directory twice", "  p: {kind: local, dir: /d/x}\n  q: {kind: local, dir: /d/y/../x}\n",
			"x.yaml:4: providers.q.dir: /d/x is that of provider p, which would delete what this one makes; give each its own"},
		{"one directory by default", "  p: {kind: local}\n  q: {kind: local, dir: p}\n", "x.yaml:4: providers.q.dir: /nonexistent/p is that of provider p"},
		{"two directories", "  p: {kind: local}\n  q: {kind: local}\n", ""},
		{"two at once", "  p: {kind: local, x: 1}\n  q: {kind: y}\n", "x.yaml:3: providers.p.x: unknown key; the keys here are command, destinations, dir\nx.yaml:4: providers.q.kind: there is no kind"},
	} {
		t.Run(test.name, func(t *testing.T) {
			err := kinds.Validate(parse(t, test.providers))
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v\nwant Invalid with\n%s", err, test.want)
			}
		})
	}
}

// TestOpen: what Validate refuses, Open refuses before it touches anything,
// and what the keys say reaches the provider.
func TestOpen(t *testing.T) {
	script := filepath.Join(t.TempDir(), "guest")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	abs := filepath.Join(t.TempDir(), "abs")
	for _, test := range []struct {
		name, provider string
		change         func(*kinds.Options)
		dir, want      string // the directory that is made, or the error
	}{
		{"least", "{kind: local}", nil, "p", ""},
		{"dir", "{kind: local, dir: sub/dir}", nil, "sub/dir", ""},
		{"absolute dir", "{kind: local, dir: " + abs + "}", nil, abs, ""},
		{"command of its own", "{kind: local, command: [" + script + "]}", func(o *kinds.Options) { o.GuestCommand = nil }, "p", ""},
		{"no command", "{kind: local}", func(o *kinds.Options) { o.GuestCommand = nil }, "", "Command: is empty"},
		{"no owner", "{kind: local}", func(o *kinds.Options) { o.Owner = "" }, "", "Owner: is empty"},
		{"unknown key", "{kind: local, x: y}", nil, "", "providers.p.x: unknown key"},
		{"not built in", "{kind: kubernetes}", nil, "", "not built into this program"},
		{"unknown kind", "{kind: x}", nil, "", "there is no kind"},
		{"port 0", "{kind: local}", func(o *kinds.Options) { o.Listen = "127.0.0.1:0" }, "", "Listen: the daemon's address 127.0.0.1:0 has no port"},
		{"no port", "{kind: local}", func(o *kinds.Options) { o.Listen = "127.0.0.1" }, "", "Listen: the daemon's address: "},
	} {
		t.Run(test.name, func(t *testing.T) {
			state := t.TempDir()
			o := kinds.Options{
				Name: "p", Owner: "a", StateDir: state, Config: parse(t, "  p: "+test.provider+"\n").Providers["p"],
				GuestCommand: []string{script}, Listen: "127.0.0.1:8899",
			}
			if test.change != nil {
				test.change(&o)
			}
			p, err := kinds.Open(t.Context(), o)
			if test.want != "" {
				if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), test.want) {
					t.Errorf("got %v, want Invalid with %q", err, test.want)
				}
				if made, _ := os.ReadDir(state); p != nil || len(made) != 0 {
					t.Errorf("it returned %v and made %v", p, made)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer p.Close()
			if info := p.Info(); info.Name != "p" || info.Kind != "local" || info.Owner != "a" {
				t.Errorf("Info is %+v", info)
			}
			dir := test.dir
			if !filepath.IsAbs(dir) {
				dir = filepath.Join(state, dir)
			}
			if made, err := os.ReadDir(dir); err != nil || len(made) == 0 {
				t.Errorf("%s has %v, %v", dir, made, err)
			}
		})
	}
}

// TestDestinations: a guest gets what the keys say, and the daemon's address.
func TestDestinations(t *testing.T) {
	keys := "{kind: local, destinations: {allow: [{prefix: 10.0.0.0/8}], deny: [10.1.0.0/16]}}"
	for listen, want := range map[string]string{
		"":            `{"allow":[{"prefix":"10.0.0.0/8"}],"deny":["10.1.0.0/16"]}`,
		"127.0.0.1:1": `{"allow":[{"prefix":"10.0.0.0/8"},{"prefix":"127.0.0.1/32","ports":[1]}],"deny":["10.1.0.0/16"]}`,
	} {
		if got := document(t, keys, listen); got != want {
			t.Errorf("listening at %q, a guest has the destinations\n%s\nwant\n%s", listen, got, want)
		}
	}
}

// Example opens the provider that a configuration names.
func Example() {
	text := "owner: crawl-berlin\nproviders: {here: {kind: local}}\n"
	c, err := config.Parse("proxyd.yaml", []byte(text), os.Getenv)
	if err != nil {
		fmt.Println(err)
		return
	}
	dir, err := os.MkdirTemp("", "kinds")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	p, err := kinds.Open(context.Background(), kinds.Options{
		Name: "here", Owner: c.Owner, StateDir: dir, Config: c.Providers["here"],
		GuestCommand: []string{os.Args[0], "guest"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer p.Close()
	fmt.Println(p.Info().Name, "is", p.Info().Kind, "and serves", p.Info().Owner)
	// Output:
	// here is local and serves crawl-berlin
}
