package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

// world is a backend and its owners, with a clock that the test moves.
type world struct {
	scripted
	instances []provider.Instance
	owners    []provider.Ref
	ownersErr error
	listErr   error
	deleteErr error
	reads     int
	onRead    func(n int) // called at each read of the owners, before it answers
	clock     time.Time
}

func newWorld(names ...string) *world {
	w := &world{clock: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}
	w.info.Name = "test"
	for _, name := range names {
		w.instances = append(w.instances, instance(name, "id-"+name, provider.Running))
	}
	w.list = func() ([]provider.Instance, error) {
		return append([]provider.Instance(nil), w.instances...), w.listErr
	}
	w.delete = func(_ context.Context, ref provider.Ref) error {
		if w.deleteErr != nil {
			return w.deleteErr
		}
		for i, inst := range w.instances {
			if inst.Ref == ref {
				w.instances = append(w.instances[:i], w.instances[i+1:]...)
				break
			}
		}
		return nil
	}
	return w
}

func (w *world) collector() *provider.Collector {
	return &provider.Collector{
		Provider: w,
		Owners: func(context.Context) ([]provider.Ref, error) {
			w.reads++
			w.call("owners")
			if w.onRead != nil {
				w.onRead(w.reads)
			}
			return w.owners, w.ownersErr
		},
		Grace: time.Minute,
		Now:   func() time.Time { return w.clock },
	}
}

// summary is a sweep as one line: d for deleted, else why it was spared.
func summary(s provider.Sweep) string {
	var parts []string
	for _, sp := range s.Spared {
		parts = append(parts, sp.Why+" "+sp.Ref.ID)
	}
	for _, d := range s.Deleted {
		parts = append(parts, "deleted "+d.Ref.ID)
	}
	return strings.Join(parts, ", ")
}

func (w *world) sweep(t *testing.T, c *provider.Collector, want string) {
	t.Helper()
	s, err := c.Sweep(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := summary(s); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSweepDeletesAfterGrace(t *testing.T) {
	w := newWorld("a", "b", "c")
	w.owners = []provider.Ref{{Name: "a"}, {Name: "c", ID: "id-c"}}
	c := w.collector()
	w.sweep(t, c, "grace id-b")
	w.clock = w.clock.Add(time.Minute - 1)
	w.sweep(t, c, "grace id-b")
	w.clock = w.clock.Add(1)
	w.sweep(t, c, "deleted id-b")
	w.sweep(t, c, "")
	if len(w.instances) != 2 {
		t.Errorf("%d instances are left, want 2", len(w.instances))
	}
}

func TestSweepOwnership(t *testing.T) {
	tests := []struct {
		name   string
		owner  provider.Ref
		inst   provider.Ref
		orphan bool
	}{
		{"by name, before the ID is stored", provider.Ref{Name: "a"}, provider.Ref{Name: "a", ID: "1"}, false},
		{"by ID", provider.Ref{Name: "a", ID: "1"}, provider.Ref{Name: "a", ID: "1"}, false},
		{"another incarnation", provider.Ref{Name: "a", ID: "2"}, provider.Ref{Name: "a", ID: "1"}, true},
		{"another name", provider.Ref{Name: "b"}, provider.Ref{Name: "a", ID: "1"}, true},
		{"no ID to compare", provider.Ref{Name: "a", ID: "2"}, provider.Ref{Name: "a"}, false},
		{"no ID, another name", provider.Ref{Name: "b", ID: "2"}, provider.Ref{Name: "a"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld()
			w.instances = []provider.Instance{{Ref: tt.inst, State: provider.Incomplete}}
			w.owners = []provider.Ref{tt.owner}
			c := w.collector()
			c.Grace = -1
			s, err := c.Sweep(t.Context())
			if err != nil || len(s.Deleted) == 1 != tt.orphan {
				t.Errorf("got %+v, %v; orphan: want %v", s, err, tt.orphan)
			}
		})
	}
}

func TestSweepGraceBeginsAnew(t *testing.T) {
	w := newWorld("a")
	c := w.collector()
	w.sweep(t, c, "grace id-a")
	w.clock = w.clock.Add(50 * time.Second)
	w.owners = []provider.Ref{{Name: "a"}}
	w.sweep(t, c, "")
	w.owners = nil
	w.clock = w.clock.Add(50 * time.Second)
	w.sweep(t, c, "grace id-a")
	w.clock = w.clock.Add(time.Minute)
	w.sweep(t, c, "deleted id-a")
}

// TestSweepGraceBeginsAnewUnderPartialList: an instance that is shown with an
// owner is forgotten as an orphan even where the list is partial.
func TestSweepGraceBeginsAnewUnderPartialList(t *testing.T) {
	w := newWorld("a")
	w.listErr = &provider.PartialError{Missing: []provider.Place{{Location: "x", Err: io.EOF}}}
	c := w.collector()
	w.sweep(t, c, "grace id-a")
	w.owners = []provider.Ref{{Name: "a"}}
	w.clock = w.clock.Add(time.Hour)
	w.sweep(t, c, "")
	w.owners = nil
	w.sweep(t, c, "grace id-a")
}

func TestSweepCreatedOnlyLengthens(t *testing.T) {
	w := newWorld("old", "new")
	w.instances[0].Created = w.clock.Add(-24 * time.Hour)
	w.instances[1].Created = w.clock.Add(30 * time.Second) // a clock ahead of ours
	c := w.collector()
	w.sweep(t, c, "grace id-old, grace id-new")
	w.clock = w.clock.Add(time.Minute)
	w.sweep(t, c, "grace id-new, deleted id-old")
	w.clock = w.clock.Add(30 * time.Second)
	w.sweep(t, c, "deleted id-new")
}

func TestSweepRestartOnlyDelays(t *testing.T) {
	w := newWorld("a")
	w.sweep(t, w.collector(), "grace id-a")
	w.clock = w.clock.Add(time.Hour)
	w.sweep(t, w.collector(), "grace id-a")
}

// TestSweepListsFirst: an instance made, and its owner stored, between the two
// reads is not an orphan; and the owners are read again before each delete.
func TestSweepListsFirst(t *testing.T) {
	w := newWorld("a", "b")
	c := w.collector()
	c.Grace = -1
	w.sweep(t, c, "deleted id-a, deleted id-b")
	want := "list owners owners delete a (id-a) owners delete b (id-b)"
	if got := strings.Join(w.calls, " "); got != want {
		t.Errorf("calls %q, want %q", got, want)
	}
}

func TestSweepSparesWhatIsOwnedMeanwhile(t *testing.T) {
	w := newWorld("a", "b")
	c := w.collector()
	c.Grace = -1
	w.onRead = func(n int) {
		if n == 2 {
			w.owners = []provider.Ref{{Name: "a", ID: "id-a"}}
		}
	}
	w.sweep(t, c, "owned id-a, deleted id-b")
}

func TestSweepStops(t *testing.T) {
	tests := []struct {
		name   string
		change func(*world)
		want   provider.Kind
	}{
		{"the list fails", func(w *world) { w.listErr = kind(provider.Unauthenticated, nil) }, provider.Unauthenticated},
		{"the owners cannot be read", func(w *world) { w.ownersErr = io.EOF }, provider.Unavailable},
		{"the owners cannot be read again", func(w *world) {
			w.onRead = func(n int) {
				if n == 2 {
					w.ownersErr = io.EOF
				}
			}
		}, provider.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld("a")
			tt.change(w)
			c := w.collector()
			c.Grace = -1
			s, err := c.Sweep(t.Context())
			if provider.KindOf(err) != tt.want || len(s.Deleted) != 0 || len(w.instances) != 1 {
				t.Errorf("got %+v, %v; want %s and nothing deleted", s, err, tt.want)
			}
		})
	}
}

func TestSweepPartialListHides(t *testing.T) {
	w := newWorld("a", "b")
	all := w.instances
	c := w.collector()
	w.sweep(t, c, "grace id-a, grace id-b")
	// b's place does not answer: b is not forgotten, and a is still collected.
	w.instances = all[:1:1]
	w.listErr = &provider.Error{Op: "List", Err: &provider.PartialError{Missing: []provider.Place{{Location: "x", Err: io.EOF}}}}
	w.clock = w.clock.Add(time.Minute)
	s, err := c.Sweep(t.Context())
	if err != nil || s.Missing == nil || summary(s) != "deleted id-a" {
		t.Errorf("got %+v, %v", s, err)
	}
	w.instances, w.listErr = all[1:], nil
	w.sweep(t, c, "deleted id-b")
}

func TestSweepCap(t *testing.T) {
	w := newWorld("a", "b", "c")
	c := w.collector()
	c.Grace, c.MaxDeletes = -1, 2
	w.deleteErr = io.EOF // failures count too: they cost the backend as much
	w.sweep(t, c, "cap id-c, deleted id-a, deleted id-b")
}

func TestSweepGuard(t *testing.T) {
	tests := []struct {
		orphans, owned, acknowledge int
		share                       float64
		refused                     bool
	}{
		{orphans: 5, owned: 0},
		{orphans: 6, owned: 0, refused: true},
		{orphans: 6, owned: 13, refused: true},
		{orphans: 6, owned: 14},
		{orphans: 6, owned: 0, acknowledge: 6},
		{orphans: 7, owned: 0, acknowledge: 6, refused: true},
		{orphans: 6, owned: 0, share: 1},
		{orphans: 6, owned: 50, share: 0.1, refused: true},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprint(tt), func(t *testing.T) {
			w := newWorld()
			for i := range tt.orphans + tt.owned {
				w.instances = append(w.instances, instance(fmt.Sprint("w-", i), fmt.Sprint("id-", i), provider.Running))
				if i >= tt.orphans {
					w.owners = append(w.owners, provider.Ref{Name: fmt.Sprint("w-", i)})
				}
			}
			for range 2 { // a restart does not lose the guard
				c := w.collector()
				c.Grace, c.DryRun, c.MaxShare, c.Acknowledge = -1, true, tt.share, tt.acknowledge
				s, err := c.Sweep(t.Context())
				many, refused := errors.AsType[*provider.TooManyOrphansError](err)
				if refused != tt.refused || refused && (provider.KindOf(err) != provider.Invalid || many.Orphans != tt.orphans) {
					t.Errorf("got %v, want refused %v", err, tt.refused)
				}
				if refused && (len(s.Deleted) != 0 || len(s.Spared) != tt.orphans) {
					t.Errorf("a refused sweep reports %q", summary(s))
				}
			}
		})
	}
}

func TestSweepDryRun(t *testing.T) {
	w := newWorld("a")
	c := w.collector()
	c.DryRun = true
	w.sweep(t, c, "grace id-a")
	w.clock = w.clock.Add(time.Minute)
	w.sweep(t, c, "deleted id-a")
	w.sweep(t, c, "deleted id-a")
	if len(w.instances) != 1 {
		t.Error("a dry run deleted something")
	}
}

func TestSweepGoesOnOverFailedDeletes(t *testing.T) {
	w := newWorld("a", "b")
	c := w.collector()
	c.Grace = -1
	w.deleteErr = kind(provider.InProgress, nil)
	s, err := c.Sweep(t.Context())
	if err != nil || len(s.Deleted) != 2 || provider.KindOf(s.Deleted[0].Err) != provider.InProgress {
		t.Errorf("got %+v, %v", s, err)
	}
	w.deleteErr = nil
	w.sweep(t, c, "deleted id-a, deleted id-b")
}

func TestSweepEndsWithItsContext(t *testing.T) {
	w := newWorld("a", "b")
	ctx, cancel := context.WithCancel(t.Context())
	remove := w.delete
	w.delete = func(ctx context.Context, ref provider.Ref) error { cancel(); return remove(ctx, ref) }
	c := w.collector()
	c.Grace = -1
	s, err := c.Sweep(ctx)
	if provider.KindOf(err) != provider.Canceled || len(s.Deleted) != 1 {
		t.Errorf("got %+v, %v; want Canceled after one delete", s, err)
	}
}

// BenchmarkSweep sweeps 100,000 instances of which 1,000 are orphans, and
// reports the peak of the heap beside the time.
func BenchmarkSweep(b *testing.B) {
	const n, orphans = 100_000, 1000
	list := make([]provider.Instance, n)
	var owners []provider.Ref
	for i := range list {
		list[i] = instance(fmt.Sprint("web-", i), provider.FormatID("host-a", provider.NewToken()), provider.Running)
		list[i].SpecHash = strings.Repeat("h", 66)
		if i >= orphans {
			owners = append(owners, list[i].Ref)
		}
	}
	w := newWorld()
	w.list = func() ([]provider.Instance, error) { return append([]provider.Instance(nil), list...), nil }
	w.delete = func(context.Context, provider.Ref) error { return nil }
	w.owners = owners
	c := w.collector()
	c.Grace = -1
	c.Owners = func(context.Context) ([]provider.Ref, error) { return append([]provider.Ref(nil), owners...), nil }
	b.ReportAllocs()
	for b.Loop() {
		s, err := c.Sweep(b.Context())
		if err != nil || len(s.Deleted) != provider.DefaultMaxDeletes {
			b.Fatal(summary(s), err)
		}
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	b.ReportMetric(float64(m.HeapSys)/(1<<20), "heap-MiB")
}
