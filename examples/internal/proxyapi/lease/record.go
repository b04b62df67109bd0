package lease

import (
	"container/heap"
	"time"
)

// record is a lease in flight.
type record struct {
	Lease
	entry *entry
	// at is its place in the expiries.
	at int
}

// expiries is a heap of the leases in flight, the first to expire on top.
type expiries []*record

// Len, Less, Swap, Push and Pop are for container/heap.
func (h expiries) Len() int { return len(h) }

// Less puts the earlier expiry first.
func (h expiries) Less(i, j int) bool { return h[i].Expires.Before(h[j].Expires) }

// Swap keeps record.at.
func (h expiries) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].at, h[j].at = i, j
}

// Push keeps record.at.
func (h *expiries) Push(x any) {
	r := x.(*record)
	r.at = len(*h)
	*h = append(*h, r)
}

// Pop drops the reference.
func (h *expiries) Pop() any {
	last := len(*h) - 1
	r := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return r
}

func (h *expiries) add(r *record)    { heap.Push(h, r) }
func (h *expiries) remove(r *record) { heap.Remove(h, r.at) }

// ended is what is remembered of a lease that has ended.
type ended struct {
	id, holder string
	EndedError
}

// graveyard remembers ended leases for a time, at most maxEnded of them.
type graveyard struct {
	byID  map[string]*ended
	queue []*ended
}

func (g *graveyard) add(e *ended) {
	if g.byID == nil {
		g.byID = make(map[string]*ended)
	}
	g.byID[e.id] = e
	g.queue = append(g.queue, e)
	if len(g.queue) > maxEnded {
		g.drop()
	}
}

// forget drops what ended before the time.
func (g *graveyard) forget(before time.Time) {
	for len(g.queue) > 0 && g.queue[0].At.Before(before) {
		g.drop()
	}
}

// drop forgets the oldest.
func (g *graveyard) drop() {
	delete(g.byID, g.queue[0].id)
	g.queue[0] = nil
	g.queue = g.queue[1:]
}
