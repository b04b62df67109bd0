package fleet

import (
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

func TestReplace(t *testing.T) {
	tests := []struct {
		name   string
		make   func() *world
		want   string
		frozen bool
	}{
		{"one that fails often enough drains", func() *world {
			w := newWorld(4)
			w.fill(0, 2)
			w.add("web-3", failing(3))
			return w
		}, "Drain web-3 (id-web-3) NotWorking", false},
		{"one that fails less often stays", func() *world {
			w := newWorld(4)
			w.fill(0, 2)
			w.add("web-3", failing(2))
			return w
		}, "", false},
		{"one that is coming up may fail", func() *world {
			w := newWorld(4)
			w.fill(0, 2)
			w.add("web-3", failing(30), func(m *Member) { m.Check.Worked, m.Seen = false, now.Add(-DefaultStart+1) })
			return w
		}, "", false},
		{"but not for ever", func() *world {
			w := newWorld(4)
			w.fill(0, 2)
			w.add("web-3", failing(30), func(m *Member) { m.Check.Worked, m.Seen = false, now.Add(-DefaultStart) })
			return w
		}, "Drain web-3 (id-web-3) NotWorking", false},
		{"one that stays pending goes", func() *world {
			w := newWorld(4)
			w.fill(0, 2)
			w.add("web-3", unchecked, state(provider.Pending), func(m *Member) { m.Seen = now.Add(-DefaultStart) })
			return w
		}, "Delete web-3 (id-web-3) NotWorking", false},
		{"the only member is no mass", func() *world {
			w := newWorld(1)
			w.add("web-0", failing(3))
			return w
		}, "Drain web-0 (id-web-0) NotWorking", false},
		{"one of two is no mass", func() *world {
			w := newWorld(2)
			w.add("web-0")
			w.add("web-1", failing(3))
			return w
		}, "Drain web-1 (id-web-1) NotWorking", false},
		{"two of two are", func() *world {
			w := newWorld(2)
			w.add("web-0", failing(3))
			w.add("web-1", failing(3))
			return w
		}, "", true},
		{"three of ten are not more than 30 %", func() *world {
			w := newWorld(10)
			w.fill(0, 6)
			w.add("web-7", failing(3))
			w.add("web-8", failing(3))
			w.add("web-9", failing(4))
			return w
		}, "Drain web-7 (id-web-7) NotWorking", false},
		{"four of ten are, even before the others reach the limit", func() *world {
			w := newWorld(10)
			w.fill(0, 5)
			w.add("web-6", failing(3))
			w.add("web-7", failing(1))
			w.add("web-8", failing(1))
			w.add("web-9", failing(1))
			return w
		}, "", true},
		{"what comes up does not count as failing", func() *world {
			w := newWorld(10)
			w.fill(0, 5)
			w.add("web-6", failing(3))
			for _, name := range []string{"web-7", "web-8", "web-9"} {
				w.add(name, unchecked, drifted, failing(5))
			}
			return w
		}, "Drain web-6 (id-web-6) NotWorking", false},
		{"the freeze takes a drain back", func() *world {
			w := newWorld(2)
			w.add("web-0", failing(4), draining(NotWorking, time.Second))
			w.add("web-1", failing(1))
			return w
		}, "Undrain web-0 (id-web-0) Wanted", true},
		{"one that works again is taken back", func() *world {
			w := newWorld(2)
			w.add("web-0", draining(NotWorking, time.Second))
			w.add("web-1")
			return w
		}, "Undrain web-0 (id-web-0) Wanted", false},
		{"stopped ones go although the fleet is frozen", func() *world {
			w := newWorld(3)
			w.add("web-0", failing(3))
			w.add("web-1", failing(3))
			w.add("web-2", state(provider.Stopped))
			return w
		}, "Delete web-2 (id-web-2) Stopped", true},
		{"a changed spec is rolled out one at a time", func() *world {
			w := newWorld(3)
			w.add("web-0", drifted)
			w.add("web-1", drifted)
			w.add("web-2", drifted)
			return w
		}, "Drain web-0 (id-web-0) Drifted", false},
		{"the next one waits while one is made", func() *world {
			w := newWorld(3)
			w.add("web-0", drifted)
			w.add("web-1", drifted)
			w.Memory.Names["web-2"] = &Name{Busy: Create}
			return w
		}, "", false},
		{"and until the new one works", func() *world {
			w := newWorld(3)
			w.add("web-0", drifted)
			w.add("web-1", drifted)
			w.add("web-2", unchecked)
			return w
		}, "", false},
		{"a new one that never works goes before the roll-out goes on", func() *world {
			w := newWorld(3)
			w.add("web-0", drifted)
			w.add("web-1", drifted)
			w.add("web-2", failing(3), func(m *Member) { m.Check.Worked = false })
			return w
		}, "Drain web-2 (id-web-2) NotWorking", false},
		{"members of the old spec that never came up do not stop its repair", func() *world {
			w := newWorld(3)
			for _, name := range []string{"web-0", "web-1", "web-2"} {
				w.add(name, failing(9), drifted, func(m *Member) { m.Check.Worked = false })
			}
			return w
		}, "Drain web-0 (id-web-0) Drifted", true},
		{"of the drifted the failing go first", func() *world {
			w := newWorld(3)
			w.add("web-0", drifted)
			w.add("web-1", drifted, failing(1))
			w.add("web-2", drifted)
			return w
		}, "Drain web-1 (id-web-1) Drifted", false},
		{"after a restart nothing goes before it is checked", func() *world {
			w := newWorld(3)
			w.add("web-0", unchecked)
			w.add("web-1", unchecked)
			w.add("web-2", drifted, unchecked)
			return w
		}, "", false},
		{"hashes that cannot be compared replace nothing", func() *world {
			w := newWorld(2)
			w.add("web-0", func(m *Member) { m.SpecHash = "" })
			w.add("web-1", func(m *Member) { m.SpecHash = "2:00" })
			return w
		}, "", false},
		{"the oldest of the too old goes first", func() *world {
			w := newWorld(3)
			w.Fleets[0].MaxAge = time.Hour
			w.add("web-0", created(2*time.Hour))
			w.add("web-1", created(3*time.Hour))
			w.add("web-2", created(time.Minute))
			return w
		}, "Drain web-1 (id-web-1) TooOld", false},
		{"no time of creation is no age", func() *world {
			w := newWorld(1)
			w.Fleets[0].MaxAge = time.Hour
			w.add("web-0", func(m *Member) { m.Created = time.Time{} })
			return w
		}, "", false},
		{"age waits until the whole fleet works", func() *world {
			w := newWorld(3)
			w.Fleets[0].MaxAge = time.Hour
			w.add("web-0", created(2*time.Hour))
			w.add("web-1", created(time.Minute))
			w.add("web-2", created(time.Minute), failing(1))
			return w
		}, "", false},
		{"a candidate that drained as surplus begins anew", func() *world {
			w := newWorld(2)
			w.add("web-0")
			w.add("web-1", drifted, draining(Surplus, time.Hour))
			return w
		}, "Undrain web-1 (id-web-1) Wanted", false},
		{"two broken ones of a large fleet take turns, the less churned first", func() *world {
			w := newWorld(10)
			w.fill(0, 7)
			w.add("web-8", failing(3), func(m *Member) { m.Check.Worked = false })
			w.add("web-9", failing(3), func(m *Member) { m.Check.Worked = false })
			w.Memory.Names["web-8"] = &Name{Churn: 2}
			return w
		}, "Drain web-9 (id-web-9) NotWorking", false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			p := Decide(test.make().Observed)
			if got := plan(p); got != test.want {
				t.Errorf("got\n%s\nwant\n%s", got, test.want)
			}
			if got := p.Fleets[0].Frozen; got != test.frozen {
				t.Errorf("frozen %v, want %v; %+v", got, test.frozen, p.Fleets[0])
			}
		})
	}
}

// The provider's budget holds over its fleets, and a successor that does not
// come up gives its share back.
func TestReplaceBudgetOfProvider(t *testing.T) {
	w := newWorld(2)
	for _, name := range []string{"api", "img"} {
		f := webFleet(2)
		f.Name = name
		w.Fleets = append(w.Fleets, f)
	}
	for _, f := range w.Fleets {
		w.add(MemberName(f.Name, 0), drifted)
		w.add(MemberName(f.Name, 1))
	}
	w.Policy.Replacing = 2
	if got, want := plan(Decide(w.Observed)), "Drain api-0 (id-api-0) Drifted\nDrain img-0 (id-img-0) Drifted"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	// Both are deleted, and their successors cannot be made.
	for _, name := range []string{"api-0", "img-0"} {
		delete(w.Memory.Members, provider.Ref{Name: name, ID: "id-" + name})
		w.Memory.Names[name] = &Name{Replacing: now, Retry: Retry{After: now.Add(time.Hour)}}
	}
	p := Decide(w.Observed)
	if got := plan(p); got != "" {
		t.Errorf("got %q over the budget", got)
	}
	if want := now.Add(DefaultStart); !p.Wake.Equal(want) {
		t.Errorf("wake at %v, want %v", p.Wake, want)
	}
	w.Now = now.Add(DefaultStart)
	if got, want := plan(Decide(w.Observed)), "Drain web-0 (id-web-0) Drifted"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestAgeLimitIsSpread(t *testing.T) {
	const maxAge = 100 * time.Hour
	quarters := map[int]int{}
	for n := range 400 {
		ref := provider.Ref{Name: MemberName("web", n), ID: "x"}
		d := ageLimit(maxAge, ref)
		if d <= 75*time.Hour-1 || d > maxAge {
			t.Fatalf("%v is outside of three quarters to all of %v", d, maxAge)
		}
		if d != ageLimit(maxAge, ref) {
			t.Fatal("the limit of one instance differs")
		}
		quarters[int((maxAge-d)/(maxAge/16))]++
	}
	for q := range 4 {
		if quarters[q] < 60 {
			t.Errorf("bunched: %v", quarters)
		}
	}
	if d := ageLimit(1, provider.Ref{}); d != 1 {
		t.Errorf("a tiny limit is %v", d)
	}
}
