package fleet

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

// now is when the tables decide.
var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// world builds what a decision depends on.
type world struct {
	Observed
}

// newWorld has one fleet, "web", of so many replicas and a complete, empty list.
func newWorld(replicas int) *world {
	w := &world{Observed{
		Now:    now,
		Fleets: []Fleet{webFleet(replicas)},
		Policy: Policy{Drain: time.Minute},
		Memory: NewMemory(nil),
		Leases: map[string]int{},
	}}
	w.Memory.Listing = ListComplete
	return w
}

func webFleet(replicas int) Fleet {
	return Fleet{Name: "web", Replicas: replicas, Spec: provider.Spec{Image: "v1", Credentials: provider.Credentials{Username: "u", Password: "p"}}}
}

// add puts an instance in, running and working for an hour unless the changes
// say otherwise.
func (w *world) add(name string, changes ...func(*Member)) *Member {
	spec := w.Fleets[0].spec(name)
	m := &Member{
		Instance: provider.Instance{
			Ref: provider.Ref{Name: name, ID: "id-" + name}, State: provider.Running,
			SpecHash: spec.Hash(), Created: now.Add(-time.Hour),
		},
		Seen: now.Add(-time.Hour), Shown: true,
		Check: Check{At: now, Since: now.Add(-time.Hour), Working: true, Worked: true, Passes: 9},
	}
	for _, change := range changes {
		change(m)
	}
	w.Memory.Members[m.Ref] = m
	return m
}

func state(s provider.State) func(*Member) { return func(m *Member) { m.State = s } }

func id(id string) func(*Member) { return func(m *Member) { m.ID = id } }

func created(ago time.Duration) func(*Member) { return func(m *Member) { m.Created = now.Add(-ago) } }

func drifted(m *Member) { m.SpecHash = "1:00" }

func hidden(m *Member) { m.Shown = false }

func going(m *Member) { m.Going = Surplus }

func failing(n int) func(*Member) {
	return func(m *Member) {
		m.Check.Working, m.Check.Passes, m.Check.Failures, m.Check.Reason = false, 0, n, "connection refused"
	}
}

func unchecked(m *Member) { m.Check, m.Seen = Check{}, now.Add(-time.Minute) }

func draining(why Why, ago time.Duration) func(*Member) {
	return func(m *Member) { m.Drain, m.DrainSince = why, now.Add(-ago) }
}

func paused(m *Member) {
	m.Retry = Retry{Failures: 1, Kind: provider.Unavailable, After: now.Add(time.Minute)}
}

// fill adds the members of web from first to last, all working.
func (w *world) fill(first, last int) {
	for n := first; n <= last; n++ {
		w.add(MemberName("web", n))
	}
}

// plan is the actions of a plan in one line each.
func plan(p Plan) string {
	lines := []string{}
	for _, a := range p.Actions {
		lines = append(lines, fmt.Sprintf("%s %s %s", a.Op, a.Ref, a.Why))
	}
	return strings.Join(lines, "\n")
}

func TestDecide(t *testing.T) {
	tests := []struct {
		name string
		make func() *world
		want string
	}{
		{"nothing before the first list", func() *world {
			w := newWorld(2)
			w.Memory.Listing = NotListed
			return w
		}, ""},
		{"an empty backend gets all members", func() *world { return newWorld(2) },
			"Create web-0 Missing\nCreate web-1 Missing"},
		{"a full fleet is left alone", func() *world {
			w := newWorld(2)
			w.fill(0, 1)
			return w
		}, ""},
		{"a hole is filled", func() *world {
			w := newWorld(3)
			w.add("web-0")
			w.add("web-2")
			return w
		}, "Create web-1 Missing"},
		{"a failed list makes nothing", func() *world {
			w := newWorld(3)
			w.fill(0, 0)
			w.Memory.Listing = ListFailed
			return w
		}, ""},
		{"a partial list lets the provider say which names may be made", func() *world {
			w := newWorld(2)
			w.fill(0, 0)
			w.Memory.Listing = ListPartial
			return w
		}, "Create web-1 Missing"},
		{"absence in a complete list is a question", func() *world {
			w := newWorld(1)
			w.add("web-0", hidden)
			return w
		}, "Get web-0 (id-web-0) Unlisted"},
		{"absence in a partial list is nothing", func() *world {
			w := newWorld(1)
			w.add("web-0", hidden)
			w.Memory.Listing = ListPartial
			return w
		}, ""},
		{"a Get that failed is not repeated at once", func() *world {
			w := newWorld(1)
			w.add("web-0", hidden, paused)
			return w
		}, ""},
		{"incomplete is completed", func() *world {
			w := newWorld(1)
			w.add("web-0", state(provider.Incomplete))
			return w
		}, "Create web-0 Incomplete"},
		{"deleting is deleted until it is gone", func() *world {
			w := newWorld(1)
			w.add("web-0", state(provider.Deleting))
			return w
		}, "Delete web-0 (id-web-0) Deleting"},
		{"failed goes at once, leases or not", func() *world {
			w := newWorld(1)
			w.add("web-0", state(provider.Failed))
			w.Leases["id-web-0"] = 3
			return w
		}, "Delete web-0 (id-web-0) Failed"},
		{"all that stopped go together, outside of budget and freeze", func() *world {
			w := newWorld(3)
			w.add("web-0", state(provider.Stopped))
			w.add("web-1", state(provider.Stopped))
			w.add("web-2", state(provider.Stopped))
			return w
		}, "Delete web-0 (id-web-0) Stopped\nDelete web-1 (id-web-1) Stopped\nDelete web-2 (id-web-2) Stopped"},
		{"unknown is left alone, failing and drifted", func() *world {
			w := newWorld(1)
			w.add("web-0", state("Hibernating"), failing(9), drifted)
			return w
		}, ""},
		{"a stopped member of a failed list is left alone", func() *world {
			w := newWorld(1)
			w.add("web-0", state(provider.Stopped))
			w.Memory.Listing = ListFailed
			return w
		}, ""},
		{"a delete that has begun goes on under a failed list", func() *world {
			w := newWorld(1)
			w.add("web-0", going)
			w.Memory.Listing = ListFailed
			return w
		}, "Delete web-0 (id-web-0) Surplus"},
		{"a delete that has begun waits for its pause", func() *world {
			w := newWorld(1)
			w.add("web-0", going, paused)
			return w
		}, ""},
		{"what is busy is left alone", func() *world {
			w := newWorld(2)
			w.add("web-0", state(provider.Failed))
			w.Memory.Names["web-0"] = &Name{Busy: Get}
			w.Memory.Names["web-1"] = &Name{Busy: Create}
			return w
		}, ""},
		{"a pause holds a Create back", func() *world {
			w := newWorld(2)
			w.Memory.Names["web-0"] = &Name{Retry: Retry{After: now.Add(time.Second)}}
			return w
		}, "Create web-1 Missing"},
		{"a refusal of the fleet holds all of it back", func() *world {
			w := newWorld(3)
			w.Memory.Gates["web"] = &Retry{Failures: 1, After: now.Add(time.Second)}
			return w
		}, ""},
		{"after it one finds out", func() *world {
			w := newWorld(3)
			w.Memory.Gates["web"] = &Retry{Failures: 1, After: now}
			return w
		}, "Create web-0 Missing"},
		{"and no second one meanwhile", func() *world {
			w := newWorld(3)
			w.Memory.Gates["web"] = &Retry{Failures: 1, After: now}
			w.Memory.Names["web-0"] = &Name{Busy: Create}
			return w
		}, ""},
		{"a rate limit holds every fleet back", func() *world {
			w := newWorld(1)
			w.Memory.Gates[""] = &Retry{Failures: 1, After: now.Add(time.Second)}
			return w
		}, ""},
		{"of two of one name the earlier stays", func() *world {
			w := newWorld(1)
			w.add("web-0")
			w.add("web-0", id("b"), created(time.Minute))
			return w
		}, "Drain web-0 (b) Duplicate"},
		{"of two of one time the lower ID stays", func() *world {
			w := newWorld(1)
			w.add("web-0", id("b"))
			w.add("web-0", id("a"))
			return w
		}, "Drain web-0 (b) Duplicate"},
		{"of two the one that runs stays", func() *world {
			w := newWorld(1)
			w.add("web-0", state(provider.Stopped))
			w.add("web-0", id("b"), created(time.Minute))
			return w
		}, "Delete web-0 (id-web-0) Duplicate"},
		{"of two with one unknown nothing is sure", func() *world {
			w := newWorld(1)
			w.add("web-0", state(provider.Unknown))
			w.add("web-0", id("b"), created(time.Minute))
			return w
		}, ""},
		{"strays are left to the collector", func() *world {
			w := newWorld(0)
			w.add("old-0")
			w.add("web-00")
			w.add("web")
			return w
		}, ""},
		{"a stray that vanished is asked for", func() *world {
			w := newWorld(0)
			w.add("old-0", hidden)
			return w
		}, "Get old-0 (id-old-0) Unlisted"},
		{"a retired provider is emptied of strays too", func() *world {
			w := newWorld(0)
			w.Retired = true
			w.add("old-0")
			w.add("web-0")
			return w
		}, "Drain web-0 (id-web-0) Retired\nDrain old-0 (id-old-0) Retired"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if got := plan(Decide(test.make().Observed)); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
		})
	}
}

func TestScaleDown(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Member)
		leases int
		want   string
	}{
		{"a running one drains", nil, 0, "Drain web-1 (id-web-1) Surplus"},
		{"an unknown one drains", state(provider.Unknown), 0, "Drain web-1 (id-web-1) Surplus"},
		{"one that drains to be replaced leaves the budgets", draining(Drifted, time.Hour), 0, "Drain web-1 (id-web-1) Surplus"},
		{"an idle one goes", draining(Surplus, 0), 0, "Delete web-1 (id-web-1) Surplus"},
		{"a busy one stays", draining(Surplus, 59*time.Second), 1, ""},
		{"a busy one goes at the limit", draining(Surplus, time.Minute), 1, "Delete web-1 (id-web-1) Surplus"},
		{"a pending one goes", state(provider.Pending), 0, "Delete web-1 (id-web-1) Surplus"},
		{"an incomplete one goes", state(provider.Incomplete), 0, "Delete web-1 (id-web-1) Surplus"},
		{"one that is going goes on", going, 0, "Delete web-1 (id-web-1) Surplus"},
		{"one that vanished is asked for", hidden, 0, "Get web-1 (id-web-1) Unlisted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(1)
			w.add("web-0")
			m := w.add("web-1")
			if test.change != nil {
				test.change(m)
			}
			w.Leases[m.ID] = test.leases
			p := Decide(w.Observed)
			if got := plan(p); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			if test.want == "" && !p.Wake.Equal(now.Add(time.Second)) {
				t.Errorf("wake at %v, want the end of the limit", p.Wake)
			}
		})
	}
}

func TestScaleUpTakesBackWhatDrains(t *testing.T) {
	w := newWorld(2)
	w.add("web-0")
	w.add("web-1", draining(Surplus, time.Second))
	if got, want := plan(Decide(w.Observed)), "Undrain web-1 (id-web-1) Wanted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A list from before a call ended must not undo what the call said.
func TestListedIsOlderThanACall(t *testing.T) {
	m := NewMemory(nil)
	gone := provider.Instance{Ref: provider.Ref{Name: "web-0", ID: "a"}, State: provider.Running}
	m.Listed([]provider.Instance{gone}, nil, m.Mark(), now)
	mark := m.Mark()
	a := Action{Op: Delete, Fleet: "web", Ref: gone.Ref, Why: Surplus}
	m.Begin(a, now)
	m.Finish(a, provider.Instance{}, nil, now)
	b := Action{Op: Create, Fleet: "web", Ref: provider.Ref{Name: "web-1"}}
	m.Begin(b, now)
	made := provider.Instance{Ref: provider.Ref{Name: "web-1", ID: "b"}, State: provider.Pending}
	m.Finish(b, made, nil, now)

	m.Listed([]provider.Instance{gone}, nil, mark, now)
	if _, back := m.Members[gone.Ref]; back {
		t.Error("the old list brought a deleted instance back")
	}
	if !m.Members[made.Ref].Shown {
		t.Error("the old list hid an instance that was made after it began")
	}
	m.Listed(nil, nil, m.Mark(), now)
	if m.Members[made.Ref].Shown {
		t.Error("a new list without the instance still shows it")
	}
}

func TestParseMember(t *testing.T) {
	for _, n := range []int{0, 1, 10, 999} {
		fleet, got, ok := ParseMember(MemberName("a-1", n))
		if fleet != "a-1" || got != n || !ok {
			t.Errorf("ParseMember(MemberName(a-1, %d)) = %q, %d, %v", n, fleet, got, ok)
		}
	}
	for _, name := range []string{"", "web", "web-", "web-01", "web--1", "web-+1", "web-x", "web-99999999999999999999"} {
		if fleet, n, ok := ParseMember(name); ok && MemberName(fleet, n) != name {
			t.Errorf("ParseMember(%q) = %q, %d: not its name", name, fleet, n)
		} else if ok && name != "web--1" {
			t.Errorf("ParseMember(%q) = %q, %d, want none", name, fleet, n)
		}
	}
}

func TestOwnedAndStrays(t *testing.T) {
	w := newWorld(1)
	w.add("web-3")
	w.add("old-0")
	p := Decide(w.Observed)
	if want := []provider.Ref{{Name: "web-3"}, {Name: "web-0"}}; !slices.Equal(p.Owned, want) {
		t.Errorf("owned %v, want %v", p.Owned, want)
	}
	if want := []provider.Ref{{Name: "old-0", ID: "id-old-0"}}; !slices.Equal(p.Strays, want) {
		t.Errorf("strays %v, want %v", p.Strays, want)
	}
}
