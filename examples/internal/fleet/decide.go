package fleet

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// Observed is all that a decision depends on. Decide changes nothing of it.
type Observed struct {
	// Now is the time.
	Now time.Time
	// Fleets are those that have, had or shall have members at the provider.
	Fleets []Fleet
	// Retired says that the provider is being emptied: whatever it has goes.
	Retired bool
	// Policy has the limits.
	Policy Policy
	// Memory is what is known.
	Memory *Memory
	// Leases counts the leases in flight by Ref.ID. They are counted after
	// the drains of earlier decisions are in force.
	Leases map[string]int
}

// Decide returns what to do now. Equal arguments give equal plans. It plans
// nothing for a name that has a call under way, and nothing at all before the
// first list.
func Decide(o Observed) Plan {
	d := &decision{Observed: o}
	d.Policy = o.Policy.withDefaults()
	if o.Memory.Listing == NotListed {
		return d.plan
	}
	d.group()
	candidates := d.members()
	d.replace(candidates)
	d.strays()
	d.finish()
	return d.plan
}

// decision is one run of Decide.
type decision struct {
	Observed
	plan Plan
	// byName has the instances of each name, earliest first.
	byName map[string][]*Member
	fleets []*fleetView // in order of their names
}

// fleetView is one fleet while it is decided about.
type fleetView struct {
	Fleet
	names  []string // of the instances known, in order of n, wanted or not
	slots  []slot   // the wanted members
	status Status
}

// slot is one wanted member.
type slot struct {
	name string
	// member is the instance that counts; nil when none is known.
	member *Member
	// ready says that it serves: it works and is not on its way out.
	ready bool
	// making says that it is coming up or being made again, by the current spec.
	making bool
}

// group sorts the instances by name and the names by fleet.
func (d *decision) group() {
	d.byName = map[string][]*Member{}
	for _, m := range d.Memory.Members {
		d.byName[m.Name] = append(d.byName[m.Name], m)
	}
	fleets := map[string]*fleetView{}
	for _, f := range d.Fleets {
		v := &fleetView{Fleet: f, status: Status{Fleet: f.Name, Replicas: f.Replicas}}
		fleets[f.Name] = v
		d.fleets = append(d.fleets, v)
	}
	slices.SortFunc(d.fleets, func(a, b *fleetView) int { return cmp.Compare(a.Name, b.Name) })
	for name, members := range d.byName {
		slices.SortFunc(members, earlier)
		fleet, _, ok := ParseMember(name)
		if v := fleets[fleet]; ok && v != nil {
			v.names = append(v.names, name)
			v.status.Present += len(members)
		}
	}
	for _, v := range d.fleets {
		slices.SortFunc(v.names, byNumber)
	}
}

// earlier orders instances of one name as the contract does.
func earlier(a, b *Member) int {
	return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID))
}

func byNumber(a, b string) int {
	_, n, _ := ParseMember(a)
	_, m, _ := ParseMember(b)
	return cmp.Compare(n, m)
}

// members decides about every name of every fleet but for replacements, and
// returns the members that may be replaced.
func (d *decision) members() []candidate {
	var candidates []candidate
	for _, v := range d.fleets {
		for _, name := range v.names {
			if _, n, _ := ParseMember(name); n >= v.Replicas {
				d.surplus(v, name)
			}
		}
		for n := range v.Replicas {
			v.slots = append(v.slots, d.wanted(v, MemberName(v.Name, n)))
		}
		d.create(v)
		candidates = append(candidates, d.assess(v)...)
	}
	return candidates
}

// surplus lets every instance of a name go.
func (d *decision) surplus(v *fleetView, name string) {
	why, detail := Surplus, fmt.Sprintf("the fleet has %d replicas here", v.Replicas)
	if d.Retired {
		why, detail = Retired, "everything here goes"
	}
	d.own(name)
	for _, m := range d.byName[name] {
		if !d.busy(name) {
			d.remove(v.Name, m, why, detail)
		}
	}
}

// wanted decides about a wanted name what does not depend on others.
func (d *decision) wanted(v *fleetView, name string) slot {
	d.own(name)
	s := slot{name: name, member: keep(d.byName[name])}
	m := s.member
	if m == nil {
		return slot{name: name, making: true}
	}
	s.ready = m.Check.Working && m.Drain == "" && m.Going == ""
	s.making = d.making(v, m)
	if d.busy(name) {
		return s
	}
	for _, other := range d.byName[name] {
		if other != m && d.settled(d.byName[name]) {
			d.remove(v.Name, other, Duplicate, "the instance of "+m.Created.UTC().Format(time.RFC3339)+" stays")
		}
	}
	switch state := d.state(m); {
	case m.Going != "":
		d.remove(v.Name, m, m.Going, "")
	case state == provider.Unknown && d.Memory.Listing == ListComplete && !m.Shown:
		d.get(v.Name, m)
	case state == provider.Deleting:
		d.remove(v.Name, m, Deleting, "")
	case state == provider.Failed:
		d.remove(v.Name, m, Failed, because(m))
	case state == provider.Stopped:
		d.remove(v.Name, m, Stopped, because(m))
	}
	return s
}

// keep returns the instance of a name that counts: the earliest of those that
// serve or may, or else the earliest.
func keep(members []*Member) *Member {
	for _, m := range members {
		switch m.State.Known() {
		case provider.Running, provider.Pending, provider.Unknown:
			if m.Going == "" {
				return m
			}
		}
	}
	if len(members) == 0 {
		return nil
	}
	return members[0]
}

// settled reports whether it is known what every one of the instances is.
func (d *decision) settled(members []*Member) bool {
	return !slices.ContainsFunc(members, func(m *Member) bool {
		return m.Going == "" && d.state(m) == provider.Unknown
	})
}

// state is what the last list says of an instance: Unknown when it failed or
// does not show it.
func (d *decision) state(m *Member) provider.State {
	if d.Memory.Listing == ListFailed || !m.Shown {
		return provider.Unknown
	}
	return m.State.Known()
}

// making reports whether the wanted member is yet to show that its spec works.
// One made from an earlier spec is not; it is what comes after it that is.
func (d *decision) making(v *fleetView, m *Member) bool {
	spec := v.spec(m.Name)
	switch {
	case m.Going != "":
		return true
	case m.Check.Working:
		return false
	}
	switch d.state(m) {
	case provider.Running, provider.Pending:
		return spec.MatchesHash(m.SpecHash) && !m.Check.Worked
	}
	return true
}

// create makes what is missing and completes what is half made.
func (d *decision) create(v *fleetView) {
	if d.Memory.Listing == ListFailed {
		return // a backend that cannot list is not asked for more
	}
	gate, open := d.gate(v.Name)
	for _, s := range v.slots {
		a := Action{Op: Create, Fleet: v.Name, Ref: provider.Ref{Name: s.name}, Spec: v.spec(s.name), Why: Missing}
		if s.member != nil {
			if s.member.Going != "" || d.state(s.member) != provider.Incomplete {
				continue
			}
			a.Why = Incomplete
		}
		if d.busy(s.name) || !open || !d.due(d.retry(s.name)) {
			continue
		}
		d.do(a)
		if gate {
			return // one to find out whether it is worth it
		}
	}
}

// gate reports whether the Creates of a fleet were refused the last time, and
// whether some may be tried now: one at a time after a refusal.
func (d *decision) gate(fleet string) (refused, open bool) {
	open = true
	for _, name := range []string{"", fleet} {
		g, ok := d.Memory.Gates[name]
		if !ok {
			continue
		}
		refused = true
		open = open && d.due(*g)
	}
	if !refused {
		return false, true
	}
	for name, n := range d.Memory.Names {
		if f, _, ok := ParseMember(name); ok && f == fleet && n.Busy == Create {
			open = false
		}
	}
	return refused, open
}

// get looks whether an instance is there that no list shows.
func (d *decision) get(fleet string, m *Member) {
	if d.due(m.Retry) {
		d.do(Action{Op: Get, Fleet: fleet, Ref: m.Ref, Why: Unlisted})
	}
}

// remove lets an instance go: it drains first when it may be serving, and is
// deleted when it is free or the limit is over.
func (d *decision) remove(fleet string, m *Member, why Why, detail string) {
	a := Action{Op: Delete, Fleet: fleet, Ref: m.Ref, Why: cmp.Or(m.Going, why), Detail: detail}
	state := d.state(m)
	unlisted := d.Memory.Listing == ListComplete && !m.Shown
	switch {
	case m.Going != "", state == provider.Deleting:
	case unlisted:
		d.get(fleet, m)
		return
	case state == provider.Running, state == provider.Unknown:
		// What drained to be replaced and goes for good leaves the budgets.
		if m.Drain == "" || m.Drain.replaces() && !why.replaces() {
			a.Op = Drain
			d.do(a)
			return
		}
		limit := m.DrainSince.Add(d.Policy.Drain)
		if d.Leases[m.ID] > 0 && d.Now.Before(limit) {
			d.wake(limit)
			return
		}
	}
	// A pause without a Kind is that of a Get that went well.
	if m.Retry.Kind == "" || d.due(m.Retry) {
		d.do(a)
	}
}

// strays handles what belongs to no fleet.
func (d *decision) strays() {
	for _, ref := range d.Memory.Refs() {
		m := d.Memory.Members[ref]
		fleet, _, ok := ParseMember(ref.Name)
		switch {
		case ok && slices.ContainsFunc(d.fleets, func(v *fleetView) bool { return v.Name == fleet }):
		case d.Retired:
			d.own(ref.Name)
			if !d.busy(ref.Name) {
				d.remove("", m, Retired, "everything here goes")
			}
		case d.Memory.Listing == ListComplete && !m.Shown:
			if !d.busy(ref.Name) {
				d.get("", m)
			}
		default:
			d.plan.Strays = append(d.plan.Strays, ref)
		}
	}
}

func (d *decision) busy(name string) bool {
	n, ok := d.Memory.Names[name]
	return ok && n.Busy != ""
}

func (d *decision) retry(name string) Retry {
	if n, ok := d.Memory.Names[name]; ok {
		return n.Retry
	}
	return Retry{}
}

// due reports whether a pause is over, and otherwise asks for a decision then.
func (d *decision) due(r Retry) bool {
	if d.Now.Before(r.After) {
		d.wake(r.After)
		return false
	}
	return true
}

func (d *decision) wake(at time.Time) {
	if d.plan.Wake.IsZero() || at.Before(d.plan.Wake) {
		d.plan.Wake = at
	}
}

func (d *decision) own(name string) {
	d.plan.Owned = append(d.plan.Owned, provider.Ref{Name: name})
}

func (d *decision) do(a Action) { d.plan.Actions = append(d.plan.Actions, a) }

// finish orders the plan.
func (d *decision) finish() {
	rank := []Op{Undrain, Drain, Delete, Get, Create}
	slices.SortStableFunc(d.plan.Actions, func(a, b Action) int {
		return cmp.Compare(slices.Index(rank, a.Op), slices.Index(rank, b.Op))
	})
	// One action for a name: what comes first, the next decision follows up.
	seen := map[string]bool{}
	d.plan.Actions = slices.DeleteFunc(d.plan.Actions, func(a Action) bool {
		twice := seen[a.Ref.Name]
		seen[a.Ref.Name] = true
		return twice
	})
	for _, v := range d.fleets {
		d.plan.Fleets = append(d.plan.Fleets, v.status)
	}
}

// because is what the provider says of an instance.
func because(m *Member) string {
	switch {
	case m.Reason == "":
		return m.Message
	case m.Message == "":
		return m.Reason
	}
	return m.Reason + ": " + m.Message
}
