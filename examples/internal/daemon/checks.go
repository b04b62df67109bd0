package daemon

import (
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
)

const (
	// maxChecks is how many members of one provider are tried at once. A check
	// is four connections for a moment.
	maxChecks = 16
	// firstCheck is the pause after the first failure of a member that has not
	// worked yet; it doubles up to the configured interval.
	firstCheck = 100 * time.Millisecond
)

// checks schedules the checks of one loop.
type checks struct {
	due  map[provider.Ref]time.Time
	busy map[provider.Ref]bool
}

func newChecks() checks {
	return checks{due: map[provider.Ref]time.Time{}, busy: map[provider.Ref]bool{}}
}

// restart makes all of them due, because what is fetched may be another now.
func (c *checks) restart() { clear(c.due) }

// startChecks begins the checks that are due, the longest due first, and
// returns when the next is.
func (l *loop) startChecks(now time.Time) time.Time {
	next := now.Add(maxList)
	c := &l.checks
	maps.DeleteFunc(c.due, func(ref provider.Ref, _ time.Time) bool { return l.memory.Members[ref] == nil })
	maps.DeleteFunc(l.egress, func(ref provider.Ref, _ netip.Addr) bool { return l.memory.Members[ref] == nil })
	refs := slices.DeleteFunc(l.memory.Refs(), func(ref provider.Ref) bool {
		return c.busy[ref] || !checkable(l.memory.Members[ref])
	})
	slices.SortStableFunc(refs, func(a, b provider.Ref) int { return c.due[a].Compare(c.due[b]) })
	for _, ref := range refs {
		if now.Before(c.due[ref]) {
			return earlier(next, c.due[ref])
		}
		if len(c.busy) >= maxChecks {
			return next // the end of one is news
		}
		if p, ok := l.proxy(l.memory.Members[ref]); ok {
			l.startCheck(ref, p)
		}
	}
	return next
}

// checkable reports whether a check of the instance says something: it runs,
// or may run for all that is known.
func checkable(m *fleet.Member) bool {
	state := m.State.Known()
	return m.Going == "" && (state == provider.Running || state == provider.Unknown)
}

// proxy is how a member of a fleet is reached.
func (l *loop) proxy(m *fleet.Member) (proxycheck.Proxy, bool) {
	f, ok := l.settings.fleet(m.Name)
	if !ok {
		return proxycheck.Proxy{}, false
	}
	return proxycheck.Proxy{
		Scheme: m.Scheme, Endpoint: m.Endpoint, Credentials: l.history.credentials(f.Name, m.Name, m.SpecHash),
	}, true
}

func (l *loop) startCheck(ref provider.Ref, p proxycheck.Proxy) {
	l.checks.busy[ref] = true
	checker := l.settings.checker // a copy, because settings change
	l.wg.Go(func() {
		result, err := l.world.check(l.life, &checker, p)
		l.send(func() { l.checked(ref, result, err) })
	})
}

// checked notes how a check ended.
func (l *loop) checked(ref provider.Ref, result proxycheck.Result, err error) {
	delete(l.checks.busy, ref)
	m := l.memory.Members[ref]
	if m == nil || l.life.Err() != nil {
		return
	}
	reason := ""
	if err != nil {
		reason = err.Error()
	} else if result.Egress.IsValid() {
		l.egress[ref] = result.Egress
	}
	now := time.Now()
	name, _, _ := fleet.ParseMember(ref.Name)
	l.metrics.checks.WithLabelValues(l.name, name, resultOf(err)).Inc()
	first := m.Check.Failures == 0
	changed := l.memory.Checked(ref, reason, l.settings.check.Successes, now)
	l.checks.due[ref] = now.Add(l.pause(m))
	args := []any{"fleet", name, "member", ref.Name, "id", ref.ID}
	switch {
	case changed && err == nil:
		l.changed()
		l.log.Info("a member works", append(args, "endpoint", m.Endpoint, "egress", l.egress[ref], "took", result.Took.Round(time.Millisecond),
			"next", "leases are handed out on it")...)
	case changed || err != nil && m.Check.Worked && first:
		l.changed()
		l.log.Warn("a member does not work", append(args, "error", reason,
			"next", "no leases; tried again every "+l.settings.check.Interval.String())...)
	case err != nil:
		l.log.Debug("a member does not work yet", append(args, "error", reason, "failures", m.Check.Failures)...)
	}
}

func resultOf(err error) string {
	if err != nil {
		return "failed"
	}
	return "ok"
}

// pause is how long after a check the next one of a member follows: the
// interval, spread by a tenth, and less while it has yet to work.
func (l *loop) pause(m *fleet.Member) time.Duration {
	d := l.settings.check.Interval
	if !m.Check.Working && !m.Check.Worked {
		d = min(d, firstCheck<<min(max(m.Check.Failures-1, 0), 20))
	}
	return d - d/20 + rand.N(d/10+1)
}

// earlier returns the earlier of two times.
func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}
