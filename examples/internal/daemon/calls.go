package daemon

import (
	"context"
	"errors"
	"maps"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
)

// Deadlines of calls to a provider. They are for a backend that hangs: a cloud
// that works takes a minute or two to accept.
const (
	listTimeout   = time.Minute
	getTimeout    = 30 * time.Second
	createTimeout = 5 * time.Minute
	deleteTimeout = 5 * time.Minute
)

// list begins a list when one is due, and returns when the next is.
func (l *loop) list(now time.Time) time.Time {
	if l.listed.busy {
		return now.Add(listTimeout)
	}
	if now.Before(l.listed.next) {
		return l.listed.next
	}
	l.listed.busy = true
	mark, p, emptying := l.memory.Mark(), l.p, l.emptying
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, listTimeout)
		defer cancel()
		list, err := p.List(ctx)
		l.send(func() {
			l.listed.emptying = emptying
			l.listEnded(list, err, mark)
		})
	})
	return now.Add(listTimeout)
}

// listEnded notes what a list answered.
func (l *loop) listEnded(list []provider.Instance, err error, mark uint64) {
	now := time.Now()
	before := l.states()
	first := l.memory.Listing == fleet.NotListed
	l.memory.Listed(list, err, mark, now)
	if !maps.Equal(before, l.states()) {
		l.changed()
	}
	if first && l.memory.Listing != fleet.ListFailed {
		l.log.Info("the provider was listed for the first time", "instances", len(list))
	}
	l.listed.busy = false
	l.listed.next = now.Add(min(max(now.Sub(l.listed.changed)/5, minList), maxList))
	l.board.listed(l.name, list, err, now)
	text := ""
	if err != nil {
		text = string(provider.KindOf(err))
	}
	if text != l.listed.err {
		l.listed.err = text
		l.logList(err)
	}
}

// logList says that lists fail now, or do not any more.
func (l *loop) logList(err error) {
	_, partial := errors.AsType[*provider.PartialError](err)
	switch {
	case err == nil:
		l.log.Info("the provider can be listed again")
	case partial:
		l.log.Warn("the provider cannot list all its places; members there are left as they are", "kind", provider.KindOf(err),
			"error", err, "next", "listed again every "+maxList.String())
	default:
		l.log.Error("the provider cannot be listed; its members are used as long as they pass their checks, and none is made",
			"kind", provider.KindOf(err), "error", err, "next", "listed again every "+maxList.String())
	}
}

// states is what the members are, to see whether a list brought news.
func (l *loop) states() map[provider.Ref]provider.State {
	states := make(map[provider.Ref]provider.State, len(l.memory.Members))
	for ref, m := range l.memory.Members {
		states[ref] = m.State
	}
	return states
}

// begin begins an action, when a call is free for it. It reports whether the
// action was done on the spot, so that a new decision is needed.
func (l *loop) begin(a fleet.Action, now time.Time) bool {
	if !a.Op.Call() {
		l.logDrain(a)
		l.memory.Begin(a, now)
		l.metrics.action(l.name, a, nil)
		return true
	}
	if l.calls >= l.settings.concurrency {
		return false
	}
	l.calls++
	l.logBegin(a)
	l.memory.Begin(a, now)
	p := l.p
	l.wg.Go(func() {
		inst, err := l.call(p, a)
		l.send(func() { l.ended(a, inst, err) })
	})
	return false
}

// call makes the call of an action.
func (l *loop) call(p provider.Provider, a fleet.Action) (provider.Instance, error) {
	within, timeout := l.life, deleteTimeout
	switch a.Op {
	case fleet.Create:
		within, timeout = l.creating, createTimeout
	case fleet.Get:
		timeout = getTimeout
	}
	ctx, cancel := context.WithTimeout(within, timeout)
	defer cancel()
	switch a.Op {
	case fleet.Create:
		// What is known by an ID is asked for with Get before; see fleet.
		return provider.Ensure(ctx, p, a.Spec, "")
	case fleet.Get:
		return p.Get(ctx, a.Ref)
	}
	return provider.Instance{}, p.Delete(ctx, a.Ref)
}

// ended notes how the call of an action ended.
func (l *loop) ended(a fleet.Action, inst provider.Instance, err error) {
	l.calls--
	l.memory.Finish(a, inst, err, time.Now())
	l.metrics.action(l.name, a, err)
	l.logEnd(a, inst, err)
	l.changed()
}
