//go:build linux

package customprovider

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crawlfleet/provider"
)

func TestConsole(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	inst := create(t, p, testSpec("a"))
	read := func(opts provider.ConsoleOptions) string {
		t.Helper()
		var b bytes.Buffer
		if err := p.Console(t.Context(), inst.Ref, &b, opts); err != nil {
			t.Fatalf("Console(%+v): %v", opts, err)
		}
		return b.String()
	}
	var all string
	eventually(t, "the guest logs", func() bool {
		all = read(provider.ConsoleOptions{})
		return strings.Contains(all, "serving")
	})
	if got := read(provider.ConsoleOptions{Offset: 5}); got != all[5:] {
		t.Errorf("from offset 5 it is %q, want %q", got, all[5:])
	}
	if got := read(provider.ConsoleOptions{Offset: 1 << 40}); got != "" {
		t.Errorf("beyond the end it is %q", got)
	}
	err := p.Console(t.Context(), inst.Ref, &bytes.Buffer{}, provider.ConsoleOptions{Previous: true})
	wantKind(t, "Previous", err, provider.Unsupported)
	err = p.Console(t.Context(), provider.Ref{Name: "b"}, &bytes.Buffer{}, provider.ConsoleOptions{})
	wantKind(t, "of one that is missing", err, provider.NotFound)
	// Follow ends with the guest, also when it was deleted.
	followed := make(chan error, 1)
	go func() {
		followed <- p.Console(t.Context(), inst.Ref, &bytes.Buffer{}, provider.ConsoleOptions{Follow: true})
	}()
	if err := p.Delete(t.Context(), inst.Ref); err != nil {
		t.Fatal(err)
	}
	if err := <-followed; err != nil && provider.KindOf(err) != provider.NotFound {
		t.Errorf("Follow of one that is deleted ended with %v", err)
	}
}

func TestConsoleOfOneThatNeverStarted(t *testing.T) {
	p := newWorld(t).open()
	failAt(p, "make directory", os.ErrInvalid)
	if _, err := p.Create(t.Context(), testSpec("a")); err == nil {
		t.Fatal("Create succeeded")
	}
	var b bytes.Buffer
	if err := p.Console(t.Context(), provider.Ref{Name: "a"}, &b, provider.ConsoleOptions{Follow: true}); err != nil || b.Len() > 0 {
		t.Errorf("it is %q, %v; want nothing", b.String(), err)
	}
}

// buffer is a bytes.Buffer for two goroutines.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// TestFollow runs in a bubble over files alone: the test has the guest's lock.
func TestFollow(t *testing.T) {
	for _, end := range []string{"context", "guest"} {
		t.Run(end, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				log, err := os.Create(filepath.Join(dir, "log"))
				if err != nil {
					t.Fatal(err)
				}
				defer log.Close()
				alive, err := os.Create(filepath.Join(dir, "alive"))
				if err != nil {
					t.Fatal(err)
				}
				defer alive.Close()
				if err := flock(alive, unix.LOCK_EX); err != nil {
					t.Fatal(err)
				}
				write := func(line string) {
					if _, err := log.WriteString(line); err != nil {
						t.Fatal(err)
					}
				}
				write("one\n")
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				var got buffer
				p := &Provider{}
				followed := make(chan error, 1)
				go func() { followed <- p.copyLog(ctx, dir, &got, provider.ConsoleOptions{Follow: true}) }()
				time.Sleep(2 * followPause)
				if got.String() != "one\n" {
					t.Errorf("it has copied %q", got.String())
				}
				write("two\n")
				time.Sleep(2 * followPause)
				want := "one\ntwo\n"
				if got.String() != want {
					t.Errorf("it has copied %q, want %q", got.String(), want)
				}
				if end == "context" {
					cancel()
				} else {
					write("last\n")
					want += "last\n"
					if err := flock(alive, unix.LOCK_UN); err != nil {
						t.Fatal(err)
					}
				}
				if err := <-followed; err != nil {
					t.Errorf("Follow ended with %v", err)
				}
				if got.String() != want {
					t.Errorf("it has copied %q, want %q", got.String(), want)
				}
			})
		})
	}
}

// broken is a writer that fails.
type broken struct{ err error }

func (b broken) Write([]byte) (int, error) { return 0, b.err }

func TestConsoleStopsAtTheWriter(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	inst := create(t, p, testSpec("a"))
	eventually(t, "the guest logs", func() bool {
		var b bytes.Buffer
		err := p.Console(t.Context(), inst.Ref, &b, provider.ConsoleOptions{})
		return err == nil && b.Len() > 0
	})
	full := errors.New("the reader is gone")
	if err := p.Console(t.Context(), inst.Ref, broken{full}, provider.ConsoleOptions{Follow: true}); !errors.Is(err, full) {
		t.Errorf("Console: %v, want the writer's error", err)
	}
}

func TestLastLine(t *testing.T) {
	for text, want := range map[string]string{
		"":                           "",
		"\n\n":                       "",
		"one\ntwo\n":                 "; its last line is: two",
		"bad \x1b[31mred\x00 \xff\n": "; its last line is: bad  [31mred  ?",
		strings.Repeat("x", 4096):    "; its last line is: " + strings.Repeat("x", maxLine),
		"first\n\nlast without end":  "; its last line is: last without end",
	} {
		path := filepath.Join(t.TempDir(), "log")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := lastLine(path); got != want {
			t.Errorf("of %.30q it is %q, want %q", text, got, want)
		}
	}
	if got := lastLine(filepath.Join(t.TempDir(), "none")); got != "" {
		t.Errorf("of no log it is %q", got)
	}
}
