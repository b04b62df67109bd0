package fleet

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// Listing says how far the last list of the provider reached.
type Listing string

// The values.
const (
	// NotListed: there has been none. Nothing is known, and nothing is done.
	NotListed Listing = ""
	// ListComplete: it showed everything.
	ListComplete Listing = "Complete"
	// ListPartial: some places are missing. Members that it does not show may
	// be there.
	ListPartial Listing = "Partial"
	// ListFailed: it showed nothing; what is known is from before.
	ListFailed Listing = "Failed"
)

// Memory is what is known of one provider. It can be lost at any time: a new
// one learns the instances from the first list, and only waits for new checks.
//
// It belongs to one goroutine. Tests fill the fields; programs change them by
// the methods alone.
type Memory struct {
	// Listing is about the last list.
	Listing Listing
	// Members are the instances known, until a Delete or a Get says that one
	// is gone.
	Members map[provider.Ref]*Member
	// Names is what is known of names, whichever instance has them.
	Names map[string]*Name
	// Gates are pauses for the Creates of a whole fleet, by its name, and for
	// all of the provider under the empty name.
	Gates map[string]*Retry
	// Jitter returns a number from 0 to 1, evenly spread, by which pauses
	// vary. Nil is always one half.
	Jitter func() float64

	steps uint64 // counts lists and the ends of calls, to tell their order
}

// Member is what is known of one instance.
type Member struct {
	// Instance is how the provider described it last.
	provider.Instance
	// Seen is when it was first seen, by this program's clock.
	Seen time.Time
	// Shown says whether the last list that was not Failed showed it.
	Shown bool
	// Check is how the last checks through its own proxy ended.
	Check Check
	// Drain is why it drains; empty while it does not.
	Drain Why
	// DrainSince is when that began.
	DrainSince time.Time
	// Going is why it is deleted. Once set, deleting goes on until it is gone.
	Going Why
	// Retry paces the Deletes and Gets.
	Retry Retry
}

// Check is how the checks of a member ended. The zero value is that there has
// been none.
type Check struct {
	// At is when the last one ended.
	At time.Time
	// Since is when Working last changed, or when the first one ended.
	Since time.Time
	// Working says that enough in a row passed, and none failed since.
	Working bool
	// Worked says that it has been working at some time.
	Worked bool
	// Passes and Failures count those in a row; one of them is zero.
	Passes, Failures int
	// Reason says what the last failure was, for a person.
	Reason string
}

// Name is what is known of a member's name.
type Name struct {
	// Busy is the call that is under way for it; empty when none is. Began is
	// when the last one did.
	Busy  Op
	Began time.Time
	// Retry paces the Creates.
	Retry Retry
	// Churn counts the instances in a row that went without having worked for
	// a while.
	Churn int
	// Replacing is when its instance was given up for a successor; zero once
	// a successor has worked.
	Replacing time.Time

	step uint64 // when a call for it last ended
}

// Retry paces what failed.
type Retry struct {
	// Failures counts those in a row.
	Failures int
	// After is when to try again.
	After time.Time
	// Kind is that of the last failure, and At when it was.
	Kind provider.Kind
	At   time.Time
}

// NewMemory returns an empty one.
func NewMemory(jitter func() float64) *Memory {
	return &Memory{
		Members: map[provider.Ref]*Member{}, Names: map[string]*Name{}, Gates: map[string]*Retry{}, Jitter: jitter,
	}
}

func (m *Memory) name(name string) *Name {
	n, ok := m.Names[name]
	if !ok {
		n = &Name{}
		m.Names[name] = n
	}
	return n
}

// Mark returns what to hand to [Memory.Listed] with the answer of a List that
// begins now.
func (m *Memory) Mark() uint64 { return m.steps }

// Listed notes what a List answered that began at mark. A call that ended
// after the mark knows better than the list, which may be older, so the list
// says nothing of its name. The error is that of the List.
func (m *Memory) Listed(list []provider.Instance, err error, mark uint64, now time.Time) {
	_, partial := errors.AsType[*provider.PartialError](err)
	switch {
	case err == nil:
		m.Listing = ListComplete
	case partial:
		m.Listing = ListPartial
	default:
		m.Listing = ListFailed
		return
	}
	shown := make(map[provider.Ref]bool, len(list))
	for _, inst := range list {
		shown[inst.Ref] = true
		// A Create under way may show; a Delete under way has the last word.
		if n, ok := m.Names[inst.Name]; !ok || n.step <= mark && n.Busy != Delete {
			m.see(inst, now)
		}
	}
	for ref, member := range m.Members {
		if n, ok := m.Names[ref.Name]; !shown[ref] && (!ok || n.step <= mark) {
			member.Shown = false
		}
	}
}

// see notes an instance as the provider describes it.
func (m *Memory) see(inst provider.Instance, now time.Time) {
	member, ok := m.Members[inst.Ref]
	if !ok {
		member = &Member{Seen: now}
		m.Members[inst.Ref] = member
	}
	member.Instance, member.Shown = inst, true
}

// Checked notes how a check of the instance ended: reason is empty when it
// passed, and passes is how many in a row make it a working one. It reports
// whether Working changed.
func (m *Memory) Checked(ref provider.Ref, reason string, passes int, now time.Time) bool {
	member, ok := m.Members[ref]
	if !ok {
		return false
	}
	c := &member.Check
	before := c.Working
	if reason == "" {
		c.Passes, c.Failures = c.Passes+1, 0
		c.Working = c.Working || c.Passes >= passes
	} else {
		c.Passes, c.Failures, c.Working = 0, c.Failures+1, false
	}
	if c.At.IsZero() || c.Working != before {
		c.Since = now
	}
	c.At, c.Reason = now, reason
	if c.Working {
		c.Worked = true
		if n, ok := m.Names[ref.Name]; ok && member.Going == "" && !member.Drain.replaces() {
			n.Replacing = time.Time{}
		}
	}
	return c.Working != before
}

// Begin notes that an action begins. The end of a call is told to
// [Memory.Finish].
func (m *Memory) Begin(a Action, now time.Time) {
	if a.Op.Call() {
		n := m.name(a.Ref.Name)
		n.Busy, n.Began = a.Op, now
	}
	member, ok := m.Members[a.Ref]
	if !ok {
		return
	}
	switch a.Op {
	case Drain:
		if member.Drain == "" {
			member.DrainSince = now
		}
		member.Drain = a.Why
	case Undrain:
		member.Drain, member.DrainSince = "", time.Time{}
	case Delete:
		member.Going = cmp.Or(member.Going, a.Why)
		if a.Why.replaces() {
			m.name(a.Ref.Name).Replacing = now
		}
	}
}

// Finish notes how a call ended: with the instance that it returned, or with
// its error.
func (m *Memory) Finish(a Action, inst provider.Instance, err error, now time.Time) {
	m.steps++
	n := m.name(a.Ref.Name)
	n.Busy, n.step = "", m.steps
	kind := provider.KindOf(err)
	switch member := m.Members[a.Ref]; {
	case a.Op == Create && err == nil:
		m.see(inst, now)
		n.Retry = Retry{}
		// One that began before the refusal says nothing about it.
		for _, gate := range []string{"", a.Fleet} {
			if g, ok := m.Gates[gate]; ok && g.At.Before(n.Began) {
				delete(m.Gates, gate)
			}
		}
	case a.Op == Create:
		m.refused(a, err, now)
	case member == nil:
	case a.Op == Get && err == nil:
		// There although the list does not show it: ask again, but not soon.
		m.see(inst, now)
		member.Retry = Retry{After: now.Add(m.vary(glance))}
	case kind == provider.NotFound, a.Op == Delete && err == nil:
		m.gone(member, now)
	default:
		m.pause(&member.Retry, err, now)
	}
}

// refused paces the Creates after one failed.
func (m *Memory) refused(a Action, err error, now time.Time) {
	switch provider.KindOf(err) {
	case provider.RateLimited:
		m.pause(m.gate(""), err, now)
	case provider.NoCapacity, provider.QuotaExceeded, provider.Unauthenticated, provider.PermissionDenied,
		provider.Invalid, provider.Unsupported:
		// The members of a fleet differ in their names alone: what refuses one
		// refuses all, and asking for each is a storm.
		m.pause(m.gate(a.Fleet), err, now)
	default:
		m.pause(&m.name(a.Ref.Name).Retry, err, now)
	}
}

func (m *Memory) gate(name string) *Retry {
	g, ok := m.Gates[name]
	if !ok {
		g = &Retry{}
		m.Gates[name] = g
	}
	return g
}

// gone forgets an instance, and makes its successor wait when instances of
// this name keep going without having been of use.
func (m *Memory) gone(member *Member, now time.Time) {
	delete(m.Members, member.Ref)
	n := m.name(member.Name)
	switch member.Going {
	case Failed, Stopped, NotWorking:
	case "":
		if member.Drain != "" {
			return
		}
		// It vanished: as one that stopped.
	default:
		return
	}
	if member.Check.Worked && now.Sub(member.Seen) >= stable {
		n.Churn = 0
	}
	n.Churn++
	if n.Churn > 1 {
		n.Retry.After = now.Add(m.vary(churning().pause(n.Churn - 2)))
	}
}

// Reset forgets the pauses, which a changed configuration may have made void,
// and what is known of names for which keep is false and that have nothing.
func (m *Memory) Reset(keep func(name string) bool) {
	clear(m.Gates)
	for _, n := range m.Names {
		n.Retry, n.Churn = Retry{}, 0
	}
	used := map[string]bool{}
	for ref, member := range m.Members {
		used[ref.Name] = true
		member.Retry = Retry{}
	}
	maps.DeleteFunc(m.Names, func(name string, n *Name) bool { return n.Busy == "" && !used[name] && !keep(name) })
}

// Refs returns the instances known, in order.
func (m *Memory) Refs() []provider.Ref {
	return slices.SortedFunc(maps.Keys(m.Members), compareRefs)
}

func compareRefs(a, b provider.Ref) int {
	return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID))
}
