package lease

import (
	"container/heap"
	"time"
)

// maxViews is how many selectors have a heap at a time. Each costs a step of
// every lease that comes or goes; a selector without one costs a pass over all
// proxies for its next lease.
const maxViews = 32

// entry is a proxy with what is in flight on it.
type entry struct {
	Proxy
	// n is its place in Pool.order.
	n int
	// leases are those in flight, by ID.
	leases map[string]*record
	// used is the number of the last lease handed out on it; zero is never.
	used uint64
}

// view is a heap of the eligible proxies that one selector takes, the next to
// hand out on top. Who is in it changes only when the Pool's proxies do, and
// then the Pool drops it; the order is kept by fix.
type view struct {
	heap []*entry
	// pos has for each entry, by its n, the place in heap, or -1.
	pos []int
	// matched says that the selector takes some proxy, eligible or not.
	matched bool
	// asked is the number of the last request that used it.
	asked uint64
	// first is when the first lease on its proxies expires, known only while
	// all are at the cap; zero is not known.
	first time.Time
}

// newView collects what takes says out of all entries.
func newView(order []*entry, takes func(*Proxy) bool) *view {
	v := &view{pos: make([]int, len(order))}
	for i, e := range order {
		v.pos[i] = -1
		if !takes(&e.Proxy) {
			continue
		}
		v.matched = true
		if e.eligible() {
			v.pos[i] = len(v.heap)
			v.heap = append(v.heap, e)
		}
	}
	heap.Init(v)
	return v
}

// fix restores the order after the leases of e changed.
func (v *view) fix(e *entry) {
	if i := v.pos[e.n]; i >= 0 {
		heap.Fix(v, i)
		v.first = time.Time{}
	}
}

// firstExpiry returns when the first lease on its proxies expires. It is kept
// until one of them changes, so that a client that asks again and again while
// all are at the cap costs one pass and not many.
func (v *view) firstExpiry() time.Time {
	if !v.first.IsZero() {
		return v.first
	}
	for _, e := range v.heap {
		for _, r := range e.leases {
			if v.first.IsZero() || r.Expires.Before(v.first) {
				v.first = r.Expires
			}
		}
	}
	return v.first
}

// take removes up to count proxies below the limit, the best first. The caller
// puts them back with put.
func (v *view) take(count, limit int) []*entry {
	var taken []*entry
	for len(taken) < count && len(v.heap) > 0 && len(v.heap[0].leases) < limit {
		taken = append(taken, heap.Pop(v).(*entry))
	}
	return taken
}

// put brings back what take removed.
func (v *view) put(e *entry) { heap.Push(v, e) }

// Len, Less, Swap, Push and Pop are for container/heap.
func (v *view) Len() int { return len(v.heap) }

// Less is the selection rule.
func (v *view) Less(i, j int) bool {
	a, b := v.heap[i], v.heap[j]
	switch {
	case len(a.leases) != len(b.leases):
		return len(a.leases) < len(b.leases)
	case a.used != b.used:
		return a.used < b.used
	}
	return a.n < b.n
}

// Swap keeps pos.
func (v *view) Swap(i, j int) {
	v.heap[i], v.heap[j] = v.heap[j], v.heap[i]
	v.pos[v.heap[i].n], v.pos[v.heap[j].n] = i, j
}

// Push keeps pos.
func (v *view) Push(x any) {
	e := x.(*entry)
	v.pos[e.n] = len(v.heap)
	v.heap = append(v.heap, e)
}

// Pop keeps pos.
func (v *view) Pop() any {
	last := len(v.heap) - 1
	e := v.heap[last]
	v.heap[last] = nil
	v.heap = v.heap[:last]
	v.pos[e.n] = -1
	return e
}
