package daemon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
	"github.com/crawlfleet/provider/providertest"
)

// bench runs one loop on a provider in memory, in a bubble of synctest.
type bench struct {
	t       *testing.T
	world   *world
	loop    *running
	backend *providertest.FakeBackend
	pool    *lease.Pool
	log     *lockedBuffer

	mu sync.Mutex
	// broken has the endpoints that do not work; all is every one.
	broken map[string]bool
	all    bool
	seen   map[string]provider.Credentials // what the last check of an endpoint used
}

// lockedBuffer is a buffer that many may write to.
type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

const owner = "test"

// parseConfig reads a configuration with one provider of kind fake.
func parseConfig(t *testing.T, fleets string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	text := "owner: " + owner + "\nlimits: {start: 2m, drain: 1m}\nproviders:\n  p: {kind: fake}\n" + fleets
	c, err := config.Parse(filepath.Join(dir, "test.yaml"), []byte(text), func(key string) string {
		return map[string]string{config.EnvStateDir: dir}[key]
	})
	if err == nil {
		err = c.Prepare()
	}
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// web is a fleet of that name with so many replicas.
func web(replicas int, more string) string {
	return fmt.Sprintf("fleets:\n  - {name: web, provider: p, replicas: %d%s}\n", replicas, more)
}

// newBench makes a bench whose loop does not run yet.
func newBench(t *testing.T, fleets string, backend *providertest.FakeBackend) *bench {
	t.Helper()
	m, err := newMetrics(prometheus.NewRegistry())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{
		t: t, backend: backend, pool: lease.NewPool(lease.Options{}), log: &lockedBuffer{},
		broken: map[string]bool{}, seen: map[string]provider.Credentials{},
	}
	b.world = &world{
		log: slog.New(slog.NewTextHandler(b.log, nil)), metrics: m, board: newBoard(b.pool), pool: b.pool, check: b.check,
		open: func(context.Context, string, config.Provider) (provider.Provider, error) {
			return backend.Provider(owner), nil
		},
	}
	b.loop = &running{newLoop(b.world, "p", b.settings(fleets)), make(chan struct{})}
	return b
}

func (b *bench) settings(fleets string) settings {
	b.t.Helper()
	s, err := settingsOf(parseConfig(b.t, fleets), "p", "127.0.0.1:1")
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// start runs the loop until the test ends.
func (b *bench) start() {
	go b.loop.run(b.loop.stop)
	b.t.Cleanup(func() { b.loop.close(context.Background()) })
}

// restart ends the loop as kill -9 would, and starts another.
func (b *bench) restart(fleets string) {
	b.loop.close(context.Background())
	b.world.board.close("p")
	b.loop = &running{newLoop(b.world, "p", b.settings(fleets)), make(chan struct{})}
	go b.loop.run(b.loop.stop)
}

// configure puts other fleets in force.
func (b *bench) configure(fleets string) {
	s := b.settings(fleets)
	b.loop.send(func() { b.loop.configure(s) })
}

// check is the proxy check of the bench.
func (b *bench) check(_ context.Context, _ *proxycheck.Checker, p proxycheck.Proxy) (proxycheck.Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.seen[p.Endpoint] = p.Credentials
	if b.all || b.broken[p.Endpoint] {
		return proxycheck.Result{}, errors.New("no answer")
	}
	return proxycheck.Result{}, nil
}

func (b *bench) breakAll(yes bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.all = yes
}

// after lets time pass.
func (b *bench) after(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// working returns the names of the members that leases are handed out on.
func (b *bench) working() string {
	b.world.board.mu.Lock()
	defer b.world.board.mu.Unlock()
	var names []string
	for _, p := range b.world.board.proxies["p"] {
		if p.Working && !p.Draining {
			names = append(names, p.Name)
		}
	}
	slices.Sort(names)
	return strings.Join(names, " ")
}

func (b *bench) wantWorking(want string) {
	b.t.Helper()
	if got := b.working(); got != want {
		b.t.Errorf("working: %q, want %q\n%s", got, want, b.log)
	}
}

// instances are those of the backend, by name.
func (b *bench) instances() map[string]provider.Instance {
	b.t.Helper()
	list, err := b.backend.Provider(owner).List(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	out := map[string]provider.Instance{}
	for _, inst := range list {
		if _, twice := out[inst.Name]; twice {
			b.t.Errorf("two instances of %s", inst.Name)
		}
		out[inst.Name] = inst
	}
	return out
}

// count is how often the provider was called.
func (b *bench) count(op string) int {
	n := 0
	for _, call := range b.backend.Calls() {
		if call.Op == op {
			n++
		}
	}
	return n
}

// failing answers with an error, which the fake plays for the next call.
func failing(kind provider.Kind, after time.Duration) error {
	return &provider.Error{Kind: kind, RetryAfter: after, Err: errors.New("as told")}
}

func newBackend(opts providertest.FakeOptions) *providertest.FakeBackend {
	return providertest.NewFakeBackend(opts)
}
