package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// fakeBackendLimit is how long a name on the backend may be.
const fakeBackendLimit = provider.MaxName

// FakeBackend is what [Fake] works on: places with machines and disks, shared
// by all providers that are open on it. It is a [Harness] with every optional
// interface, and safe for concurrent use.
type FakeBackend struct {
	opts FakeOptions

	mu       sync.Mutex
	machines map[fakeKey]*fakeMachine
	disks    map[fakeKey]*fakeDisk
	cut      map[string]bool
	dropped  map[string]bool
	made     int
	window   time.Time
	used     int
	calls    []FakeCall
	failures map[string][]fakeFailure
	// plan is the breaker's, seq counts its calls, and epoch the purges, so
	// that nothing late outlives its check.
	plan  func(Call) Fault
	seq   int
	epoch int
}

// fakeKey is a place, and there a machine's backend name or a disk's token.
type fakeKey struct{ place, id string }

// fakeMachine is the claim of an instance. A claim without a start is half
// made; one without an owner is a squatter's.
type fakeMachine struct {
	place, key         string
	owner, name, token string
	hash               string
	labels             map[string]string
	created            time.Time
	number             int
	// port is what the guest was told, and readable what of that others see.
	port     uint16
	readable string
	started  time.Time
	// reads counts the Gets since it started.
	reads int
	// gone is when its deletion will be over; zero when there is none.
	gone time.Time
	// down is Stopped or Failed, once it is that, and the rest says why.
	down            provider.State
	failure         provider.Kind
	reason, message string
}

// fakeDisk belongs to the claim with its token, and carries the mark of its
// owner, so that it can be listed when the claim is gone.
type fakeDisk struct {
	place, token, owner, name string
	created                   time.Time
	// maker is whoever made it, for Audit: the owner, with or without a mark.
	maker string
}

// NewFakeBackend returns an empty backend.
func NewFakeBackend(opts FakeOptions) *FakeBackend {
	opts.Places = slices.Clone(opts.Places)
	if len(opts.Places) == 0 {
		opts.Places = []FakePlace{{}}
	}
	if opts.Features == nil {
		opts.Features = fakeFeatures(opts.Places)
	}
	return &FakeBackend{opts: opts, machines: map[fakeKey]*fakeMachine{}, disks: map[fakeKey]*fakeDisk{},
		cut: map[string]bool{}, dropped: map[string]bool{}, failures: map[string][]fakeFailure{}}
}

// fakeFeatures are all fields of a spec; Location where there are any.
func fakeFeatures(places []FakePlace) []provider.Feature {
	features := []provider.Feature{provider.FeatureImage, provider.FeatureSize, provider.FeaturePort, provider.FeatureCredentials,
		provider.FeatureAllowFrom, provider.FeaturePreemptible, provider.FeatureLabels}
	if places[0].Location != "" {
		features = append(features, provider.FeatureLocation)
	}
	return features
}

// Provider returns a provider for an owner, as a new process would open it.
func (b *FakeBackend) Provider(owner string) *Fake {
	b.mu.Lock()
	defer b.mu.Unlock()
	closing, end := context.WithCancel(context.Background())
	f := &Fake{b: b, owner: owner, closing: closing, end: end}
	for _, place := range b.opts.Places {
		if !b.dropped[place.Location] {
			f.places = append(f.places, place.Location)
		}
	}
	return f
}

// admit counts a call against the rate.
func (b *FakeBackend) admit() error {
	if b.opts.Rate <= 0 {
		return nil
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	per := cmp.Or(b.opts.RatePer, time.Second)
	now := time.Now()
	if now.Sub(b.window) >= per {
		b.window, b.used = now, 0
	}
	if b.used++; b.used > b.opts.Rate {
		return &provider.Error{Kind: provider.RateLimited, RetryAfter: b.window.Add(per).Sub(now),
			Err: fmt.Errorf("more than %d calls in %v", b.opts.Rate, per)}
	}
	return nil
}

// at makes one call to a place: it takes the latency, fails when the place is
// cut off, and runs f alone. Op is the call's name for a breaker; one that ends
// in "?" only reads. When at returns an error, f may run later, or never.
func (b *FakeBackend) at(ctx context.Context, place, op string, f func(now time.Time) error) error {
	if b.opts.Latency > 0 {
		wait := time.NewTimer(b.opts.Latency)
		defer wait.Stop()
		select {
		case <-wait.C:
		case <-ctx.Done():
		}
	} else {
		runtime.Gosched()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	switch fault := b.fault(op); fault {
	case Fail:
		return errBroken(place)
	case Hang, Late:
		epoch := b.epochNow()
		b.hang(ctx)
		if fault == Late {
			time.AfterFunc(lateBy, func() { b.later(epoch, f) })
		}
		return errors.Join(ctx.Err(), errBroken(place))
	case CutAfter:
		if err := b.alone(place, f); err != nil {
			return err
		}
		return errBroken(place)
	}
	return b.alone(place, f)
}

// alone runs f with the lock held, unless the place is cut off.
func (b *FakeBackend) alone(place string, f func(now time.Time) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.cut[place] {
		return &provider.Error{Kind: provider.Unavailable, Location: place, Err: errors.New("the place does not answer")}
	}
	return f(time.Now())
}

// claim makes a machine under its key, or returns the one that has it.
func (b *FakeBackend) claim(ctx context.Context, m fakeMachine) (fakeMachine, error) {
	err := b.at(ctx, m.place, "machine.insert", func(now time.Time) error {
		if there, ok := b.machines[fakeKey{m.place, m.key}]; ok {
			m = *there
			return nil
		}
		if err := b.room(m.place); err != nil {
			return err
		}
		b.made++
		m.created, m.number = now, b.made
		there := m
		b.machines[fakeKey{m.place, m.key}] = &there
		return nil
	})
	if err != nil {
		return fakeMachine{}, err
	}
	return m, nil
}

// room says why a place takes no further machine. The caller holds the lock.
func (b *FakeBackend) room(place string) error {
	if b.opts.Quota > 0 && len(b.machines) >= b.opts.Quota {
		return &provider.Error{Kind: provider.QuotaExceeded, Location: place, Err: fmt.Errorf("the quota is %d machines", b.opts.Quota)}
	}
	n := 0
	for key := range b.machines {
		if key.place == place {
			n++
		}
	}
	for _, p := range b.opts.Places {
		if p.Location == place && p.Capacity > 0 && n >= p.Capacity {
			return &provider.Error{Kind: provider.NoCapacity, Location: place, Err: fmt.Errorf("it takes %d machines and has them", p.Capacity)}
		}
	}
	return nil
}

// errNoClaim says that a claim was withdrawn under its creator.
var errNoClaim = errors.New("the claim is being deleted, or gone")

// addDisk makes the disk of a claim that stands.
func (b *FakeBackend) addDisk(ctx context.Context, m fakeMachine) error {
	return b.update(ctx, m, "disk.insert", func(_ *fakeMachine, now time.Time) {
		b.disks[fakeKey{m.place, m.token}] = &fakeDisk{place: m.place, token: m.token, owner: m.owner, maker: m.owner, name: m.name, created: now}
	})
}

// start starts the machine of a claim that stands, once.
func (b *FakeBackend) start(ctx context.Context, m fakeMachine) error {
	return b.update(ctx, m, "machine.start", func(there *fakeMachine, now time.Time) {
		if there.started.IsZero() {
			there.started = now
		}
	})
}

// update changes a claim that stands and has the token of m.
func (b *FakeBackend) update(ctx context.Context, m fakeMachine, op string, f func(*fakeMachine, time.Time)) error {
	return b.at(ctx, m.place, op, func(now time.Time) error {
		there := b.machines[fakeKey{m.place, m.key}]
		if there == nil || there.token != m.token || !there.gone.IsZero() {
			return &provider.Error{Kind: provider.InProgress, Location: m.place, RetryAfter: time.Millisecond, Err: errNoClaim}
		}
		f(there, now)
		return nil
	})
}

// find returns the machine that has a key at a place.
func (b *FakeBackend) find(ctx context.Context, place, key string) (m fakeMachine, ok bool, err error) {
	err = b.at(ctx, place, "machine.find?", func(time.Time) error {
		if there := b.machines[fakeKey{place, key}]; there != nil {
			m, ok = *there, true
		}
		return nil
	})
	return m, ok, err
}

// look returns copies of the machines and disks at a place that match.
func (b *FakeBackend) look(ctx context.Context, place string, match func(owner, name string) bool) ([]fakeMachine, []fakeDisk, error) {
	var machines []fakeMachine
	var disks []fakeDisk
	err := b.at(ctx, place, "list?", func(time.Time) error {
		for _, m := range b.machines {
			if m.place == place && match(m.owner, m.name) {
				c := *m
				c.labels = maps.Clone(m.labels)
				machines = append(machines, c)
			}
		}
		for _, d := range b.disks {
			if d.place == place && match(d.owner, d.name) {
				disks = append(disks, *d)
			}
		}
		return nil
	})
	slices.SortFunc(machines, func(x, y fakeMachine) int { return cmp.Compare(x.number, y.number) })
	slices.SortFunc(disks, func(x, y fakeDisk) int { return cmp.Or(x.created.Compare(y.created), cmp.Compare(x.token, y.token)) })
	return machines, disks, err
}
