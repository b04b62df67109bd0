package lease

import (
	"cmp"
	"crypto/rand"
	"encoding/hex"
	"maps"
	"slices"
	"sync"
	"time"
)

// Pool hands out leases on the proxies that it was last told of. All methods
// are safe for concurrent use. Leases are in memory: a new Pool knows none.
type Pool struct {
	opts Options

	mu sync.Mutex
	// order has the entries by Key; entries has them by ID.
	order   []*entry
	entries map[string]*entry
	// views has a view for each selector asked for since the last Replace.
	views map[string]*view
	// leases has those in flight by ID, expiries by time.
	leases   map[string]*record
	expiries expiries
	ended    graveyard
	// sessions are by holder.
	sessions map[string]*sessions
	// handed counts the leases handed out and asked the requests.
	handed, asked uint64
	counts        counts
}

// NewPool returns a Pool without proxies.
func NewPool(opts Options) *Pool {
	return &Pool{
		opts:     opts.withDefaults(),
		entries:  make(map[string]*entry),
		views:    make(map[string]*view),
		leases:   make(map[string]*record),
		sessions: make(map[string]*sessions),
		counts:   newCounts(),
	}
}

// Replace tells the Pool all the proxies that there are, at once: readers see
// the view before or the view after. A proxy with the ID of one that was there
// keeps its leases and its place in the rotation, whatever else changed. The
// leases on those that are not in the view any more end as [Gone]. A caller
// whose list of proxies is incomplete does not leave out those that it could
// not see. Of two with one ID the first by [Key] counts.
//
// The Pool keeps nothing of the slice; it does keep the maps in it, which the
// caller does not change afterwards.
func (p *Pool) Replace(proxies []Proxy) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.tick()
	sorted := slices.SortedStableFunc(slices.Values(proxies), func(a, b Proxy) int { return a.Key().Compare(b.Key()) })
	entries := make(map[string]*entry, len(sorted))
	order := make([]*entry, 0, len(sorted))
	for _, proxy := range sorted {
		if _, twice := entries[proxy.ID]; twice {
			continue
		}
		e, ok := p.entries[proxy.ID]
		if !ok {
			e = &entry{leases: make(map[string]*record)}
		}
		e.Proxy, e.n = proxy, len(order)
		entries[proxy.ID] = e
		order = append(order, e)
	}
	previous := p.entries
	p.entries, p.order = entries, order
	clear(p.views)
	for id, e := range previous {
		if _, there := entries[id]; there {
			continue
		}
		for _, r := range e.leases {
			p.end(r, Gone, now)
		}
	}
}

// InUse returns how many leases are in flight on the proxy of that ID. A
// caller that waits for zero before it deletes the proxy has said Draining in
// a Replace before, so that no lease follows.
func (p *Pool) InUse(id string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	if e, ok := p.entries[id]; ok {
		return len(e.leases)
	}
	return 0
}

// Lease hands out up to the requested number of leases, each on another proxy,
// and at least one. Its error is a [*FieldError] for a request that cannot be
// used, or a [*DeniedError] when no proxy is eligible.
func (p *Pool) Lease(r Request) ([]Lease, error) {
	r, err := r.complete(p.opts)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.tick()
	if e := p.sessionEntry(r); e != nil {
		return []Lease{p.grant(e, r, now)}, nil
	}
	v := p.view(r)
	taken := v.take(r.Count, p.opts.Cap)
	if len(taken) == 0 {
		denied := p.denied(v, now)
		p.counts.denied[denied.Reason]++
		return nil, denied
	}
	leases := make([]Lease, 0, len(taken))
	for _, e := range taken {
		leases = append(leases, p.grant(e, r, now))
		v.put(e)
	}
	return leases, nil
}

// Get returns a lease in flight. An empty holder reads anybody's. Its error is
// [ErrUnknown], or an [*EndedError] that says how the lease ended.
func (p *Pool) Get(id, holder string) (Lease, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	if r, ok := p.leases[id]; ok && (holder == "" || holder == r.Holder) {
		return r.Lease, nil
	}
	if e, ok := p.ended.byID[id]; ok && (holder == "" || holder == e.holder) {
		return Lease{}, &e.EndedError
	}
	return Lease{}, ErrUnknown
}

// Release ends a lease of the holder; an empty holder ends anybody's. A lease
// that has ended already is nil again, for as long as it is remembered, so
// that a caller may repeat it. Otherwise the error is [ErrUnknown].
func (p *Pool) Release(id, holder string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.tick()
	if r, ok := p.leases[id]; ok && (holder == "" || holder == r.Holder) {
		p.end(r, Released, now)
		return nil
	}
	if e, ok := p.ended.byID[id]; ok && (holder == "" || holder == e.holder) {
		return nil
	}
	return ErrUnknown
}

// tick ends and forgets what is due, and returns the time. The lock is held.
func (p *Pool) tick() time.Time {
	now := p.opts.Now()
	for len(p.expiries) > 0 && !p.expiries[0].Expires.After(now) {
		p.end(p.expiries[0], Expired, now)
	}
	p.ended.forget(now.Add(-p.opts.Remember))
	for holder, s := range p.sessions {
		if s.forget(now.Add(-p.opts.SessionIdle)); s.used.Len() == 0 {
			delete(p.sessions, holder)
		}
	}
	return now
}

// sessionEntry returns the proxy of the request's session, when the request
// may have it. The lock is held.
func (p *Pool) sessionEntry(r Request) *entry {
	s, ok := p.sessions[r.Holder]
	if !ok || r.Session == "" {
		return nil
	}
	e, ok := p.entries[s.proxy(r.Session)]
	if !ok || !e.eligible() || !r.takes(&e.Proxy) || len(e.leases) >= p.opts.Cap {
		return nil
	}
	return e
}

// view returns the heap for the request's selector. The lock is held.
func (p *Pool) view(r Request) *view {
	key := r.key()
	v, ok := p.views[key]
	if !ok {
		if len(p.views) >= maxViews {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(p.views)), func(a, b string) int {
				return cmp.Compare(p.views[a].asked, p.views[b].asked)
			})
			delete(p.views, oldest)
		}
		v = newView(p.order, r.takes)
		p.views[key] = v
	}
	p.asked++
	v.asked = p.asked
	return v
}

// grant hands out a lease on e. The lock is held.
func (p *Pool) grant(e *entry, r Request, now time.Time) Lease {
	rec := &record{entry: e, Lease: Lease{
		ID: newID(), Holder: r.Holder, Target: r.Target, Session: r.Session,
		Proxy: e.Proxy, Granted: now, Expires: now.Add(r.TTL),
	}}
	p.handed++
	e.used = p.handed
	e.leases[rec.ID] = rec
	p.leases[rec.ID] = rec
	p.expiries.add(rec)
	p.changed(e)
	if r.Session != "" {
		if p.sessions[r.Holder] == nil {
			p.sessions[r.Holder] = newSessions()
		}
		p.sessions[r.Holder].bind(r.Session, e.ID, now)
	}
	return rec.Lease
}

// end takes a lease back. The lock is held.
func (p *Pool) end(r *record, how End, now time.Time) {
	delete(p.leases, r.ID)
	delete(r.entry.leases, r.ID)
	p.expiries.remove(r)
	p.changed(r.entry)
	p.counts.ended[how]++
	e := &ended{id: r.ID, holder: r.Holder, EndedError: EndedError{End: how, At: now}}
	if how == Gone {
		e.Reason = r.entry.Reason
	}
	p.ended.add(e)
}

// changed restores the order of the views after the leases of e changed.
func (p *Pool) changed(e *entry) {
	for _, v := range p.views {
		v.fix(e)
	}
}

// denied says why the view hands nothing out. The lock is held.
func (p *Pool) denied(v *view, now time.Time) *DeniedError {
	d := &DeniedError{RetryAfter: p.opts.RetryAfter}
	switch {
	case len(p.order) == 0:
		d.Reason = NoProxies
	case !v.matched:
		d.Reason = NoneMatch
	case len(v.heap) == 0:
		d.Reason = NoneWorking
	default:
		d.Reason, d.RetryAfter = AtCap, v.firstExpiry().Sub(now)
	}
	return d
}

// newID returns 128 random bits.
func newID() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand says
	return hex.EncodeToString(b[:])
}
