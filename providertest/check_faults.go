package providertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/crawlfleet/provider"
)

// faultChecks break the calls of a provider to its backend, one at a time.
func faultChecks() []check {
	needs := []Need{NeedBreaker}
	return []check{{
		name: "Create/Faults", rule: "Create/5", run: createFaults, needs: needs,
		says: "Whichever call of a Create fails, hangs, loses its answer or comes late: List shows what is there, Create again ends with one machine, and Delete with nothing.",
	}, {
		name: "Get/Faults", rule: "Get/1", run: getFaults, needs: needs,
		says: "Whichever call of a Get by ID fails or loses its answer: it is neither NotFound nor Invalid.",
	}, {
		name: "Get/NameFaults", rule: "Get/5", run: getNameFaults, needs: needs,
		says: "Whichever call of a Get by name fails or loses its answer: it is neither NotFound nor Invalid.",
	}, {
		name: "List/Faults", rule: "List/3", run: listFaults, needs: needs,
		says: "Whichever call of a List fails or loses its answer: List has an error, or shows everything.",
	}, {
		name: "Delete/Faults", rule: "Delete/1", run: deleteFaults, needs: needs,
		says: "Whichever call of a Delete fails or loses its answer: Delete is nil only when nothing is left, and called again ends with nothing.",
	}, {
		name: "All/Hang", rule: "All/2", run: allHang, needs: needs,
		says: "While nothing answers, each method ends within the patience once its context does, as Canceled or Unavailable, and matches the context's error.",
	}}
}

// leaveAfter is how long a caller waits for a call that took d when nothing
// was broken.
func leaveAfter(d time.Duration) time.Duration { return 2*d + 20*time.Millisecond }

func createFaults(t *trial) {
	p := t.open()
	var clean provider.Instance
	started := time.Now()
	points := t.recorded(func() { clean = t.make(p, t.spec("clean")) })
	wait := leaveAfter(time.Since(started))
	t.gone(p, clean.Ref)
	for i, at := range points {
		for _, fault := range []Fault{Fail, Hang, CutAfter, Late} {
			if fault == Late && !at.call.Writes {
				continue
			}
			spec := t.spec(fmt.Sprintf("%d-%.1s", i, fault))
			what := fmt.Sprintf("Create with call %d (%s) broken: %s", at.call.Seq, at.call.Name, fault)
			t.breaks(at, fault)
			err := t.impatient(wait, func(ctx context.Context) error { _, err := p.Create(ctx, spec); return err })
			t.broken(nil)
			if lies(err) {
				t.failf("%s answered %v", what, err)
			}
			t.allListed(p)
			t.createdAgain(p, spec, what)
			t.deletedAgain(p, spec, what)
		}
	}
	t.swept(p)
}

// createdAgain fails the check unless Create, called again, ends with one
// machine.
func (t *trial) createdAgain(p provider.Provider, spec provider.Spec, what string) {
	if _, err := t.create(p, spec); err != nil {
		t.failf("after %s, Create again answered %v", what, err)
	}
	err := t.eventually(func() error {
		if n := t.machines(p, spec.Name); n != 1 {
			return fmt.Errorf("the backend holds %d machines", n)
		}
		return nil
	})
	if err != nil {
		t.failf("after %s and Create again, %v", what, err)
	}
}

// deletedAgain fails the check unless Delete by name ends with nothing of that
// name.
func (t *trial) deletedAgain(p provider.Provider, spec provider.Spec, what string) {
	err := t.eventually(func() error {
		if err := t.remove(p, provider.Ref{Name: spec.Name}); err != nil && provider.KindOf(err) != provider.NotFound {
			return err
		}
		held := slices.DeleteFunc(t.audit(p), func(r Resource) bool { return r.Instance != spec.Name })
		if len(held) > 0 {
			return fmt.Errorf("the backend holds %v", held)
		}
		return nil
	})
	if err != nil {
		t.failf("after %s, Create again and Delete: %v", what, err)
	}
}

// swept deletes what List shows, as a collector does, and fails the check
// unless nothing is left then. It finds what came late, after the Delete of its
// name.
func (t *trial) swept(p provider.Provider) {
	err := t.eventually(func() error {
		list, err := t.list(p)
		if err != nil {
			return err
		}
		for _, inst := range list {
			if err := t.remove(p, inst.Ref); err != nil && provider.KindOf(err) != provider.NotFound {
				return err
			}
		}
		if held := t.audit(p); len(held) > 0 {
			return fmt.Errorf("the backend holds %v", held)
		}
		return nil
	})
	if err != nil {
		t.failf("after Creates with broken calls, and Delete of all that List shows: %v", err)
	}
}

// brief are the faults that end by themselves.
func brief() []Fault { return []Fault{Fail, CutAfter} }

func getFaults(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.calm(p, inst.Ref)
	t.getBroken(p, inst.Ref)
}

func getNameFaults(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.calm(p, inst.Ref)
	t.getBroken(p, provider.Ref{Name: inst.Name})
}

// getBroken breaks each call of a Get of an instance that there is.
func (t *trial) getBroken(p provider.Provider, ref provider.Ref) {
	for _, at := range t.recorded(func() { _, _ = t.ask(p, ref) }) {
		for _, fault := range brief() {
			t.breaks(at, fault)
			k, err := t.ask(p, ref)
			t.broken(nil)
			if lies(err) {
				t.failf("Get(%s) with call %d (%s) broken, %s, answered %s: %v", ref, at.call.Seq, at.call.Name, fault, k, err)
			}
		}
	}
}

func listFaults(t *trial) {
	p := t.open()
	for i := range severalNames {
		t.make(p, t.spec(i))
	}
	var list []provider.Instance
	once := func(ctx context.Context) (err error) {
		list, err = p.List(ctx)
		return err
	}
	for _, at := range t.recorded(func() { _ = t.once(once) }) {
		for _, fault := range brief() {
			t.breaks(at, fault)
			err := t.once(once)
			t.broken(nil)
			for i := range severalNames {
				if err == nil && len(named(list, t.name(i))) == 0 {
					t.failf("List with call %d (%s) broken, %s, answered nil and does not show %s", at.call.Seq, at.call.Name, fault, t.name(i))
				}
			}
		}
	}
}

func deleteFaults(t *trial) {
	p := t.open()
	clean := t.make(p, t.spec("clean"))
	t.calm(p, clean.Ref)
	points := t.recorded(func() { t.gone(p, clean.Ref) })
	for i, at := range points {
		for _, fault := range brief() {
			inst := t.make(p, t.spec(fmt.Sprintf("%d-%.1s", i, fault)))
			t.calm(p, inst.Ref)
			what := fmt.Sprintf("Delete with call %d (%s) broken: %s", at.call.Seq, at.call.Name, fault)
			t.breaks(at, fault)
			err := t.untilBroken(p, inst.Ref)
			t.broken(nil)
			if err == nil {
				t.nothing(p, "after "+what+" had answered nil,")
			}
			if lies(err) {
				t.failf("%s answered %v", what, err)
			}
			if err := t.remove(p, inst.Ref); err != nil && provider.KindOf(err) != provider.NotFound {
				t.failf("after %s, Delete again answered %v", what, err)
			}
			t.nothing(p, "after "+what+" and Delete again")
		}
	}
}

// untilBroken calls Delete as long as it is in progress.
func (t *trial) untilBroken(p provider.Provider, ref provider.Ref) error {
	deadline := time.Now().Add(t.config.patience())
	for {
		err := t.once(func(ctx context.Context) error { return p.Delete(ctx, ref) })
		if provider.KindOf(err) != provider.InProgress || !t.pause(max(firstPause, provider.RetryAfter(err)), deadline) {
			return err
		}
	}
}

func allHang(t *trial) {
	p := t.open()
	for _, m := range t.methods() {
		started := time.Now()
		if err := t.once(func(ctx context.Context) error { return m.call(ctx, p) }); provider.KindOf(err) == provider.Invalid {
			t.blockf("preparing: %s: %v", m.op, err)
		}
		wait := leaveAfter(time.Since(started))
		var asked atomic.Bool
		t.broken(func(Call) Fault { asked.Store(true); return Hang })
		err := t.impatient(wait, func(ctx context.Context) error { return m.call(ctx, p) })
		t.broken(nil)
		if !asked.Load() {
			continue
		}
		if !errors.Is(err, context.Canceled) {
			t.failf("%s, canceled while nothing answers, returned %v, which does not match context.Canceled", m.op, err)
		}
		if k := provider.KindOf(err); k != provider.Canceled && k != provider.Unavailable {
			t.failf("%s, canceled while nothing answers, returned %s: %v", m.op, k, err)
		}
	}
}
