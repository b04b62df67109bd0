package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/guest"
	"github.com/crawlfleet/provider/examples/internal/kinds"
)

// TestMain lets the test binary be the guest, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// ctl runs command lines over one state directory.
type ctl struct {
	t    *testing.T
	env  map[string]string
	open func(context.Context, kinds.Options) (provider.Provider, error)
}

func newCtl(t *testing.T) *ctl {
	return &ctl{t: t, env: map[string]string{config.EnvStateDir: t.TempDir()}, open: kinds.Open}
}

// config makes the following command lines use a file with this text.
func (c *ctl) config(text string) {
	c.t.Helper()
	path := filepath.Join(c.t.TempDir(), "proxyd.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
	c.env[config.EnvConfig] = path
}

// result is what a command line did.
type result struct {
	code           int
	stdout, stderr string
}

func (c *ctl) run(ctx context.Context, args ...string) result {
	var stdout, stderr bytes.Buffer
	a := &app{stdout: &stdout, stderr: &stderr, getenv: func(key string) string { return c.env[key] }, open: c.open}
	code := a.run(ctx, args)
	return result{code, stdout.String(), stderr.String()}
}

// step is a command line and what is expected of it. The patterns are matched
// against the whole of what was printed, without the space around it.
type step struct {
	args           string
	code           int
	stdout, stderr string
}

func (c *ctl) steps(steps []step) {
	c.t.Helper()
	for _, s := range steps {
		got := c.run(c.t.Context(), strings.Fields(s.args)...)
		if got.code != s.code {
			c.t.Errorf("proxyctl %s: exit code %d, want %d", s.args, got.code, s.code)
		}
		for _, out := range []struct{ name, got, want string }{{"stdout", got.stdout, s.stdout}, {"stderr", got.stderr, s.stderr}} {
			if !regexp.MustCompile(`(?s)^(?:` + out.want + `)$`).MatchString(strings.TrimSpace(out.got)) {
				c.t.Errorf("proxyctl %s: %s is\n%swant\n%s", s.args, out.name, out.got, out.want)
			}
		}
	}
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
