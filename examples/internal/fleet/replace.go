package fleet

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// candidate is a member that may be replaced.
type candidate struct {
	view   *fleetView
	member *Member
	why    Why
	detail string
}

// urgency orders the reasons: what does not work has nothing to lose.
func (c candidate) urgency() int {
	switch {
	case c.member.Drain.replaces():
		return 0 // it has its share of the budget already
	case c.why == NotWorking:
		return 1
	case c.why == Drifted && !c.member.Check.Working:
		return 2
	case c.why == Drifted:
		return 3
	}
	return 4
}

// assess counts how the fleet does, decides whether it is frozen, and returns
// its candidates.
func (d *decision) assess(v *fleetView) []candidate {
	s := &v.status
	for _, slot := range v.slots {
		if slot.ready {
			s.Working++
		}
		switch {
		case slot.member == nil || !d.serves(slot.member):
		case slot.member.Check.Working:
			s.Checked++
		case d.started(slot.member) && (slot.member.Check.Failures > 0 || d.state(slot.member) == provider.Pending):
			s.Checked++
			s.Failing++
		}
	}
	s.Frozen = s.Failing > 1 && float64(s.Failing) > d.Policy.FreezeShare*float64(s.Checked)
	var found []candidate
	for i := range v.slots {
		slot := &v.slots[i]
		m := slot.member
		if m == nil || m.Going != "" || d.busy(slot.name) || !d.serves(m) {
			continue
		}
		if c, ok := d.reason(v, m); ok {
			slot.making = false
			found = append(found, c)
		} else if m.Drain != "" {
			d.do(Action{Op: Undrain, Fleet: v.Name, Ref: m.Ref, Why: Wanted})
		}
	}
	return found
}

// serves reports whether the machine runs or comes up, for all that is known.
func (d *decision) serves(m *Member) bool {
	state := d.state(m)
	return state == provider.Running || state == provider.Pending
}

// started reports whether a member has had its time to come up.
func (d *decision) started(m *Member) bool {
	return m.Check.Worked || !d.Now.Before(m.Seen.Add(d.Policy.Start))
}

// reason returns why a member is to be replaced, if it is.
func (d *decision) reason(v *fleetView, m *Member) (candidate, bool) {
	c := candidate{view: v, member: m}
	spec := v.spec(m.Name)
	broken := m.Check.Failures >= d.Policy.FailedChecks && d.started(m)
	late := d.state(m) == provider.Pending && d.started(m)
	switch age := d.Now.Sub(m.Created); {
	case (broken || late) && !v.status.Frozen:
		c.why, c.detail = NotWorking, fmt.Sprintf("%d checks in a row failed: %s", m.Check.Failures, m.Check.Reason)
		if late {
			c.detail = "it is still Pending after " + d.Now.Sub(m.Seen).Round(time.Second).String()
		}
	case !spec.MatchesHash(m.SpecHash):
		c.why, c.detail = Drifted, "it was made from another spec"
	case v.MaxAge > 0 && !m.Created.IsZero() && v.status.Failing == 0 && m.Check.Working && age >= ageLimit(v.MaxAge, m.Ref):
		c.why, c.detail = TooOld, "it is "+age.Round(time.Second).String()+" old"
	default:
		if v.MaxAge > 0 && !m.Created.IsZero() && d.Now.Before(m.Created.Add(ageLimit(v.MaxAge, m.Ref))) {
			d.wake(m.Created.Add(ageLimit(v.MaxAge, m.Ref)))
		}
		if !d.started(m) {
			d.wake(m.Seen.Add(d.Policy.Start))
		}
		return c, false
	}
	return c, true
}

// ageLimit is when an instance is too old: between three quarters of the
// maximum and all of it, by its name and ID, so that members that were made
// together do not go together.
func ageLimit(maxAge time.Duration, ref provider.Ref) time.Duration {
	h := fnv.New64a()
	_, _ = h.Write([]byte(ref.Name + "\x00" + ref.ID))
	return maxAge - time.Duration(h.Sum64()%uint64(max(maxAge/4, 1)))
}

// replace lets candidates go as far as the budgets allow, the most urgent
// first.
func (d *decision) replace(candidates []candidate) {
	slices.SortStableFunc(candidates, func(a, b candidate) int {
		return cmp.Or(
			cmp.Compare(a.urgency(), b.urgency()),
			cmp.Compare(d.churn(a.member), d.churn(b.member)),
			a.member.Created.Compare(b.member.Created),
		)
	})
	under := d.replacing()
	taken := map[*fleetView]bool{}
	for _, c := range candidates {
		draining := c.member.Drain.replaces()
		blocked := taken[c.view] || !draining && (under >= d.Policy.Replacing || !c.allowed())
		if blocked || c.member.Drain != "" && !draining {
			// What drains for another reason begins anew: it was not counted.
			if c.member.Drain != "" {
				d.do(Action{Op: Undrain, Fleet: c.view.Name, Ref: c.member.Ref, Why: Wanted})
			}
			continue
		}
		taken[c.view] = true
		if !draining {
			under++
		}
		d.remove(c.view.Name, c.member, c.why, c.detail)
	}
}

// allowed reports whether the rest of the fleet is in a state to let this one
// go: nobody else is coming up or on the way out, and for age everybody works.
func (c candidate) allowed() bool {
	for _, s := range c.view.slots {
		if s.member == c.member {
			continue
		}
		if s.making || s.member.Drain != "" || c.why == TooOld && !s.ready {
			return false
		}
	}
	return true
}

func (d *decision) churn(m *Member) int {
	if n, ok := d.Memory.Names[m.Name]; ok {
		return n.Churn
	}
	return 0
}

// replacing counts the members of all fleets that are under replacement: those
// that drain for it, and those whose successor has not worked yet and still
// has the time to.
func (d *decision) replacing() int {
	count := 0
	for _, v := range d.fleets {
		for _, s := range v.slots {
			n, known := d.Memory.Names[s.name]
			switch {
			case s.member != nil && s.member.Going == "" && s.member.Drain.replaces():
				count++
			case known && !n.Replacing.IsZero() && d.Now.Before(n.Replacing.Add(d.Policy.Start)):
				count++
				d.wake(n.Replacing.Add(d.Policy.Start))
			}
		}
	}
	return count
}
