package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

// machine is an instance of the simulated backend.
type machine struct {
	provider.Instance
	broken bool // its proxy does not work
}

// simulation runs decisions against a backend that misbehaves, until it does
// not any more.
type simulation struct {
	t      *testing.T
	r      *rand.Rand
	now    time.Time
	chaos  bool
	blind  bool // every check fails, as with a broken network
	memory *Memory
	fleets []Fleet
	policy Policy
	leases map[string]int

	backend map[provider.Ref]*machine
	calls   []func() // ends of calls under way
	made    int
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	r := rand.New(rand.NewPCG(seed, 1))
	s := &simulation{
		t: t, r: r, now: now, chaos: true, backend: map[provider.Ref]*machine{}, leases: map[string]int{},
		memory: NewMemory(r.Float64), policy: Policy{Drain: time.Minute, Start: 2 * time.Minute}.withDefaults(),
	}
	for _, name := range []string{"api", "img", "web"} {
		s.fleets = append(s.fleets, Fleet{Name: name, Replicas: r.IntN(6), Spec: provider.Spec{Image: "v1"}})
	}
	return s
}

func (s *simulation) roll(percent int) bool { return s.chaos && s.r.IntN(100) < percent }

// list answers as a backend does whose lists may fail, be partial or be stale.
func (s *simulation) list() {
	var list []provider.Instance
	for _, m := range s.backend {
		list = append(list, m.Instance)
	}
	mark := s.memory.Mark()
	switch {
	case s.roll(10):
		s.memory.Listed(nil, errors.New("down"), mark, s.now)
	case s.roll(20):
		list = slices.DeleteFunc(list, func(provider.Instance) bool { return s.r.IntN(3) == 0 })
		err := &provider.PartialError{Missing: []provider.Place{{Location: "x", Err: errors.New("down")}}}
		s.memory.Listed(list, err, mark, s.now)
	case s.roll(10): // eventually consistent: something is missing without a word
		list = slices.DeleteFunc(list, func(provider.Instance) bool { return s.r.IntN(5) == 0 })
		s.memory.Listed(list, nil, mark, s.now)
	case s.roll(20): // slow: calls end while it is under way
		s.settle()
		s.memory.Listed(list, nil, mark, s.now)
	default:
		s.memory.Listed(list, nil, mark, s.now)
	}
}

// settle ends some of the calls under way.
func (s *simulation) settle() {
	left := s.calls
	s.calls = nil
	for _, end := range left {
		if s.roll(40) {
			s.calls = append(s.calls, end)
			continue
		}
		end()
	}
}

// holds returns the instance that the backend has under a name.
func (s *simulation) holds(name string) *machine {
	for ref, m := range s.backend {
		if ref.Name == name {
			return m
		}
	}
	return nil
}

func (s *simulation) create(a Action) (provider.Instance, error) {
	if s.roll(15) {
		kinds := provider.Kinds()
		return provider.Instance{}, kindError(kinds[s.r.IntN(len(kinds))], time.Duration(s.r.IntN(3))*time.Second)
	}
	m := s.holds(a.Ref.Name)
	switch {
	case m == nil:
		s.made++
		m = &machine{Instance: provider.Instance{
			Ref: provider.Ref{Name: a.Ref.Name, ID: fmt.Sprint("id", s.made)}, State: provider.Pending,
			SpecHash: a.Spec.Hash(), Created: s.now,
		}}
		if s.roll(20) {
			m.State = provider.Incomplete
		}
		m.broken = s.roll(10)
		s.backend[m.Ref] = m
	case m.State == provider.Deleting:
		return provider.Instance{}, kindError(provider.InProgress, 0)
	case m.State == provider.Incomplete:
		m.State = provider.Pending
	}
	if s.roll(20) { // the answer is lost
		return provider.Instance{}, kindError(provider.Unavailable, 0)
	}
	return m.Instance, nil
}

func (s *simulation) delete(a Action) error {
	m, ok := s.backend[a.Ref]
	switch {
	case s.roll(10):
		return kindError(provider.Unavailable, 0)
	case !ok:
		return nil
	case m.State != provider.Deleting && s.r.IntN(2) == 0:
		m.State = provider.Deleting
		return kindError(provider.InProgress, 0)
	}
	delete(s.backend, a.Ref)
	if s.roll(10) {
		return kindError(provider.Unavailable, 0)
	}
	return nil
}

// act begins the actions of a plan, as the loop around it does.
func (s *simulation) act(p Plan) {
	for _, a := range p.Actions {
		if !a.Op.Call() {
			s.memory.Begin(a, s.now)
			continue
		}
		if s.roll(20) {
			continue // no worker is free
		}
		if s.memory.name(a.Ref.Name).Busy != "" {
			s.t.Fatalf("%s planned while %s is under way for it", a.Op, s.memory.name(a.Ref.Name).Busy)
		}
		s.memory.Begin(a, s.now)
		s.calls = append(s.calls, func() {
			var inst provider.Instance
			var err error
			switch a.Op {
			case Create:
				inst, err = s.create(a)
			case Delete:
				err = s.delete(a)
			case Get:
				m, ok := s.backend[a.Ref]
				if err = kindError(provider.NotFound, 0); ok {
					inst, err = m.Instance, nil
				}
			}
			s.memory.Finish(a, inst, err, s.now)
		})
	}
}

// live moves the machines on, and checks those that are known.
func (s *simulation) live() {
	for _, m := range s.backend {
		switch {
		case m.State == provider.Pending:
			m.State = provider.Running
		case s.roll(2):
			m.State = []provider.State{provider.Stopped, provider.Failed, provider.Unknown, provider.Running}[s.r.IntN(4)]
		case m.State == provider.Unknown:
			m.State = provider.Running
		}
		if s.chaos && s.r.IntN(50) == 0 {
			m.broken = !m.broken
		}
	}
	for ref := range s.memory.Members {
		reason := ""
		if m, ok := s.backend[ref]; s.blind || !ok || m.broken || m.State != provider.Running {
			reason = "no answer"
		}
		s.memory.Checked(ref, reason, 1, s.now)
		s.leases[ref.ID] = 0
		if s.roll(20) {
			s.leases[ref.ID] = 1
		}
	}
}

// step is one round: list, decide, act, live.
func (s *simulation) step() {
	s.now = s.now.Add(5 * time.Second)
	if s.roll(2) { // kill -9: what is under way ends unseen, and nothing is remembered
		s.settle()
		s.calls, s.memory = nil, NewMemory(s.r.Float64)
	}
	if s.roll(3) {
		f := &s.fleets[s.r.IntN(len(s.fleets))]
		f.Replicas, f.Spec.Image = s.r.IntN(7), fmt.Sprint("v", s.r.IntN(3))
	}
	s.blind = s.roll(10) || s.blind && s.roll(90)
	s.live()
	s.list()
	p := Decide(Observed{Now: s.now, Fleets: s.fleets, Policy: s.policy, Memory: s.memory, Leases: s.leases})
	s.check(p)
	s.act(p)
	s.budgets()
	s.settle()
}

// check holds a plan against the rules that no chaos excuses.
func (s *simulation) check(p Plan) {
	s.t.Helper()
	frozen := map[string]bool{}
	for _, f := range p.Fleets {
		frozen[f.Fleet] = f.Frozen
		if f.Failing > 1 && f.Failing*10 > f.Checked*3 && !f.Frozen {
			s.t.Fatalf("%d of %d fail, and the fleet is not frozen", f.Failing, f.Checked)
		}
	}
	seen := map[string]bool{}
	for _, a := range p.Actions {
		if seen[a.Ref.Name] {
			s.t.Fatalf("two actions for %s", a.Ref.Name)
		}
		seen[a.Ref.Name] = true
		m := s.memory.Members[a.Ref]
		switch {
		case a.Op == Create && s.memory.Listing == ListFailed:
			s.t.Fatal("a Create under a failed list")
		case a.Op == Create && m != nil:
			s.t.Fatal("a Create that names an incarnation")
		case m == nil || m.Going != "":
		case frozen[a.Fleet] && (a.Why == NotWorking || a.Why == TooOld):
			s.t.Fatalf("%s %s for %s in a frozen fleet", a.Op, a.Ref, a.Why)
		case a.Op == Delete && a.Why != Surplus && s.state(m) == provider.Unknown && a.Why != Duplicate:
			s.t.Fatalf("%s %s for %s in an unknown state", a.Op, a.Ref, a.Why)
		case a.Op == Delete && s.state(m) == provider.Running && m.Drain == "":
			s.t.Fatalf("%s was not drained", a.Ref)
		case a.Op == Delete && s.leases[m.ID] > 0 && s.state(m) == provider.Running && s.now.Before(m.DrainSince.Add(s.policy.Drain)):
			s.t.Fatalf("%s has a lease", a.Ref)
		}
	}
}

func (s *simulation) state(m *Member) provider.State {
	return (&decision{Observed: Observed{Memory: s.memory}}).state(m)
}

// budgets counts what drains to be replaced once the actions have begun.
func (s *simulation) budgets() {
	s.t.Helper()
	total, byFleet := 0, map[string]int{}
	for _, f := range s.fleets {
		for n := range f.Replicas {
			var members []*Member
			for _, m := range s.memory.Members {
				if m.Name == MemberName(f.Name, n) {
					members = append(members, m)
				}
			}
			slices.SortFunc(members, earlier)
			if m := keep(members); m != nil && m.Drain.replaces() && m.Going == "" {
				byFleet[f.Name]++
				total++
			}
		}
	}
	for f, n := range byFleet {
		if n > 1 {
			for _, m := range s.memory.Members {
				s.t.Logf("%+v", *m)
			}
			s.t.Fatalf("%d members of %s drain to be replaced", n, f)
		}
	}
	if total > s.policy.Replacing {
		s.t.Fatalf("%d members drain to be replaced, of %d", total, s.policy.Replacing)
	}
}

// wanted is what the backend shall have in the end.
func (s *simulation) settledAsWanted() error {
	names := map[string]bool{}
	for ref, m := range s.backend {
		fleet, n, _ := ParseMember(ref.Name)
		f := s.fleets[slices.IndexFunc(s.fleets, func(f Fleet) bool { return f.Name == fleet })]
		switch {
		case names[ref.Name]:
			return fmt.Errorf("%s is there twice", ref.Name)
		case n >= f.Replicas:
			return fmt.Errorf("%s is left, of %d", ref.Name, f.Replicas)
		case m.State != provider.Running || m.broken:
			return fmt.Errorf("%s is %s, broken %v", ref, m.State, m.broken)
		case !f.spec(ref.Name).MatchesHash(m.SpecHash):
			return fmt.Errorf("%s is of another spec", ref)
		}
		names[ref.Name] = true
	}
	want := 0
	for _, f := range s.fleets {
		want += f.Replicas
	}
	if len(names) != want {
		return fmt.Errorf("%d members, want %d", len(names), want)
	}
	return nil
}

// Whatever the backend does for a while, and however often the program is
// killed, the fleets are as wanted some time after it behaves, and the rules
// hold all the time.
func TestSimulation(t *testing.T) {
	for seed := range uint64(300) {
		s := newSimulation(t, seed)
		for range 200 {
			s.step()
		}
		s.chaos = false
		for _, m := range s.backend {
			// A mass failure stays frozen, as it should; a person repairs it.
			m.broken = m.broken && seed%2 == 0 && s.r.IntN(8) == 0
		}
		s.repairMassFailures()
		var err error
		for range 1500 {
			if s.step(); s.settledAsWanted() == nil {
				break
			}
		}
		if err = s.settledAsWanted(); err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		made := s.made
		for range 50 {
			s.step()
		}
		if err := s.settledAsWanted(); err != nil || s.made != made {
			t.Fatalf("seed %d: it does not stay so: %v, %d made", seed, err, s.made-made)
		}
	}
}

// repairMassFailures leaves one broken member in each fleet at most, so that
// no fleet ends frozen.
func (s *simulation) repairMassFailures() {
	seen := map[string]bool{}
	for ref, m := range s.backend {
		fleet, _, _ := ParseMember(ref.Name)
		if m.broken && seen[fleet] {
			m.broken = false
		}
		seen[fleet] = seen[fleet] || m.broken
	}
}
