package daemon

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/crawlfleet/provider/providertest"
)

func TestLoopMakesWhatIsWanted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(3, ""), newBackend(providertest.FakeOptions{Boot: 20 * time.Second, Latency: 100 * time.Millisecond}))
		b.start()
		b.after(10 * time.Second)
		b.wantWorking("")
		b.after(20 * time.Second)
		b.wantWorking("web-0 web-1 web-2")
		select {
		case <-b.world.board.settled:
		default:
			t.Error("it is not settled")
		}
		if n := b.count("Create"); n != 3 {
			t.Errorf("%d Creates", n)
		}
	})
}

// In an hour without events there is a list every ten seconds, no Get, and no
// round without a reason.
func TestLoopIsCalm(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(3, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(5 * time.Minute)
		lists, rounds := b.count("List"), testutil.ToFloat64(b.world.metrics.rounds.WithLabelValues("p"))
		b.after(time.Hour)
		lists, rounds = b.count("List")-lists, testutil.ToFloat64(b.world.metrics.rounds.WithLabelValues("p"))-rounds
		// Sweeps of the collector list too, every five minutes.
		if lists < 350 || lists > 360+12 {
			t.Errorf("%d lists in an hour", lists)
		}
		// A list and three checks in ten seconds, each with a begin and an end,
		// spread by a tenth.
		if rounds > 9*360 {
			t.Errorf("%v rounds in an hour", rounds)
		}
		if n := b.count("Get"); n != 0 {
			t.Errorf("%d Gets", n)
		}
	})
}

func TestLoopAdopts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(3, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		before, creates := b.instances(), b.count("Create")
		b.restart(web(3, ""))
		b.after(time.Minute)
		b.wantWorking("web-0 web-1 web-2")
		if n := b.count("Create") - creates; n != 0 {
			t.Errorf("%d Creates after the restart", n)
		}
		for name, inst := range b.instances() {
			if inst.ID != before[name].ID {
				t.Errorf("%s is another instance", name)
			}
		}
	})
}

// A Create that hangs takes one place of its provider, and the others go on.
func TestLoopHangingCreate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(6, ""), newBackend(providertest.FakeOptions{}))
		hang := make(chan struct{})
		b.world.open = func(context.Context, string, config.Provider) (provider.Provider, error) {
			return hanging{b.backend.Provider(owner), "web-1", hang}, nil
		}
		b.loop.opening.open = b.world.open
		b.start()
		b.after(time.Minute)
		b.wantWorking("web-0 web-2 web-3 web-4 web-5")
		b.after(createTimeout)
		close(hang)
		b.after(time.Minute)
		b.wantWorking("web-0 web-1 web-2 web-3 web-4 web-5")
		if !strings.Contains(b.log.String(), "a call failed") {
			t.Error("nothing was logged")
		}
	})
}

// hanging is a provider whose Create of one name hangs until its context ends.
type hanging struct {
	provider.Provider
	name string
	free <-chan struct{}
}

func (h hanging) Create(ctx context.Context, spec provider.Spec) (provider.Instance, error) {
	if spec.Name == h.name {
		select {
		case <-h.free:
		case <-ctx.Done():
			return provider.Instance{}, ctx.Err()
		}
	}
	return h.Provider.Create(ctx, spec)
}

func TestLoopReplacesWhatStopped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(3, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		was := b.instances()["web-1"]
		if err := b.backend.Stop(t.Context(), owner, was.Ref); err != nil {
			t.Fatal(err)
		}
		b.after(30 * time.Second)
		b.wantWorking("web-0 web-1 web-2")
		if b.instances()["web-1"].ID == was.ID {
			t.Error("it is the same instance")
		}
		if n := testutil.ToFloat64(b.world.metrics.replaced.WithLabelValues("p", "web", "Stopped")); n != 1 {
			t.Errorf("%v replaced", n)
		}
	})
}

func TestLoopReplacesWhatDoesNotWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(3, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		was := b.instances()["web-1"]
		b.mu.Lock()
		b.broken[was.Endpoint] = true
		b.mu.Unlock()
		b.after(15 * time.Second)
		b.wantWorking("web-0 web-2")
		if b.instances()["web-1"].ID != was.ID {
			t.Error("it was replaced after one check")
		}
		b.after(time.Minute)
		if b.instances()["web-1"].ID == was.ID {
			t.Error("it was not replaced")
		}
	})
}

// When all checks fail together nothing is replaced, and when they pass again
// everything is as before.
func TestLoopFreezes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(4, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		b.breakAll(true)
		b.after(time.Hour)
		b.wantWorking("")
		if n := b.count("Delete"); n != 0 {
			t.Errorf("%d Deletes", n)
		}
		if v := testutil.ToFloat64(b.world.metrics.frozen.WithLabelValues("p", "web")); v != 1 {
			t.Errorf("the metric is %v", v)
		}
		if n := strings.Count(b.log.String(), "a fleet is frozen"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		b.breakAll(false)
		b.after(time.Minute)
		b.wantWorking("web-0 web-1 web-2 web-3")
		if v := testutil.ToFloat64(b.world.metrics.frozen.WithLabelValues("p", "web")); v != 0 {
			t.Errorf("the metric is %v", v)
		}
	})
}

// Members go when their last lease does, and not before, up to the limit.
func TestLoopScalesDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(4, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		leases, err := b.pool.Lease(lease.Request{Holder: "h", Count: 4, TTL: 10 * time.Minute})
		if err != nil || len(leases) != 4 {
			t.Fatalf("%d leases, %v", len(leases), err)
		}
		release := func(name string) {
			for _, l := range leases {
				if l.Proxy.Name == name {
					_ = b.pool.Release(l.ID, "h")
				}
			}
		}
		release("web-1")
		b.configure(web(1, ""))
		b.after(5 * time.Second)
		if got := len(b.instances()); got != 3 {
			t.Errorf("%d instances; the idle one goes at once", got)
		}
		b.wantWorking("web-0")
		release("web-2")
		b.after(5 * time.Second)
		if got := len(b.instances()); got != 2 {
			t.Errorf("%d instances; one goes with its last lease", got)
		}
		b.after(time.Minute)
		if got := len(b.instances()); got != 1 {
			t.Errorf("%d instances; the last goes at the limit", got)
		}
		if n := b.pool.Stats().Ended[lease.Gone]; n != 1 {
			t.Errorf("%d leases ended with their proxy", n)
		}
	})
}

// What is known is used on while the provider cannot be asked.
func TestLoopWithoutLists(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(2, ""), newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		free, err := b.backend.Cut(t.Context(), "")
		if err != nil {
			t.Fatal(err)
		}
		b.configure(web(3, ""))
		b.after(time.Hour)
		b.wantWorking("web-0 web-1")
		if s := b.world.board.status()[0]; s.Health != "unhealthy" || s.LastError == nil || s.LastError.Kind != provider.Unavailable {
			t.Errorf("the status is %+v", s)
		}
		if n := strings.Count(b.log.String(), "cannot be listed") + strings.Count(b.log.String(), "cannot list"); n != 1 {
			t.Errorf("logged %d times", n)
		}
		free()
		b.after(3 * time.Minute) // the pause of web-2 has grown to two
		b.wantWorking("web-0 web-1 web-2")
		if s := b.world.board.status()[0]; s.Health != "healthy" || s.LastError != nil {
			t.Errorf("the status is %+v", s)
		}
	})
}

// What no fleet accounts for is the collector's, after its grace.
func TestLoopCollectsOrphans(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		backend := newBackend(providertest.FakeOptions{})
		spec := backend.Spec("old-0")
		if _, err := backend.Provider(owner).Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
		b := newBench(t, web(2, ""), backend)
		b.start()
		b.after(15 * time.Minute)
		if got := len(b.instances()); got != 3 {
			t.Errorf("%d instances within the grace", got)
		}
		b.after(15 * time.Minute)
		if _, left := b.instances()["old-0"]; left {
			t.Error("the orphan is left")
		}
		b.wantWorking("web-0 web-1")
		if n := testutil.ToFloat64(b.world.metrics.collected.WithLabelValues("p")); n != 1 {
			t.Errorf("%v collected", n)
		}
	})
}

func TestLoopEmptiesARetiredProvider(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(3, ""), newBackend(providertest.FakeOptions{Going: 5 * time.Second}))
		b.start()
		b.after(time.Minute)
		s := b.settings(web(0, ""))
		s.retired = true
		b.loop.send(func() { b.loop.configure(s) })
		b.after(time.Minute)
		if n := len(b.instances()); n != 0 {
			t.Errorf("%d instances are left", n)
		}
	})
}

// A fleet that is taken out of the file goes, at once.
func TestLoopRemovesAFleet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		two := web(1, "") + "  - {name: img, provider: p, replicas: 2}\n"
		b := newBench(t, two, newBackend(providertest.FakeOptions{}))
		b.start()
		b.after(time.Minute)
		b.wantWorking("img-0 img-1 web-0")
		b.configure(web(1, ""))
		b.after(time.Minute)
		if n := len(b.instances()); n != 1 {
			t.Errorf("%d instances are left", n)
		}
	})
}
