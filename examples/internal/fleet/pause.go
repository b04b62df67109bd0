package fleet

import (
	"time"

	"github.com/crawlfleet/provider"
)

// pacing is how long to wait after failures in a row: first, doubled with each,
// up to last.
type pacing struct{ first, last time.Duration }

// pacingOf is by kind. The kinds that only a person or time cures are slow and
// do not grow, so that the cure is noticed within minutes.
func pacingOf(kind provider.Kind) pacing {
	switch kind {
	case provider.InProgress:
		return pacing{time.Second, 15 * time.Second}
	case provider.RateLimited:
		return pacing{5 * time.Second, 5 * time.Minute}
	case provider.NoCapacity:
		return pacing{30 * time.Second, 10 * time.Minute}
	case provider.Canceled:
		return pacing{time.Second, time.Second}
	case provider.Conflict, provider.Invalid, provider.Unsupported, provider.Unauthenticated,
		provider.PermissionDenied, provider.QuotaExceeded:
		return pacing{5 * time.Minute, 5 * time.Minute}
	}
	return pacing{2 * time.Second, 2 * time.Minute}
}

// churning paces new instances of a name whose instances do not last. The
// first replacement is immediate; this begins with the second.
func churning() pacing { return pacing{5 * time.Second, 10 * time.Minute} }

const (
	// longest is the most of a RetryAfter that is honoured: a backend that
	// asks for more is asked again all the same.
	longest = time.Hour
	// stable is how long an instance lasts that was of use.
	stable = 10 * time.Minute
	// glance is the pause between two Gets of an instance that answers them
	// and that no list shows.
	glance = 30 * time.Second
)

// pause returns the pause after so many failures before.
func (p pacing) pause(failures int) time.Duration {
	d := p.first
	for range failures {
		if d >= p.last {
			break
		}
		d *= 2
	}
	return min(d, p.last)
}

// pause notes a failure. What the backend asks for is only ever lengthened.
func (m *Memory) pause(r *Retry, err error, now time.Time) {
	kind := provider.KindOf(err)
	if r.Kind != kind {
		r.Failures = 0
	}
	d := m.vary(pacingOf(kind).pause(r.Failures))
	if asked := min(provider.RetryAfter(err), longest); asked > 0 {
		d = asked + time.Duration(m.jitter()*float64(asked)/8)
	}
	r.Failures++
	r.Kind, r.At, r.After = kind, now, now.Add(d)
}

// vary spreads d by a quarter, so that what failed together is not tried
// together.
func (m *Memory) vary(d time.Duration) time.Duration {
	return d - d/8 + time.Duration(m.jitter()*float64(d)/4)
}

func (m *Memory) jitter() float64 {
	if m.Jitter == nil {
		return 0.5
	}
	return m.Jitter()
}
