package fleet

import (
	"strconv"
	"strings"
	"time"

	"github.com/crawlfleet/provider"
)

// Fleet is what is wanted of one fleet at the provider in question.
type Fleet struct {
	// Name begins the names of its members.
	Name string
	// Replicas is how many members there shall be. A fleet that was removed,
	// or that is at another provider now, is given with zero for as long as it
	// may have members here.
	Replicas int
	// Spec is what members are made from; Decide sets the Name.
	Spec provider.Spec
	// MaxAge is when a member is replaced at the latest, as far as the budgets
	// allow it. Zero is never.
	MaxAge time.Duration
}

// MemberName is the name of the n-th member of a fleet, counted from 0.
func MemberName(fleet string, n int) string { return fleet + "-" + strconv.Itoa(n) }

// ParseMember takes apart what [MemberName] made. What follows the last hyphen
// is the number, so that no name is a member of two fleets.
func ParseMember(name string) (fleet string, n int, ok bool) {
	i := strings.LastIndexByte(name, '-')
	if i < 0 {
		return "", 0, false
	}
	n, err := strconv.Atoi(name[i+1:])
	if err != nil || n < 0 || MemberName(name[:i], n) != name {
		return "", 0, false
	}
	return name[:i], n, true
}

// spec returns what the member of that name is made from.
func (f *Fleet) spec(name string) provider.Spec {
	spec := f.Spec
	spec.Name = name
	return spec
}

// Defaults of a [Policy].
const (
	// DefaultFailedChecks forgives what a busy network does now and then.
	DefaultFailedChecks = 3
	// DefaultStart is more than a virtual machine needs to boot and to install
	// its proxy over a slow mirror.
	DefaultStart = 10 * time.Minute
	// DefaultReplacing keeps most of a small provider in service.
	DefaultReplacing = 2
	// DefaultFreezeShare is that of [provider.DefaultMaxShare], for the same
	// reason: a fault of the observer looks like a fault of everything.
	DefaultFreezeShare = provider.DefaultMaxShare
)

// Policy has the limits that the decisions keep. Zero fields but Drain are the
// defaults above.
type Policy struct {
	// FailedChecks in a row make a member one that does not work.
	FailedChecks int
	// Start is how long a member may take from when it was first seen until it
	// first works.
	Start time.Duration
	// Drain is how long a draining member waits for its leases. Zero is not at
	// all.
	Drain time.Duration
	// Replacing is how many members of the provider may be under replacement
	// at once. A successor that does not come up within Start does not count
	// any more, so that one that never will does not block the others.
	Replacing int
	// FreezeShare is the share of a fleet above which failing checks are taken
	// for a fault of the check. One never freezes.
	FreezeShare float64
}

// withDefaults returns p with the defaults filled in.
func (p Policy) withDefaults() Policy {
	if p.FailedChecks <= 0 {
		p.FailedChecks = DefaultFailedChecks
	}
	if p.Start <= 0 {
		p.Start = DefaultStart
	}
	if p.Replacing <= 0 {
		p.Replacing = DefaultReplacing
	}
	if p.FreezeShare <= 0 {
		p.FreezeShare = DefaultFreezeShare
	}
	return p
}

// Op is what an [Action] does.
type Op string

// The operations. Create, Get and Delete are calls to the provider, and the
// Memory is told how they ended ([Memory.Finish]). Drain and Undrain are done
// as soon as the Memory knows ([Memory.Begin]).
const (
	// Create makes the member from Action.Spec, or finds or completes it.
	Create Op = "Create"
	// Get looks whether Action.Ref is there although no list shows it.
	Get Op = "Get"
	// Delete removes Action.Ref.
	Delete Op = "Delete"
	// Drain ends the handing out of leases on Action.Ref.
	Drain Op = "Drain"
	// Undrain takes it back.
	Undrain Op = "Undrain"
)

// Call reports whether op is a call to the provider.
func (op Op) Call() bool { return op == Create || op == Get || op == Delete }

// Why says why an action is taken, as a stable word for logs and metrics.
type Why string

// The reasons.
const (
	// Missing: the member is wanted, and no instance of it is known.
	Missing Why = "Missing"
	// Incomplete: it is half made.
	Incomplete Why = "Incomplete"
	// Unlisted: it is known, and a complete list does not show it.
	Unlisted Why = "Unlisted"
	// Deleting: a delete that somebody began has not finished.
	Deleting Why = "Deleting"
	// Failed: the backend says that it will not come up.
	Failed Why = "Failed"
	// Stopped: the backend says that it has stopped.
	Stopped Why = "Stopped"
	// Surplus: its fleet has fewer replicas now, or is gone from here.
	Surplus Why = "Surplus"
	// Duplicate: an earlier instance has its name.
	Duplicate Why = "Duplicate"
	// NotWorking: its checks fail, or it has not come up in time.
	NotWorking Why = "NotWorking"
	// Drifted: it was made from another spec.
	Drifted Why = "Drifted"
	// TooOld: it has reached its share of Fleet.MaxAge.
	TooOld Why = "TooOld"
	// Retired: its provider is being emptied.
	Retired Why = "Retired"
	// Wanted: it is wanted after all; only of an Undrain.
	Wanted Why = "Wanted"
)

// replaces reports whether the reason takes a running member out of service in
// favour of a successor. These are what the budgets count.
func (w Why) replaces() bool { return w == NotWorking || w == Drifted || w == TooOld }

// Action is one thing to do. There is at most one for a name in a [Plan].
type Action struct {
	// Op is what to do.
	Op Op
	// Fleet is the fleet that the member belongs to; empty for an instance of
	// a retired provider that belongs to none.
	Fleet string
	// Ref names the instance. For Create it has no ID.
	Ref provider.Ref
	// Spec is what to make; only of a Create.
	Spec provider.Spec
	// Why is the reason.
	Why Why
	// Detail says the same for a person; it may be empty.
	Detail string
}

// Status is what a [Plan] says of one fleet.
type Status struct {
	// Fleet is its name.
	Fleet string
	// Replicas is how many members are wanted.
	Replicas int
	// Working of these work and are not draining.
	Working int
	// Failing are those whose last check failed, and that had worked or had
	// the time to.
	Failing int
	// Checked is of how many of the wanted members the last check has an
	// answer; the share of the freeze is Failing of Checked.
	Checked int
	// Present is how many instances of the fleet are known, wanted or not.
	Present int
	// Frozen says that replacing is stopped.
	Frozen bool
}

// Settled reports whether the fleet is as wanted: every member works and
// nothing else is there.
func (s Status) Settled() bool { return s.Working == s.Replicas && s.Present == s.Replicas }

// Plan is what [Decide] returns.
type Plan struct {
	// Actions are in the order in which to begin them: what ends the handing
	// out, what makes room, what looks, what makes. Those for names that are
	// not begun are decided again the next time.
	Actions []Action
	// Wake is when a decision may be different although nothing was observed
	// in between: a pause or a drain limit ends. Zero is never.
	Wake time.Time
	// Fleets has every fleet given, in order of their names.
	Fleets []Status
	// Owned are the names that this package sees to, there or not. They are
	// the owners for a [provider.Collector].
	Owned []provider.Ref
	// Strays are the instances that no fleet accounts for, in order.
	Strays []provider.Ref
}
