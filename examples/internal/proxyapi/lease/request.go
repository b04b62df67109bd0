package lease

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of a [Request].
const (
	// MaxCount is the most leases of one request.
	MaxCount = 100
	// MaxSession is the most bytes of a session key.
	MaxSession = 256
	// MaxSelector is the most bytes of a value in a selector, and
	// MaxSelectorLabels the most labels: what package provider allows a spec.
	MaxSelector       = 256
	MaxSelectorLabels = 64
)

// Request asks for leases. The zero value of every field but Holder works.
type Request struct {
	// Holder is who asks: the name of a token.
	Holder string
	// Fleets are those that the holder may use. Empty means all.
	Fleets []string
	// Target is the host, host:port or URL that the leases are for. It is
	// normalised by [NormalizeTarget].
	Target string
	// Selector narrows the choice.
	Selector Selector
	// Session asks for the proxy that the holder's session of that key had
	// before. It goes with a Count of one.
	Session string
	// TTL is how long the leases last. Zero is [Options.DefaultTTL].
	TTL time.Duration
	// Count is how many leases, each on another proxy. Zero is one. The Pool
	// hands out fewer when fewer proxies are eligible.
	Count int
}

// Selector narrows the choice of proxies: each field that is set must be equal.
type Selector struct {
	// Fleet, Provider and Location are compared with the proxy's.
	Fleet, Provider, Location string
	// Labels must all be there with these values; the proxy may have more.
	Labels map[string]string
}

// Match reports whether the selector takes the proxy.
func (s Selector) Match(p *Proxy) bool {
	for _, f := range [...]struct{ want, have string }{
		{s.Fleet, p.Fleet}, {s.Provider, p.Provider}, {s.Location, p.Location},
	} {
		if f.want != "" && f.want != f.have {
			return false
		}
	}
	for key, want := range s.Labels {
		if have, ok := p.Labels[key]; !ok || have != want {
			return false
		}
	}
	return true
}

func (s Selector) validate() error {
	for _, f := range [...]struct{ field, value string }{
		{"selector.fleet", s.Fleet}, {"selector.provider", s.Provider}, {"selector.location", s.Location},
	} {
		if err := checkText(f.field, f.value, MaxSelector); err != nil {
			return err
		}
	}
	if len(s.Labels) > MaxSelectorLabels {
		return fieldError("selector.labels", "has %d entries; at most %d are allowed", len(s.Labels), MaxSelectorLabels)
	}
	for key, value := range s.Labels {
		if err := checkText("selector.labels", key, MaxSelector); err != nil {
			return err
		}
		if err := checkText("selector.labels", value, MaxSelector); err != nil {
			return err
		}
	}
	return nil
}

// key writes the selector and the fleets in one form, so that requests for the
// same proxies share a view. Quoting keeps the parts apart.
func (r Request) key() string {
	labels := make([]string, 0, len(r.Selector.Labels))
	for key, value := range r.Selector.Labels {
		labels = append(labels, strconv.Quote(key)+"="+strconv.Quote(value))
	}
	slices.Sort(labels)
	parts := []string{strconv.Quote(r.Selector.Fleet), strconv.Quote(r.Selector.Provider), strconv.Quote(r.Selector.Location)}
	parts = append(parts, labels...)
	for _, f := range slices.Sorted(slices.Values(r.Fleets)) {
		parts = append(parts, strconv.Quote(f))
	}
	return strings.Join(parts, " ")
}

// takes reports whether the request may get the proxy, whatever its health.
func (r Request) takes(p *Proxy) bool {
	return (len(r.Fleets) == 0 || slices.Contains(r.Fleets, p.Fleet)) && r.Selector.Match(p)
}

// complete checks the request and fills in what it leaves out.
func (r Request) complete(o Options) (Request, error) {
	target, err := NormalizeTarget(r.Target)
	if err != nil {
		return Request{}, err
	}
	r.Target = target
	r.TTL = cmp.Or(r.TTL, o.DefaultTTL)
	r.Count = cmp.Or(r.Count, 1)
	switch {
	case r.TTL < o.MinTTL || r.TTL > o.MaxTTL:
		return Request{}, fieldError("ttl", "%s is outside %s to %s", r.TTL, o.MinTTL, o.MaxTTL)
	case r.Count < 1 || r.Count > MaxCount:
		return Request{}, fieldError("count", "%d is outside 1 to %d", r.Count, MaxCount)
	case r.Session != "" && r.Count > 1:
		return Request{}, fieldError("count", "is %d together with session; a session has one proxy", r.Count)
	}
	if err := checkText("session", r.Session, MaxSession); err != nil {
		return Request{}, err
	}
	return r, r.Selector.validate()
}

func checkText(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return fieldError(field, "has %d bytes; at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return fieldError(field, "is not valid UTF-8")
	}
	return nil
}
