package daemon

import (
	"cmp"
	"fmt"
	"log/slog"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
)

// The lines of a loop say of each action which member it is about, why, what
// kind of error there was, and what happens next.

func about(a fleet.Action) []any {
	args := []any{"fleet", a.Fleet, "member", a.Ref.Name}
	if a.Ref.ID != "" {
		args = append(args, "id", a.Ref.ID)
	}
	args = append(args, "why", a.Why)
	if a.Detail != "" {
		args = append(args, "detail", a.Detail)
	}
	return args
}

// logDrain is for what takes no call.
func (l *loop) logDrain(a fleet.Action) {
	if a.Op == fleet.Undrain {
		l.log.Info("a member stays after all", append(about(a), "next", "leases are handed out on it again")...)
		return
	}
	next := "no new leases; deleted when the last one ends, or in " + l.settings.policy.Drain.String()
	if l.emptying {
		next = "deleted"
	}
	l.log.Info("a member drains", append(about(a), "next", next)...)
}

func (l *loop) logBegin(a fleet.Action) {
	level := slog.LevelInfo
	if a.Op == fleet.Get || l.memory.Members[a.Ref] != nil && l.memory.Members[a.Ref].Going != "" {
		level = slog.LevelDebug // the same once more
	}
	text := map[fleet.Op]string{
		fleet.Create: "making a member", fleet.Get: "asking for a member that no list shows", fleet.Delete: "deleting a member",
	}[a.Op]
	l.log.Log(l.life, level, text, about(a)...)
}

// logEnd is for the end of a call.
func (l *loop) logEnd(a fleet.Action, inst provider.Instance, err error) {
	kind := provider.KindOf(err)
	args := about(a)
	switch {
	case err == nil && a.Op == fleet.Create:
		l.log.Info("a member is there", append(args, "made", inst.ID, "state", inst.State, "endpoint", inst.Endpoint,
			"next", "handed out when its checks pass")...)
	case err == nil && a.Op == fleet.Get:
		l.log.Debug("a member is there although the list does not show it", args...)
	case err == nil:
		l.log.Info("a member is gone", args...)
	case kind == provider.NotFound && a.Op == fleet.Get:
		l.log.Warn("a member has vanished", append(args, "next", "made again")...)
	case kind == provider.InProgress || kind == provider.Canceled:
		l.log.Debug("a call goes on", append(args, "op", a.Op, "kind", kind, "next", l.retry(a))...)
	default:
		level := slog.LevelWarn
		if kind == provider.Unauthenticated || kind == provider.PermissionDenied || provider.IsPermanent(err) {
			level = slog.LevelError // it takes a person
		}
		l.log.Log(l.life, level, "a call failed", append(args, "op", a.Op, "kind", kind, "error", err, "next", l.retry(a))...)
	}
}

// retry says when an action that failed is tried again.
func (l *loop) retry(a fleet.Action) string {
	var at time.Time
	if n := l.memory.Names[a.Ref.Name]; n != nil && a.Op == fleet.Create {
		at = n.Retry.After
		for _, name := range []string{"", a.Fleet} {
			if g := l.memory.Gates[name]; g != nil && g.After.After(at) {
				at = g.After
			}
		}
	} else if m := l.memory.Members[a.Ref]; m != nil {
		at = m.Retry.After
	}
	return "tried again in " + max(time.Until(at).Round(100*time.Millisecond), 0).String()
}

// noteFrozen says when the freeze of a fleet begins and ends.
func (l *loop) noteFrozen() {
	for _, s := range l.plan.Fleets {
		l.metrics.fleet(l.name, s)
		if s.Frozen == l.frozen[s.Fleet] {
			continue
		}
		l.frozen[s.Fleet] = s.Frozen
		if !s.Frozen {
			l.log.Info("a fleet is not frozen any more", "fleet", s.Fleet, "failing", s.Failing, "checked", s.Checked)
			continue
		}
		l.log.Error("a fleet is frozen: so many members fail their checks together that the check or the network is more likely broken than they are",
			"fleet", s.Fleet, "failing", s.Failing, "checked", s.Checked, "example", l.failure(s.Fleet),
			"next", "none is replaced for not working until the share falls; if the members are broken, change spec.revision to roll them one by one, or delete them with proxyctl")
	}
}

// failure is what a failing member of a fleet says.
func (l *loop) failure(name string) string {
	for _, ref := range l.memory.Refs() {
		m := l.memory.Members[ref]
		if f, _, _ := fleet.ParseMember(ref.Name); f == name && m.Check.Failures > 0 {
			return fmt.Sprintf("%s: %s", ref.Name, cmp.Or(m.Check.Reason, "unknown"))
		}
	}
	return ""
}
