package lease

import (
	"fmt"
	"testing"
	"time"
)

// benchPool has 10,000 proxies in ten fleets, and a thousand labels.
func benchPool(limit int) *Pool {
	p := NewPool(Options{Cap: limit})
	view := working("web", 10_000)
	for i := range view {
		view[i].Fleet = fmt.Sprint("fleet-", i%10)
		view[i].Labels = map[string]string{"n": fmt.Sprint(i % 1000)}
	}
	p.Replace(view)
	return p
}

// leaseAndRelease keeps some leases in flight, so that the order has work.
func leaseAndRelease(b *testing.B, p *Pool, request func(i int) Request) {
	b.Helper()
	b.ReportAllocs()
	var held [256]string
	i := 0
	for b.Loop() {
		leases, err := p.Lease(request(i))
		if err != nil {
			b.Fatal(err)
		}
		slot := &held[i%len(held)]
		if *slot != "" {
			if err := p.Release(*slot, ""); err != nil {
				b.Fatal(err)
			}
		}
		*slot = leases[0].ID
		i++
	}
}

// A lease and a release on 10,000 proxies, with as many selectors in use.
func BenchmarkLease(b *testing.B) {
	for _, selectors := range []int{1, 10, maxViews, 10 * maxViews} {
		b.Run(fmt.Sprint("selectors=", selectors), func(b *testing.B) {
			p := benchPool(1000)
			leaseAndRelease(b, p, func(i int) Request {
				if selectors == 1 {
					return Request{Holder: "a"}
				}
				return Request{Holder: "a", Selector: Selector{Labels: map[string]string{"n": fmt.Sprint(i % selectors)}}}
			})
		})
	}
	b.Run("session", func(b *testing.B) {
		p := benchPool(1000)
		leaseAndRelease(b, p, func(i int) Request { return Request{Holder: "a", Session: fmt.Sprint(i % 5000)} })
	})
}

// A hundred leases of one request.
func BenchmarkLeaseCount(b *testing.B) {
	p := benchPool(1 << 30)
	for b.Loop() {
		leases, err := p.Lease(Request{Holder: "a", Count: 100})
		if err != nil {
			b.Fatal(err)
		}
		for _, l := range leases {
			if err := p.Release(l.ID, ""); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// A client that goes on asking while 10,000 proxies are at the cap.
func BenchmarkDenied(b *testing.B) {
	p := benchPool(1)
	for range 100 {
		if _, err := p.Lease(Request{Holder: "a", Count: 100, TTL: time.Hour}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := p.Lease(Request{Holder: "a"}); err == nil {
			b.Fatal("a lease over the cap")
		}
	}
}

// A new view of 10,000 proxies and the first lease after it.
func BenchmarkReplace(b *testing.B) {
	p := benchPool(1000)
	page, _ := p.Page(Key{}, 10_000, func(*Proxy) bool { return true })
	view := make([]Proxy, 0, len(page))
	for _, l := range page {
		view = append(view, l.Proxy)
	}
	b.ReportAllocs()
	for b.Loop() {
		p.Replace(view)
		if l, err := p.Lease(Request{Holder: "a"}); err != nil || p.Release(l[0].ID, "") != nil {
			b.Fatal(err)
		}
	}
}
