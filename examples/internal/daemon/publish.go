package daemon

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// publish puts up what the loop knows. When it returns, the pool hands out
// nothing on what drains.
func (l *loop) publish() {
	var proxies []lease.Proxy
	for _, ref := range l.memory.Refs() {
		m := l.memory.Members[ref]
		if f, ok := l.settings.fleet(ref.Name); ok && ref.ID != "" {
			proxies = append(proxies, l.view(f, m))
		}
	}
	var left []string
	for _, ref := range l.memory.Refs() {
		left = append(left, ref.String())
	}
	l.board.put(l.name, proxies, l.fleets(), left)
}

// view is a member as the pool sees it.
func (l *loop) view(f *fleet.Fleet, m *fleet.Member) lease.Proxy {
	p := lease.Proxy{
		ID: m.ID, Name: m.Name, Fleet: f.Name, Provider: l.name, Location: m.Location, Scheme: m.Scheme, Endpoint: m.Endpoint,
		Egress: m.Egress, Labels: m.Labels, Credentials: l.history.credentials(f.Name, m.Name, m.SpecHash), State: m.State,
		Working: m.Check.Working && checkable(m), Draining: m.Drain != "" || m.Going != "", Since: m.Check.Since,
	}
	if p.Labels == nil {
		p.Labels = f.Spec.Labels
	}
	if learned := l.egress[m.Ref]; learned.IsValid() {
		p.Egress = learned
	}
	switch {
	case p.Draining:
		p.Reason = string(cmp.Or(m.Going, m.Drain))
		p.Since = later(p.Since, m.DrainSince)
	case m.State == provider.Failed || m.State == provider.Stopped:
		p.Reason, p.Message = cmp.Or(m.Reason, string(m.State)), m.Message
	case !p.Working && m.Check.Worked:
		p.Reason, p.Message = string(fleet.NotWorking), m.Check.Reason
	case !p.Working:
		p.Reason, p.Message = "Starting", m.Check.Reason
	}
	return p
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// fleets is what a person sees of the fleets here.
func (l *loop) fleets() []Fleet {
	byName := map[string][]*fleet.Member{}
	for _, ref := range l.memory.Refs() {
		byName[ref.Name] = append(byName[ref.Name], l.memory.Members[ref])
	}
	var list []Fleet
	for _, f := range l.settings.fleets {
		status := fleet.Status{Fleet: f.Name, Replicas: f.Replicas}
		if i := slices.IndexFunc(l.plan.Fleets, func(s fleet.Status) bool { return s.Fleet == f.Name }); i >= 0 {
			status = l.plan.Fleets[i]
		}
		if f.Replicas == 0 && status.Present == 0 {
			continue
		}
		names := map[string]bool{}
		for n := range f.Replicas {
			names[fleet.MemberName(f.Name, n)] = true
		}
		for name := range byName {
			if owner, _, ok := fleet.ParseMember(name); ok && owner == f.Name {
				names[name] = true
			}
		}
		out := Fleet{Status: status, Provider: l.name}
		for _, name := range slices.SortedFunc(maps.Keys(names), compareNames) {
			out.Members = append(out.Members, l.phase(name, byName[name]))
		}
		// The plan is from before the last checks, which a reader has seen.
		out.Status.Working = 0
		for _, m := range out.Members[:min(f.Replicas, len(out.Members))] {
			if m.Phase == PhaseWorks {
				out.Status.Working++
			}
		}
		list = append(list, out)
	}
	return list
}

// The phases of a [Member].
const (
	// PhaseWaiting: it is to be made.
	PhaseWaiting = "waiting"
	// PhaseMaking: its Create is under way.
	PhaseMaking = "making"
	// PhaseBooting: it is there and does not run yet.
	PhaseBooting = "booting"
	// PhaseChecking: it runs, and its proxy has yet to work.
	PhaseChecking = "checking"
	// PhaseWorks: leases are handed out on it.
	PhaseWorks = "works"
	// PhaseBroken: it worked, and does not now.
	PhaseBroken = "broken"
	// PhaseDraining: it is to go, and has no new leases.
	PhaseDraining = "draining"
	// PhaseDeleting: its Delete is under way.
	PhaseDeleting = "deleting"
	// PhaseUnknown: its provider does not know.
	PhaseUnknown = "unknown"
)

// phase says where a name is.
func (l *loop) phase(name string, members []*fleet.Member) Member {
	out := Member{Name: name, Phase: PhaseWaiting}
	n := l.memory.Names[name]
	if len(members) == 0 {
		if n != nil && n.Busy == fleet.Create {
			out.Phase = PhaseMaking
		} else if n != nil {
			out.Detail = string(n.Retry.Kind)
		}
		if f, ok := l.settings.fleet(name); ok && l.memory.Gates[f.Name] != nil {
			out.Detail = string(l.memory.Gates[f.Name].Kind)
		}
		return out
	}
	m := members[0]
	switch {
	case m.Going != "" || m.State == provider.Deleting:
		out.Phase, out.Detail = PhaseDeleting, string(m.Going)
	case m.Drain != "":
		out.Phase, out.Detail = PhaseDraining, string(m.Drain)
	case m.Check.Working && checkable(m):
		out.Phase, out.Detail = PhaseWorks, m.Endpoint
	case m.State == provider.Pending || m.State == provider.Incomplete:
		out.Phase = PhaseBooting
	case m.State == provider.Running && !m.Check.Worked:
		out.Phase, out.Detail = PhaseChecking, m.Check.Reason
	case m.State.Known() == provider.Unknown:
		out.Phase = PhaseUnknown
	default:
		out.Phase, out.Detail = PhaseBroken, cmp.Or(m.Check.Reason, m.Reason)
	}
	return out
}

// compareNames orders names of members by their numbers, and other names as
// texts.
func compareNames(a, b string) int {
	fa, na, okA := fleet.ParseMember(a)
	fb, nb, okB := fleet.ParseMember(b)
	if okA && okB {
		return cmp.Or(cmp.Compare(fa, fb), cmp.Compare(na, nb))
	}
	return cmp.Compare(a, b)
}
