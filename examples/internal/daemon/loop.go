package daemon

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
)

const (
	// minList and maxList bound the pause between two lists: short while
	// things change, and longer the longer nothing did.
	minList, maxList = time.Second, 10 * time.Second
	// leasePoll is how often the leases of draining members are counted.
	leasePoll = time.Second
)

// checkFunc tries a proxy; tests put their own in.
type checkFunc func(context.Context, *proxycheck.Checker, proxycheck.Proxy) (proxycheck.Result, error)

// world is what all loops share. Its methods and functions may be called from
// all of them at once.
type world struct {
	log     *slog.Logger
	metrics *metrics
	board   *board
	pool    *lease.Pool
	open    openFunc
	check   checkFunc
}

// loop keeps the fleets of one provider. All fields without a comment to the
// contrary belong to the goroutine of run.
type loop struct {
	*world
	name string
	log  *slog.Logger
	// p is nil until it could be opened.
	p       provider.Provider
	opening opening

	settings settings
	history  history
	memory   *fleet.Memory
	plan     fleet.Plan

	// life ends all calls, and creating the Creates; wg is over when no
	// goroutine of the loop's is left.
	life, creating   context.Context
	end, endCreating context.CancelFunc
	wg               sync.WaitGroup
	// inbox has what is to be done on the goroutine of run. Others send to it
	// with send.
	inbox chan func()
	done  chan struct{}

	calls  int // under way
	listed struct {
		busy    bool
		next    time.Time
		changed time.Time // when something was last different
		err     string    // the last list's error, to log changes only
		// emptying says that the last list began while emptying was on.
		emptying bool
	}
	checks checks
	egress map[provider.Ref]netip.Addr // as the checks told it
	sweep  struct {
		busy bool
		next time.Time
	}
	collector *provider.Collector
	// owned are the owners for the collector, which runs beside the loop; nil
	// before the first decision.
	owned atomic.Pointer[[]provider.Ref]
	// emptying says that the daemon removes everything before it ends, and
	// emptied is closed when that is done.
	emptying bool
	emptied  chan struct{}
	// frozen are the fleets that were at the last decision.
	frozen map[string]bool
}

func newLoop(w *world, name string, s settings) *loop {
	l := &loop{
		world: w, name: name, log: w.log.With("provider", name), opening: opening{open: w.open},
		memory: fleet.NewMemory(rand.Float64), history: history{}, checks: newChecks(),
		inbox: make(chan func()), done: make(chan struct{}), emptied: make(chan struct{}),
		egress: map[provider.Ref]netip.Addr{}, frozen: map[string]bool{},
	}
	l.life, l.end = context.WithCancel(context.Background())
	l.creating, l.endCreating = context.WithCancel(l.life)
	l.board.open(name, s.provider.Kind)
	l.configure(s)
	return l
}

// configure puts settings in force.
func (l *loop) configure(s settings) {
	s.withGone(l.settings.fleets)
	l.settings = s
	for _, f := range s.fleets {
		l.history.add(f)
	}
	wanted := map[string]bool{}
	for _, f := range s.fleets {
		for n := range f.Replicas {
			wanted[fleet.MemberName(f.Name, n)] = true
		}
	}
	l.memory.Reset(func(name string) bool { return wanted[name] })
	l.opening.next = time.Time{}
	l.newCollector()
	l.listed.next, l.listed.changed = time.Time{}, time.Now()
	l.checks.restart()
}

// newCollector begins anew to count since when each orphan is one.
func (l *loop) newCollector() {
	c := l.settings.collector
	l.collector = &provider.Collector{
		Provider: l.p, Owners: l.owners, Grace: c.Grace, MaxDeletes: c.MaxDeletes, Acknowledge: c.Acknowledge, Logger: l.log,
	}
	l.sweep.next = time.Now().Add(c.Interval)
}

// send has f done on the loop's goroutine. It reports false when the loop has
// ended and f will not be done.
func (l *loop) send(f func()) bool {
	select {
	case l.inbox <- f:
		return true
	case <-l.done:
		return false
	}
}

// run is the loop, until stop is closed.
func (l *loop) run(stop <-chan struct{}) {
	defer close(l.done)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		timer.Reset(time.Until(l.round()))
		select {
		case f := <-l.inbox:
			f()
			l.drainInbox()
		case <-timer.C:
		case <-stop:
			return
		}
	}
}

// drainInbox does what else has come, so that a hundred ends of calls are one
// round.
func (l *loop) drainInbox() {
	for {
		select {
		case f := <-l.inbox:
			f()
		default:
			return
		}
	}
}

// round decides and begins what is due, and returns when the next round is.
func (l *loop) round() time.Time {
	l.metrics.rounds.WithLabelValues(l.name).Inc()
	now := time.Now()
	next := now.Add(maxList)
	soon := func(at time.Time) {
		if at.Before(next) {
			next = at
		}
	}
	soon(l.startOpen(now))
	if l.p == nil {
		l.publish()
		return next
	}
	soon(l.list(now))
	l.decide(now)
	if !l.plan.Wake.IsZero() {
		soon(l.plan.Wake)
	}
	if l.draining() {
		soon(now.Add(leasePoll))
	}
	soon(l.startChecks(now))
	soon(l.startSweep(now))
	l.publish()
	if l.emptying && l.empty() {
		select {
		case <-l.emptied:
		default:
			close(l.emptied)
		}
	}
	return next
}

// empty reports whether the provider is known to have nothing left.
func (l *loop) empty() bool {
	return l.memory.Listing == fleet.ListComplete && len(l.memory.Members) == 0 && l.calls == 0 && l.listed.emptying
}

// decide plans and begins. What takes no call is in force before the next
// plan, which counts the leases anew.
func (l *loop) decide(now time.Time) {
	for {
		l.plan = fleet.Decide(l.observe(now))
		owned := slices.Concat(l.plan.Owned, l.settings.owners)
		if l.memory.Listing != fleet.NotListed {
			l.owned.Store(&owned)
		}
		again := false
		for _, a := range l.plan.Actions {
			again = l.begin(a, now) || again
		}
		if !again {
			break
		}
		l.publish()
	}
	l.noteFrozen()
}

// observe gathers what a decision depends on.
func (l *loop) observe(now time.Time) fleet.Observed {
	o := fleet.Observed{
		Now: now, Fleets: l.settings.fleets, Retired: l.settings.retired, Policy: l.settings.policy, Memory: l.memory,
		Leases: map[string]int{},
	}
	if l.emptying {
		o.Retired, o.Policy.Drain, o.Fleets = true, 0, nil
		for _, f := range l.settings.fleets {
			f.Replicas = 0
			o.Fleets = append(o.Fleets, f)
		}
	}
	for ref, m := range l.memory.Members {
		if m.Drain != "" {
			o.Leases[ref.ID] = l.pool.InUse(ref.ID)
		}
	}
	return o
}

func (l *loop) draining() bool {
	for _, m := range l.memory.Members {
		if m.Drain != "" && m.Going == "" {
			return true
		}
	}
	return false
}

// changed notes that something is different, so that lists come soon.
func (l *loop) changed() {
	now := time.Now()
	l.listed.changed, l.listed.next = now, earlier(l.listed.next, now.Add(minList))
}
