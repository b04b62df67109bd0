package lease

import (
	"cmp"
	"time"
)

// Defaults of [Options].
const (
	// DefaultCap lets ten workers share a proxy.
	DefaultCap = 10
	// DefaultTTL is longer than a crawler's request with its retries, so that a
	// crawler that forgets to renew does not lose the proxy in the middle.
	DefaultTTL = 5 * time.Minute
	// DefaultMinTTL is what one request needs.
	DefaultMinTTL = time.Second
	// DefaultMaxTTL bounds how long a crashed client keeps a proxy busy.
	DefaultMaxTTL = time.Hour
	// DefaultRetryAfter is about a round of the program that keeps the fleet.
	DefaultRetryAfter = 5 * time.Second
	// DefaultSessionIdle outlives the pauses of a polite crawler.
	DefaultSessionIdle = time.Hour
	// DefaultRemember outlives the retries of a client that was cut off.
	DefaultRemember = 10 * time.Minute
)

// Bounds on memory that no option changes.
const (
	// maxSessions is how many sessions a holder may have; the one least
	// recently used makes room. Another holder's are never touched.
	maxSessions = 10_000
	// maxEnded is how many ended leases are remembered, about 20 MB.
	maxEnded = 100_000
)

// Options of a [Pool]. Zero fields are the defaults above; negative ones are
// taken as zero.
type Options struct {
	// Cap is how many leases a proxy may have at a time.
	Cap int
	// DefaultTTL is how long a lease lasts that asks for no time. It is moved
	// to lie within MinTTL and MaxTTL.
	DefaultTTL time.Duration
	// MinTTL and MaxTTL bound what a lease may ask for.
	MinTTL, MaxTTL time.Duration
	// RetryAfter is what a holder is told to wait when no proxy works or
	// matches: the time in which the fleet may have changed.
	RetryAfter time.Duration
	// SessionIdle is how long after its last lease was handed out a session
	// keeps its proxy. It is at least MaxTTL, so that a session outlives its
	// leases.
	SessionIdle time.Duration
	// Remember is how long an ended lease is told from an unknown one.
	Remember time.Duration
	// Now is the clock. Nil is time.Now.
	Now func() time.Time
}

func (o Options) withDefaults() Options {
	o.Cap = cmp.Or(max(o.Cap, 0), DefaultCap)
	for _, d := range []struct {
		field    *time.Duration
		fallback time.Duration
	}{
		{&o.DefaultTTL, DefaultTTL}, {&o.MinTTL, DefaultMinTTL}, {&o.MaxTTL, DefaultMaxTTL},
		{&o.RetryAfter, DefaultRetryAfter}, {&o.SessionIdle, DefaultSessionIdle}, {&o.Remember, DefaultRemember},
	} {
		*d.field = cmp.Or(max(*d.field, 0), d.fallback)
	}
	o.MaxTTL = max(o.MaxTTL, o.MinTTL)
	o.SessionIdle = max(o.SessionIdle, o.MaxTTL)
	o.DefaultTTL = min(max(o.DefaultTTL, o.MinTTL), o.MaxTTL)
	if o.Now == nil {
		o.Now = time.Now
	}
	return o
}
