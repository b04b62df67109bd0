package lease

import "maps"

// counts are what the Pool has counted since it was made.
type counts struct {
	denied map[Reason]uint64
	ended  map[End]uint64
}

// newCounts has a zero for every reason and end, so that metrics show them
// from the start.
func newCounts() counts {
	c := counts{denied: make(map[Reason]uint64), ended: make(map[End]uint64)}
	for _, r := range Reasons() {
		c.denied[r] = 0
	}
	for _, e := range Ends() {
		c.ended[e] = 0
	}
	return c
}

// Stats is what the Pool has now and has counted since it was made. The maps
// are the caller's.
type Stats struct {
	// Granted counts the leases handed out.
	Granted uint64
	// Denied counts the requests that got none, by reason.
	Denied map[Reason]uint64
	// Ended counts the leases that ended, by how. Granted is the sum of Ended
	// and InFlight.
	Ended map[End]uint64
	// InFlight is how many leases there are.
	InFlight int
	// Fleets has the proxies of each fleet that has some.
	Fleets map[string]FleetStats
}

// FleetStats counts the proxies of one fleet.
type FleetStats struct {
	// Working and NotWorking add up to all of them.
	Working, NotWorking int
	// Draining are those that are to go; they are among the others too.
	Draining int
}

// Stats returns the counts.
func (p *Pool) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.tick()
	s := Stats{
		Granted:  p.handed,
		Denied:   maps.Clone(p.counts.denied),
		Ended:    maps.Clone(p.counts.ended),
		InFlight: len(p.leases),
		Fleets:   make(map[string]FleetStats),
	}
	for _, e := range p.order {
		f := s.Fleets[e.Fleet]
		if e.Working {
			f.Working++
		} else {
			f.NotWorking++
		}
		if e.Draining {
			f.Draining++
		}
		s.Fleets[e.Fleet] = f
	}
	return s
}
