//go:build linux

package customprovider

import (
	"bufio"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

// testSpec is a spec without credentials, because a bcrypt hash takes longer
// than everything else.
func testSpec(name string) provider.Spec {
	return provider.Spec{Name: name, AllowFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
}

// world is a state directory whose guests end with the test.
type world struct {
	t   *testing.T
	dir string
}

func newWorld(t *testing.T) world {
	t.Helper()
	w := world{t, filepath.Join(t.TempDir(), "state")}
	t.Cleanup(w.purge)
	return w
}

// config is that of the one owner of most tests.
func (w world) config() Config {
	w.t.Helper()
	config, err := testConfig(w.dir)
	if err != nil {
		w.t.Fatal(err)
	}
	return config
}

// open returns a provider as another program would have it.
func (w world) open() *Provider {
	w.t.Helper()
	return w.openAs(w.config())
}

func (w world) openAs(config Config) *Provider {
	w.t.Helper()
	p, err := New(config)
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		if err := p.Close(); err != nil {
			w.t.Errorf("Close: %v", err)
		}
	})
	return p
}

// manager starts another program over the directory and returns it when it
// has printed a line, or has ended.
func (w world) manager(args ...string) (program *exec.Cmd, line string) {
	w.t.Helper()
	exe, err := os.Executable()
	if err != nil {
		w.t.Fatal(err)
	}
	program = exec.Command(exe, append([]string{"manager", "-dir", w.dir}, args...)...)
	program.Stderr = w.t.Output()
	in, err := program.StdinPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	out, err := program.StdoutPipe()
	if err != nil {
		w.t.Fatal(err)
	}
	if err := program.Start(); err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() {
		_ = in.Close()
		_ = program.Process.Kill()
		_ = program.Wait()
	})
	line, err = bufio.NewReader(out).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		w.t.Fatal(err)
	}
	return program, strings.TrimSpace(line)
}

// files returns everything below the directory but its layout.
func (w world) files() []string {
	w.t.Helper()
	var found []string
	err := filepath.WalkDir(w.dir, func(path string, _ fs.DirEntry, err error) error {
		rel, relErr := filepath.Rel(w.dir, path)
		if !slices.Contains([]string{".", "claims", "instances", "locks"}, rel) {
			found = append(found, rel)
		}
		return errors.Join(err, relErr)
	})
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.t.Fatal(err)
	}
	return found
}

// nothing fails the test unless neither file nor process is left.
func (w world) nothing() {
	w.t.Helper()
	if files := w.files(); len(files) > 0 {
		w.t.Errorf("files are left: %v", files)
	}
	if guests := w.guests(); len(guests) > 0 {
		w.t.Errorf("guests are left: %v", guests)
	}
}

// purge ends what the test has left, by a way of its own.
func (w world) purge() {
	for pid := range w.guests() {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	eventually(w.t, "the guests end", func() bool { return len(w.guests()) == 0 })
}

// patience bounds every wait of the tests. It is long, because it costs time
// only where something is broken.
const patience = 30 * time.Second

// eventually waits until done is true.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for !done() {
		if err := sleep(ctx, 2*time.Millisecond); err != nil {
			t.Fatalf("waiting until %s: %v", what, err)
		}
	}
}

// create creates until the answer is final, as a caller owes.
func create(t *testing.T, p provider.Provider, spec provider.Spec) provider.Instance {
	t.Helper()
	var inst provider.Instance
	eventually(t, "Create answers", func() (final bool) {
		var err error
		inst, err = p.Create(t.Context(), spec)
		if err != nil && provider.KindOf(err) != provider.InProgress {
			t.Fatalf("Create: %v", err)
		}
		return err == nil
	})
	return inst
}

func get(t *testing.T, p provider.Provider, ref provider.Ref) provider.Instance {
	t.Helper()
	inst, err := p.Get(t.Context(), ref)
	if err != nil {
		t.Fatalf("Get: %v", err)
	}
	return inst
}

func list(t *testing.T, p provider.Provider) []provider.Instance {
	t.Helper()
	list, err := p.List(t.Context())
	if err != nil {
		t.Fatalf("List: %v", err)
	}
	return list
}

// wantKind fails the test unless err is an *Error of that kind.
func wantKind(t *testing.T, what string, err error, want provider.Kind) *provider.Error {
	t.Helper()
	e, ok := errors.AsType[*provider.Error](err)
	if !ok || provider.KindOf(err) != want {
		t.Fatalf("%s: %v is of kind %q, want an *Error of kind %q", what, err, provider.KindOf(err), want)
	}
	return e
}
