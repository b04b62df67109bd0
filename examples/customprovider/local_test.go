//go:build linux

package customprovider

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

func TestConfigNamesTheField(t *testing.T) {
	for _, tt := range []struct {
		field string
		set   func(*Config)
	}{
		{"Name", func(c *Config) { c.Name = "" }},
		{"Owner", func(c *Config) { c.Owner = "" }},
		{"Owner", func(c *Config) { c.Owner = strings.Repeat("o", MaxOwner+1) }},
		{"Owner", func(c *Config) { c.Owner = "a\nb" }},
		{"Owner", func(c *Config) { c.Owner = "\xff" }},
		{"Dir", func(c *Config) { c.Dir = "" }},
		{"Command", func(c *Config) { c.Command = nil }},
		{"Command", func(c *Config) { c.Command = []string{""} }},
		{"Command", func(c *Config) { c.Command = []string{"no-such-program"} }},
		{"Command", func(c *Config) { c.Command = []string{"/etc/passwd"} }},
		{"Grace", func(c *Config) { c.Grace = -1 }},
		{"destinations.deny[0]", func(c *Config) { c.Destinations.Deny = make([]netip.Prefix, 1) }},
	} {
		w := newWorld(t)
		config := w.config()
		tt.set(&config)
		_, err := New(config)
		if e := wantKind(t, "New without a good "+tt.field, err, provider.Invalid); e.Field != tt.field {
			t.Errorf("the error names Field %q, want %q: %v", e.Field, tt.field, err)
		}
		if _, err := os.Lstat(w.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("New with a bad %s made the directory", tt.field)
		}
	}
}

func TestLongestOwnerFits(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Owner = strings.Repeat("<", MaxOwner) // JSON writes each as six bytes
	spec := testSpec(strings.Repeat("a", provider.MaxName))
	p := w.openAs(config)
	inst := create(t, p, spec)
	if got := list(t, p); len(got) != 1 || got[0].Ref != inst.Ref {
		t.Errorf("List shows %v", got)
	}
	i, err := p.claim(spec.Name)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.markGoing(t.Context(), &i); err != nil {
		t.Fatal(err)
	}
	text, err := os.Readlink(p.claimPath(spec.Name))
	if err != nil || len(text) > 1023 {
		t.Errorf("the record has %d bytes, %v; macOS allows 1023", len(text), err)
	}
}

func TestDirIsPrivateAndAbsolute(t *testing.T) {
	w := newWorld(t)
	t.Chdir(filepath.Dir(w.dir))
	config := w.config()
	config.Dir = filepath.Base(w.dir)
	p := w.openAs(config)
	inst := create(t, p, testSpec("a"))
	t.Chdir("/")
	if got := get(t, p, inst.Ref); got.State != provider.Running {
		t.Errorf("it is %q", got.State)
	}
	for _, path := range append(p.layout(), w.dir, w.guests()[w.guest("a")]) {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %v, %v", path, info.Mode(), err)
		}
	}
}

func TestDirThatCannotBe(t *testing.T) {
	w := newWorld(t)
	if err := os.WriteFile(w.dir, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := New(w.config())
	wantKind(t, "New over a file", err, provider.Unavailable)
	if err := os.Remove(w.dir); err != nil { // for the world's own clean-up
		t.Fatal(err)
	}
}

// TestStateDirectoryGone takes the directory away from an open provider.
// Nothing may look as if the instance did not exist.
func TestStateDirectoryGone(t *testing.T) {
	for name, take := range map[string]func(w world) error{
		"moved": func(w world) error { return os.Rename(w.dir, w.dir+".away") },
		"replaced": func(w world) error {
			if err := os.Rename(w.dir, w.dir+".away"); err != nil {
				return err
			}
			p, err := New(w.config())
			if err != nil {
				return err
			}
			return p.Close()
		},
		"emptied": func(w world) error { return os.RemoveAll(filepath.Join(w.dir, "claims")) },
		"emptied and used again": func(w world) error {
			if err := os.RemoveAll(w.dir); err != nil {
				return err
			}
			p, err := New(w.config())
			if err != nil {
				return err
			}
			return p.Close()
		},
		"without instances": func(w world) error { return os.Rename(filepath.Join(w.dir, "instances"), w.dir+".away") },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.open()
			inst := create(t, p, testSpec("a"))
			pid := w.guest("a")
			t.Cleanup(func() { kill(t, pid) })
			if err := take(w); err != nil {
				t.Fatal(err)
			}
			_, err := p.Get(t.Context(), provider.Ref{Name: "never"})
			wantKind(t, "Get of another", err, provider.Unavailable)
			_, err = p.List(t.Context())
			wantKind(t, "List", err, provider.Unavailable)
			_, err = p.Create(t.Context(), testSpec("b"))
			wantKind(t, "Create", err, provider.Unavailable)
			if name == "without instances" {
				return
			}
			_, err = p.Get(t.Context(), inst.Ref)
			wantKind(t, "Get", err, provider.Unavailable)
			wantKind(t, "Delete", p.Delete(t.Context(), inst.Ref), provider.Unavailable)
		})
	}
}

func TestInfo(t *testing.T) {
	p := newWorld(t).open()
	info := p.Info()
	if info.Name != "test" || info.Kind != "local" || info.Owner != "owner" || info.Contract != provider.Contract {
		t.Errorf("Info is %+v", info)
	}
	if _, ok := provider.As[provider.Console](p); !ok {
		t.Error("the console cannot be reached")
	}
}

// calls are the methods that may fail, for tests of what holds for all.
func calls(p *Provider) map[string]func(context.Context) error {
	ref := provider.Ref{Name: "a"}
	return map[string]func(context.Context) error{
		"Create":  func(ctx context.Context) error { _, err := p.Create(ctx, testSpec("a")); return err },
		"Get":     func(ctx context.Context) error { _, err := p.Get(ctx, ref); return err },
		"List":    func(ctx context.Context) error { _, err := p.List(ctx); return err },
		"Delete":  func(ctx context.Context) error { return p.Delete(ctx, ref) },
		"Console": func(ctx context.Context) error { return p.Console(ctx, ref, io.Discard, provider.ConsoleOptions{}) },
	}
}

func TestEndedContexts(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	canceled, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("a cause of the caller's"))
	expired, cancelExpired := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancelExpired()
	for name, call := range calls(p) {
		err := call(canceled)
		wantKind(t, name, err, provider.Canceled)
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v does not match context.Canceled", name, err)
		}
		err = call(expired)
		wantKind(t, name, err, provider.Unavailable)
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v does not match context.DeadlineExceeded", name, err)
		}
	}
	w.nothing()
}

func TestClose(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Grace = patience
	p := w.openAs(config)
	inst := create(t, p, testSpec("a"))
	stop(t, w.guest("a"))
	deleted := make(chan error, 1)
	go func() { deleted <- p.Delete(t.Context(), inst.Ref) }()
	eventually(t, "Delete is under way", func() bool { return get(t, p, inst.Ref).State == provider.Deleting })
	for range 2 {
		if err := p.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	select {
	case err := <-deleted:
		if wantKind(t, "the Delete under way", err, provider.Unavailable); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("the Delete under way: %v does not match fs.ErrClosed", err)
		}
	default:
		t.Error("Close did not wait for Delete")
	}
	for name, call := range calls(p) {
		if err := call(t.Context()); !errors.Is(err, fs.ErrClosed) || provider.KindOf(err) != provider.Unavailable {
			t.Errorf("%s after Close: %v", name, err)
		}
	}
	w.guest("a") // lives on
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	if bytes.Contains(stacks, []byte("reapUntil")) {
		t.Errorf("something runs on after Close:\n%s", stacks)
	}
}

func TestLogsToItsLoggerWithoutSecrets(t *testing.T) {
	var log bytes.Buffer
	w := newWorld(t)
	config := w.config()
	config.Logger = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	p := w.openAs(config)
	spec := testSpec("a")
	spec.Credentials = provider.Credentials{Username: "crawler", Password: "opensesame"}
	inst := create(t, p, spec)
	if err := p.Delete(t.Context(), inst.Ref); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"created", "deleted", inst.ID} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("the log does not say %q:\n%s", want, log.String())
		}
	}
	for _, secret := range []string{"opensesame", "$2a$"} {
		if strings.Contains(log.String(), secret) {
			t.Errorf("the log contains %q", secret)
		}
	}
}

// BenchmarkList has a thousand instances whose guests have ended.
func BenchmarkList(b *testing.B) {
	config, err := testConfig(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	p, err := New(config)
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	for n := range 1000 {
		i := incarnation{record: record{Version: recordVersion, Owner: config.Owner,
			Name: fmt.Sprintf("n%d", n), Token: provider.NewToken(), Created: time.Now()}}
		if err := p.makeClaim(b.Context(), i.record); err != nil {
			b.Fatal(err)
		}
		if err := os.Mkdir(p.dir(i), 0o700); err != nil {
			b.Fatal(err)
		}
		for _, file := range []string{"started.json", "process.json"} {
			if err := writeJSON(filepath.Join(p.dir(i), file), map[string]int{"pid": 1 << 30}); err != nil {
				b.Fatal(err)
			}
		}
		if err := os.WriteFile(filepath.Join(p.dir(i), "alive"), nil, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		if list, err := p.List(b.Context()); err != nil || len(list) != 1000 {
			b.Fatalf("List: %d, %v", len(list), err)
		}
	}
}
