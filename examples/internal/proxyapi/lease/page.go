package lease

import "sort"

// Listed is a proxy with what is in flight on it.
type Listed struct {
	Proxy
	// Leases is how many are in flight.
	Leases int
}

// Page returns up to limit proxies behind the key that match, in the order of
// [Key], and whether more follow. The zero Key begins at the first. A reader
// that goes on with the last Key of a page sees every proxy once that is there
// all the while, whatever comes and goes meanwhile. The Pool calls match with
// its lock held: it is quick, keeps nothing and does not call the Pool.
func (p *Pool) Page(after Key, limit int, match func(*Proxy) bool) (page []Listed, more bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	from := 0
	if after != (Key{}) {
		from = sort.Search(len(p.order), func(i int) bool { return p.order[i].Key().Compare(after) > 0 })
	}
	for _, e := range p.order[from:] {
		switch {
		case !match(&e.Proxy):
		case len(page) == limit:
			return page, true
		default:
			page = append(page, Listed{Proxy: e.Proxy, Leases: len(e.leases)})
		}
	}
	return page, false
}
