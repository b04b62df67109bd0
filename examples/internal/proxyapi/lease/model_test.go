package lease

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"
)

// model is the selection rule written down plainly: every step looks at
// everything. The Pool has to agree with it at each step.
type model struct {
	cap      int
	proxies  []Proxy
	used     map[string]int
	leases   map[string]modelLease
	sessions map[string]string
	handed   int
}

type modelLease struct {
	n       int
	proxy   string
	expires time.Time
}

func (m *model) inFlight(id string) (n int) {
	for _, l := range m.leases {
		if l.proxy == id {
			n++
		}
	}
	return n
}

func (m *model) expire(now time.Time) {
	for id, l := range m.leases {
		if !l.expires.After(now) {
			delete(m.leases, id)
		}
	}
}

func (m *model) replace(view []Proxy) {
	m.proxies = slices.SortedFunc(slices.Values(view), func(a, b Proxy) int { return a.Key().Compare(b.Key()) })
	there := make(map[string]bool)
	for _, p := range view {
		there[p.ID] = true
	}
	for id, l := range m.leases {
		if !there[l.proxy] {
			delete(m.leases, id)
		}
	}
	for id := range m.used {
		if !there[id] {
			delete(m.used, id)
		}
	}
}

// choose returns the IDs of the proxies that the request gets.
func (m *model) choose(r Request) []string {
	var free []Proxy
	for _, p := range m.proxies {
		if p.Working && !p.Draining && p.Endpoint != "" && r.Selector.Match(&p) && m.inFlight(p.ID) < m.cap {
			free = append(free, p)
		}
	}
	bound := func(p Proxy) bool { return r.Session != "" && p.ID == m.sessions[r.Session] }
	if i := slices.IndexFunc(free, bound); i >= 0 {
		return []string{free[i].ID}
	}
	slices.SortStableFunc(free, func(a, b Proxy) int {
		if d := m.inFlight(a.ID) - m.inFlight(b.ID); d != 0 {
			return d
		}
		return m.used[a.ID] - m.used[b.ID]
	})
	var ids []string
	for _, p := range free[:min(len(free), max(r.Count, 1))] {
		ids = append(ids, p.ID)
	}
	return ids
}

func (m *model) grant(l Lease) {
	m.handed++
	m.used[l.Proxy.ID] = m.handed
	m.leases[l.ID] = modelLease{n: m.handed, proxy: l.Proxy.ID, expires: l.Expires}
	if l.Session != "" {
		m.sessions[l.Session] = l.Proxy.ID
	}
}

// script runs random steps against a Pool and its model.
type script struct {
	t      *testing.T
	rand   *rand.Rand
	clock  *clock
	pool   *Pool
	model  *model
	denied map[Reason]int
	// granted and sticky count what the script reached.
	granted, sticky int
}

// view is a random view of up to 12 proxies out of 16.
func (s *script) view() []Proxy {
	var view []Proxy
	for i := range 16 {
		if s.rand.IntN(4) == 0 {
			continue
		}
		view = append(view, Proxy{
			ID: fmt.Sprint("id-", i), Name: fmt.Sprint("n-", i), Fleet: fmt.Sprint("f", i%3), Location: fmt.Sprint("l", i%2),
			Endpoint: "192.0.2.1:1", Working: s.rand.IntN(5) > 0, Draining: s.rand.IntN(8) == 0,
			Labels: map[string]string{"n": fmt.Sprint(i % 8)},
		})
	}
	if s.rand.IntN(20) == 0 {
		return nil
	}
	return view
}

// request is a random one, of more selectors than there are views.
func (s *script) request() Request {
	r := Request{Holder: "a", TTL: time.Duration(1+s.rand.IntN(120)) * time.Second}
	if s.rand.IntN(2) == 0 {
		r.Selector.Fleet = fmt.Sprint("f", s.rand.IntN(4))
	}
	if s.rand.IntN(3) == 0 {
		r.Selector.Location = fmt.Sprint("l", s.rand.IntN(2))
	}
	if s.rand.IntN(4) == 0 {
		r.Selector.Labels = map[string]string{"n": fmt.Sprint(s.rand.IntN(8))}
	}
	switch s.rand.IntN(4) {
	case 0:
		r.Session = fmt.Sprint("s", s.rand.IntN(5))
	case 1:
		r.Count = 1 + s.rand.IntN(5)
	}
	return r
}

func (s *script) lease() {
	r := s.request()
	want := s.model.choose(r)
	bound := r.Session != "" && len(want) == 1 && s.model.sessions[r.Session] == want[0]
	leases, err := s.pool.Lease(r)
	if denied, ok := errors.AsType[*DeniedError](err); ok {
		s.denied[denied.Reason]++
	} else if err != nil {
		s.t.Fatalf("Lease(%+v): %v", r, err)
	}
	var got []string
	for _, l := range leases {
		got = append(got, l.Proxy.ID)
		s.model.grant(l)
	}
	if !slices.Equal(got, want) {
		s.t.Fatalf("Lease(%+v) went to %v (%v); the rule says %v", r, got, err, want)
	}
	s.granted += len(got)
	if bound {
		s.sticky++
	}
}

func (s *script) release() {
	if len(s.model.leases) == 0 {
		return
	}
	// IDs are random; in the order of handing out, a seed repeats its script.
	ids := slices.SortedFunc(maps.Keys(s.model.leases), func(a, b string) int { return s.model.leases[a].n - s.model.leases[b].n })
	id := ids[s.rand.IntN(len(ids))]
	if err := s.pool.Release(id, "a"); err != nil {
		s.t.Fatalf("Release: %v", err)
	}
	delete(s.model.leases, id)
}

func (s *script) step() {
	switch n := s.rand.IntN(100); {
	case n < 60:
		s.lease()
	case n < 85:
		s.release()
	case n < 95:
		s.clock.advance(time.Duration(s.rand.IntN(60)) * time.Second)
	default:
		view := s.view()
		s.pool.Replace(view)
		s.model.replace(view)
	}
	s.model.expire(s.clock.now)
	for _, p := range s.model.proxies {
		if got, want := s.pool.InUse(p.ID), s.model.inFlight(p.ID); got != want {
			s.t.Fatalf("InUse(%s) = %d; want %d", p.ID, got, want)
		}
	}
}

func TestPoolAgreesWithTheRule(t *testing.T) {
	denied, granted, sticky := make(map[Reason]int), 0, 0
	for seed := range uint64(20) {
		c := newClock()
		s := &script{
			t: t, rand: rand.New(rand.NewPCG(seed, 1)), clock: c, denied: denied,
			pool: NewPool(Options{Cap: 3, Now: c.Now}),
			model: &model{
				cap: 3, used: make(map[string]int), leases: make(map[string]modelLease), sessions: make(map[string]string),
			},
		}
		for range 1000 {
			s.step()
		}
		stats := s.pool.Stats()
		var ended uint64
		for _, n := range stats.Ended {
			ended += n
		}
		if stats.Granted != ended+uint64(stats.InFlight) || stats.InFlight != len(s.model.leases) || stats.Granted != uint64(s.granted) {
			t.Errorf("seed %d: the counts do not add up: %+v", seed, stats)
		}
		if len(s.pool.expiries) != stats.InFlight || len(s.pool.views) > maxViews {
			t.Errorf("seed %d: %d expiries for %d leases, %d views", seed, len(s.pool.expiries), stats.InFlight, len(s.pool.views))
		}
		granted += s.granted
		sticky += s.sticky
	}
	// A script that reaches little proves little.
	for _, r := range Reasons() {
		if denied[r] < 20 {
			t.Errorf("the scripts were denied with %s only %d times", r, denied[r])
		}
	}
	if granted < 5000 || sticky < 300 {
		t.Errorf("the scripts got %d leases, %d of them by session; want more", granted, sticky)
	}
}
