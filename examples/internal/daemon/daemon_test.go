package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
	"github.com/crawlfleet/provider/providertest"
)

// patient is how long a test waits for what must come.
const patient = 30 * time.Second

// house is a daemon on providers in memory, with a configuration that a test
// changes.
type house struct {
	t      *testing.T
	dir    string
	log    *lockedBuffer
	reload chan os.Signal

	mu       sync.Mutex
	text     string
	backends map[string]*providertest.FakeBackend
	wrap     func(provider.Provider) provider.Provider
}

func newHouse(t *testing.T, text string) *house {
	return &house{
		t: t, dir: t.TempDir(), log: &lockedBuffer{}, reload: make(chan os.Signal), text: text,
		backends: map[string]*providertest.FakeBackend{}, wrap: func(p provider.Provider) provider.Provider { return p },
	}
}

// load reads the configuration as it is now.
func (h *house) load() (*config.Config, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	env := map[string]string{config.EnvStateDir: h.dir, config.EnvListen: "127.0.0.1:0"}
	return config.Parse(filepath.Join(h.dir, "proxyd.yaml"), []byte("owner: test\n"+h.text), func(key string) string { return env[key] })
}

// backend is that of a provider, made where there is none.
func (h *house) backend(name string) *providertest.FakeBackend {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.backends[name] == nil {
		h.backends[name] = providertest.NewFakeBackend(providertest.FakeOptions{Name: name})
	}
	return h.backends[name]
}

func (h *house) options() Options {
	h.t.Helper()
	c, err := h.load()
	if err != nil {
		h.t.Fatal(err)
	}
	return Options{
		Config: c, Load: h.load, Reload: h.reload, Logger: slog.New(slog.NewTextHandler(h.log, nil)),
		open: func(_ context.Context, name string, _ config.Provider) (provider.Provider, error) {
			return h.wrap(h.backend(name).Provider("test")), nil
		},
		check: func(context.Context, *proxycheck.Checker, proxycheck.Proxy) (proxycheck.Result, error) {
			return proxycheck.Result{}, nil
		},
	}
}

// open makes the daemon and runs it until end is called, which returns Run's
// error.
func (h *house) open(change func(*Options)) (d *Daemon, end func() error) {
	h.t.Helper()
	opts := h.options()
	if change != nil {
		change(&opts)
	}
	d, err := New(opts)
	if err != nil {
		h.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- d.Run(ctx, hard) }()
	wait := sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(patient):
			cancelHard()
			return errors.New("it does not end")
		}
	})
	h.t.Cleanup(func() { cancelHard(); _ = wait() })
	return d, wait
}

// change writes another configuration and asks for a reload; it returns what
// the log says of it.
func (h *house) change(text string) string {
	h.t.Helper()
	seen := len(h.log.String())
	h.mu.Lock()
	h.text = text
	h.mu.Unlock()
	h.reload <- os.Interrupt
	var said string
	h.eventually("the reload ends", func() bool {
		said = h.log.String()[seen:]
		return strings.Contains(said, "the configuration is")
	})
	return said
}

func (h *house) eventually(what string, is func() bool) {
	h.t.Helper()
	for deadline := time.Now().Add(patient); !is(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			h.t.Fatalf("not in time: %s\n%s", what, h.log)
		}
	}
}

// has waits until a backend has so many instances.
func (h *house) has(name string, n int) {
	h.t.Helper()
	h.eventually(fmt.Sprintf("%s has %d instances", name, n), func() bool {
		list, err := h.backend(name).Provider("test").List(h.t.Context())
		return err == nil && len(list) == n
	})
}

const twoProviders = "providers:\n  a: {kind: fake}\n  b: {kind: fake}\nfleets:\n" +
	"  - {name: web, provider: a, replicas: 2}\n  - {name: img, provider: b, replicas: 1}\n"

func TestDaemonRemoves(t *testing.T) {
	h := newHouse(t, twoProviders)
	d, end := h.open(func(o *Options) { o.Remove = true })
	<-d.Settled()
	if fleets := d.Fleets(); len(fleets) != 2 || fleets[0].Status.Fleet != "img" || fleets[1].Working != 2 {
		t.Errorf("the fleets are %+v", fleets)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	h.has("a", 0)
	h.has("b", 0)
}

func TestDaemonLeavesAndAdopts(t *testing.T) {
	h := newHouse(t, twoProviders)
	for range 2 {
		d, end := h.open(nil)
		<-d.Settled()
		if err := end(); err != nil {
			t.Error(err)
		}
		h.has("a", 2)
		h.has("b", 1)
	}
	for _, name := range []string{"a", "b"} {
		made := 0
		for _, call := range h.backend(name).Calls() {
			if call.Op == "Create" {
				made++
			}
		}
		if want := map[string]int{"a": 2, "b": 1}[name]; made != want {
			t.Errorf("%d Creates at %s", made, name)
		}
	}
}

// stuck is a provider whose Delete hangs until its context ends.
type stuck struct{ provider.Provider }

func (s stuck) Delete(ctx context.Context, ref provider.Ref) error {
	<-ctx.Done()
	return &provider.Error{Kind: provider.Canceled, Ref: ref, Err: ctx.Err()}
}

// A removal that does not end is cut short by the second context, and what is
// left is named.
func TestDaemonEndsAtOnce(t *testing.T) {
	h := newHouse(t, twoProviders)
	h.wrap = func(p provider.Provider) provider.Provider {
		if p.Info().Name == "b" {
			return stuck{p}
		}
		return p
	}
	opts := h.options()
	opts.Remove = true
	d, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hard, cancelHard := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- d.Run(ctx, hard) }()
	<-d.Settled()
	cancel()
	h.has("a", 0)
	cancelHard()
	err = <-done
	left, ok := errors.AsType[*LeftError](err)
	if !ok || len(left.Instances) != 1 || !strings.HasPrefix(left.Instances[0], "b: img-0 (") {
		t.Errorf("the error is %v, %+v", err, left)
	}
}

// A hung provider keeps the other one from nothing.
func TestDaemonBulkhead(t *testing.T) {
	h := newHouse(t, twoProviders)
	h.wrap = func(p provider.Provider) provider.Provider {
		if p.Info().Name == "b" {
			return deaf{p}
		}
		return p
	}
	d, end := h.open(nil)
	h.has("a", 2)
	h.eventually("the fleet of the other works", func() bool {
		for _, f := range d.Fleets() {
			if f.Status.Fleet == "web" {
				return f.Working == 2
			}
		}
		return false
	})
	select {
	case <-d.Settled():
		t.Error("it is settled without b")
	default:
	}
	if err := d.ready(); err == nil {
		t.Error("it is ready without having asked b")
	}
	if err := end(); err != nil {
		t.Error(err)
	}
}

// deaf is a provider whose List hangs.
type deaf struct{ provider.Provider }

func (d deaf) List(ctx context.Context) ([]provider.Instance, error) {
	<-ctx.Done()
	return nil, &provider.Error{Kind: provider.Unavailable, Err: ctx.Err()}
}

// A provider is dropped in two steps: retired until it is empty, then gone.
func TestDaemonDropsAProvider(t *testing.T) {
	h := newHouse(t, twoProviders)
	d, end := h.open(nil)
	<-d.Settled()
	onlyA := "providers:\n  a: {kind: fake}\nfleets:\n  - {name: web, provider: a, replicas: 2}\n"
	if said := h.change(onlyA); !strings.Contains(said, "providers.b") || !strings.Contains(said, "retired: true") {
		t.Errorf("it was not refused: %s", said)
	}
	h.has("b", 1)
	retired := strings.Replace(onlyA, "fleets:", "  b: {kind: fake, retired: true}\nfleets:", 1)
	if said := h.change(retired); !strings.Contains(said, "is in force") {
		t.Errorf("it was refused: %s", said)
	}
	h.has("b", 0)
	h.eventually("b may be dropped", func() bool { return strings.Contains(h.change(onlyA), "is in force") })
	if list := d.world.board.status(); len(list) != 1 || list[0].Name != "a" {
		t.Errorf("the providers are %+v", list)
	}
	// It comes back as if it had never been.
	if said := h.change(twoProviders); !strings.Contains(said, "is in force") {
		t.Errorf("it was refused: %s", said)
	}
	h.has("b", 1)
	if err := end(); err != nil {
		t.Error(err)
	}
}

// A fleet that names another provider moves.
func TestDaemonMovesAFleet(t *testing.T) {
	h := newHouse(t, twoProviders)
	d, end := h.open(nil)
	<-d.Settled()
	h.change(strings.Replace(twoProviders, "provider: a", "provider: b", 1))
	h.has("a", 0)
	h.has("b", 3)
	if err := end(); err != nil {
		t.Error(err)
	}
}

func TestNewRefuses(t *testing.T) {
	h := newHouse(t, twoProviders)
	d, end := h.open(nil)
	opts := h.options()
	_, err := New(opts)
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Field != "stateDir" || provider.KindOf(err) != provider.Invalid ||
		!strings.Contains(err.Error(), fmt.Sprint("process ID ", os.Getpid())) {
		t.Errorf("a second daemon on the directory: %v", err)
	}
	h.dir = t.TempDir()
	opts = h.options()
	opts.Config.API.Listen = d.Address()
	_, err = New(opts)
	if e, ok := errors.AsType[*provider.Error](err); !ok || e.Field != "api.listen" || !strings.Contains(err.Error(), "-listen") {
		t.Errorf("a second daemon on the address: %v", err)
	}
	opts = h.options()
	opts.Token = "short"
	if _, err := New(opts); provider.KindOf(err) != provider.Invalid {
		t.Errorf("a short token: %v", err)
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	// What was refused has left no lock behind.
	d, err = New(h.options())
	if err != nil {
		t.Fatal(err)
	}
	d.release()
}

func TestDaemonServes(t *testing.T) {
	h := newHouse(t, twoProviders)
	d, end := h.open(func(o *Options) { o.Token = "0123456789abcdef0123456789abcdef" })
	<-d.Settled()
	for path, want := range map[string]int{"/healthz": 200, "/readyz": 200, "/metrics": 200, "/v1/proxies": 200, "/v1/providers": 200} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+d.Address()+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer 0123456789abcdef0123456789abcdef")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("GET %s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	if err := end(); err != nil {
		t.Error(err)
	}
	if _, err := http.Get("http://" + d.Address() + "/healthz"); err == nil {
		t.Error("the API is served after the end")
	}
}
