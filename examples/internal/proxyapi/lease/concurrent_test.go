package lease

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"
)

// spread returns the least and the most leases of the pool's proxies, at one
// moment.
func spread(p *Pool) (least, most int) {
	page, _ := p.Page(Key{}, 1<<20, func(*Proxy) bool { return true })
	least = 1 << 20
	for _, l := range page {
		least, most = min(least, l.Leases), max(most, l.Leases)
	}
	return least, most
}

// Whatever number of callers take leases at the same time, at no moment is one
// proxy two ahead of another; with one ahead of zero, that is: none is busy
// twice while another idles.
func TestConcurrentLeasesSpreadEvenly(t *testing.T) {
	for _, tt := range []struct{ callers, proxies, each int }{
		{8, 1, 50}, {8, 3, 50}, {16, 7, 40}, {4, 100, 60}, {32, 10, 11},
	} {
		t.Run(fmt.Sprintf("%d callers, %d proxies", tt.callers, tt.proxies), func(t *testing.T) {
			p := NewPool(Options{Cap: tt.callers * tt.each})
			p.Replace(working("web", tt.proxies))
			var wg sync.WaitGroup
			for i := range tt.callers {
				// Every caller has a view of its own, so that they disturb each
				// other's order.
				r := Request{Holder: fmt.Sprint(i), Fleets: []string{"web", fmt.Sprint(i % 5)}}
				wg.Go(func() {
					for range tt.each {
						if _, err := p.Lease(r); err != nil {
							t.Errorf("Lease: %v", err)
							return
						}
						if least, most := spread(p); most-least > 1 {
							t.Errorf("a proxy has %d leases while another has %d", most, least)
							return
						}
					}
				})
			}
			wg.Wait()
			total := tt.callers * tt.each
			least, most := spread(p)
			if least != total/tt.proxies || most != (total+tt.proxies-1)/tt.proxies {
				t.Errorf("%d leases on %d proxies: %d to %d each", total, tt.proxies, least, most)
			}
		})
	}
}

func TestConcurrentLeasesKeepTheCap(t *testing.T) {
	p := NewPool(Options{Cap: 3})
	p.Replace(working("web", 5))
	var wg sync.WaitGroup
	granted := make([]int, 16)
	for i := range granted {
		wg.Go(func() {
			for range 10 {
				leases, err := p.Lease(Request{Holder: "a"})
				if denied, ok := errors.AsType[*DeniedError](err); err != nil && (!ok || denied.Reason != AtCap) {
					t.Errorf("Lease: %v", err)
				}
				granted[i] += len(leases)
			}
		})
	}
	wg.Wait()
	total := 0
	for _, n := range granted {
		total += n
	}
	if least, most := spread(p); total != 15 || least != 3 || most != 3 {
		t.Errorf("%d leases, %d to %d on each of 5 proxies with a cap of 3", total, least, most)
	}
}

// Everything at once, for the race detector; afterwards the counts add up.
func TestConcurrentUse(t *testing.T) {
	p := NewPool(Options{Cap: 4, MinTTL: 1})
	p.Replace(working("web", 20))
	done := make(chan struct{})
	var fleet, callers sync.WaitGroup
	fleet.Go(func() {
		r := rand.New(rand.NewPCG(1, 2))
		for {
			select {
			case <-done:
				return
			default:
			}
			view := working("web", 10+r.IntN(10))
			view[r.IntN(len(view))].Working = false
			p.Replace(view)
			p.Stats()
			p.Page(Key{Fleet: "web"}, 5, func(x *Proxy) bool { return x.Working })
		}
	})
	for i := range 8 {
		callers.Go(func() {
			r := rand.New(rand.NewPCG(uint64(i), 3))
			holder := fmt.Sprint(i % 3)
			for range 300 {
				req := Request{Holder: holder, Count: 1 + r.IntN(3), TTL: time.Duration(1 + r.IntN(int(time.Minute)))}
				if req.Count == 1 {
					req.Session = fmt.Sprint(r.IntN(4))
				}
				leases, err := p.Lease(req)
				if _, ok := errors.AsType[*DeniedError](err); err != nil && !ok {
					t.Errorf("Lease: %v", err)
				}
				for _, l := range leases {
					if r.IntN(2) == 0 {
						continue
					}
					if err := p.Release(l.ID, holder); err != nil {
						t.Errorf("Release: %v", err)
					}
				}
			}
		})
	}
	callers.Wait()
	close(done)
	fleet.Wait()
	s := p.Stats()
	page, _ := p.Page(Key{}, 1<<20, func(*Proxy) bool { return true })
	onProxies := 0
	for _, l := range page {
		onProxies += l.Leases
	}
	if total := s.Ended[Released] + s.Ended[Expired] + s.Ended[Gone] + uint64(s.InFlight); total != s.Granted || onProxies != s.InFlight {
		t.Errorf("the counts do not add up: %+v, %d on proxies", s, onProxies)
	}
	if s.Granted == 0 || s.Ended[Gone] == 0 {
		t.Errorf("the test reached little: %+v", s)
	}
}
