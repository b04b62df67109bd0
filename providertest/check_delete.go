package providertest

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/crawlfleet/provider"
)

func deleteChecks() []check {
	return []check{{
		name: "Delete/Clean", rule: "Delete/1", run: deleteClean,
		says: "When Delete returns nil, the backend holds nothing of the instance, and everything of another.",
	}, {
		name: "Delete/AtOnce", rule: "Delete/1", run: deleteAtOnce,
		says: "Delete at once after Create leaves nothing.",
	}, {
		name: "Delete/Cut", rule: "Delete/1", run: deleteCut, needs: []Need{NeedPlaces},
		says: "Delete, while the place is unreachable, is not nil.",
	}, {
		name: "Delete/Converges", rule: "Delete/2", run: deleteConverges,
		says: "Delete, called again, returns nil within the patience; each InProgress before that has a RetryAfter.",
	}, {
		name: "Delete/Missing", rule: "Delete/3", run: deleteMissing,
		says: "Delete answers nil for a name that never was, for an instance that is deleted, and for a name that only another owner has.",
	}, {
		name: "Delete/Stopped", rule: "Delete/4", run: deleteStopped, needs: []Need{NeedStopper},
		says: "Delete of a stopped instance leaves nothing.",
	}, {
		name: "Delete/Leftovers", rule: "Delete/4", run: deleteLeftovers, needs: []Need{NeedWrecker},
		says: "Delete of an instance whose machine is gone, by ID and by name, leaves nothing.",
	}, {
		name: "Delete/Dropped", rule: "Delete/5", run: deleteDropped, needs: []Need{NeedPlaces},
		says: "Delete by ID, where the place is not configured, answers nil and calls provider.Abandoned.",
	}, {
		name: "Delete/BadID", rule: "Delete/5", run: deleteBadID,
		says: "Delete by an ID that no provider may mint is Invalid and deletes nothing.",
	}, {
		name: "Delete/OldID", rule: "Delete/6", run: deleteOldID,
		says: "Delete by the ID of a deleted instance leaves the one that has its name now.",
	}, {
		name: "Delete/OtherOwner", rule: "Delete/6", run: deleteOtherOwner,
		says: "Delete by another owner, by ID and by name, leaves the instance.",
	}}
}

// mustRemove is a Delete that a check is about.
func (t *trial) mustRemove(p provider.Provider, ref provider.Ref, what string) {
	if err := t.remove(p, ref); err != nil {
		t.failf("Delete of %s answered %v; nil is owed", what, err)
	}
}

func deleteClean(t *trial) {
	p, q := t.open(), t.openAs(ownerB)
	other := t.make(q, t.spec(1))
	t.calm(q, other.Ref)
	before := t.audit(q)
	inst := t.make(p, t.spec(1))
	t.calm(p, inst.Ref)
	t.mustRemove(p, inst.Ref, "a running instance")
	t.nothing(p, "when Delete returned nil")
	t.sameHoldings(q, before, "after a Delete by "+p.Info().Owner)
}

func deleteConverges(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	deadline := time.Now().Add(t.config.patience())
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := t.once(func(ctx context.Context) error { return p.Delete(ctx, inst.Ref) })
		wait := provider.RetryAfter(err)
		switch provider.KindOf(err) {
		case "":
			return
		case provider.InProgress:
			if wait <= 0 {
				t.failf("Delete answered InProgress without a RetryAfter: %v", err)
			}
		case provider.Unavailable:
		default:
			t.failf("Delete answered %v", err)
		}
		if !t.pause(max(pause, wait), deadline) {
			t.failf("Delete did not end within %v: %v", t.config.patience(), err)
		}
	}
}

func deleteMissing(t *trial) {
	p, q := t.open(), t.openAs(ownerB)
	t.mustRemove(p, provider.Ref{Name: t.name("never")}, "a name that never was")
	inst := t.make(p, t.spec(1))
	t.gone(p, inst.Ref)
	t.mustRemove(p, inst.Ref, "a deleted instance, by ID")
	t.mustRemove(p, provider.Ref{Name: inst.Name}, "a deleted instance, by name")
	t.make(q, t.spec(2))
	t.mustRemove(p, provider.Ref{Name: t.name(2)}, "a name that only another owner has")
}

func deleteCut(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.cutOff(inst.Location)
	for _, ref := range []provider.Ref{inst.Ref, {Name: inst.Name}} {
		if err := t.once(func(ctx context.Context) error { return p.Delete(ctx, ref) }); err == nil {
			t.failf("Delete(%s) answers nil although the place that has it does not answer", ref)
		}
	}
}

func deleteAtOnce(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.mustRemove(p, inst.Ref, "an instance that was just created")
	t.nothing(p, "after Delete at once after Create")
}

func deleteStopped(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.stopped(p, inst.Ref)
	t.mustRemove(p, inst.Ref, "a stopped instance")
	t.nothing(p, "after Delete of a stopped instance")
}

func deleteLeftovers(t *trial) {
	p := t.open()
	for i, byName := range []bool{false, true} {
		inst := t.make(p, t.spec(i))
		t.calm(p, inst.Ref)
		t.wrecked(p, inst.Ref)
		ref := inst.Ref
		if byName {
			ref.ID = ""
		}
		t.mustRemove(p, ref, "an instance whose machine is gone")
		t.nothing(p, "after Delete of "+ref.String()+", whose machine was gone,")
	}
}

func deleteDropped(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	_, err := t.harness.(Places).Drop(t.ctx, inst.Location)
	t.harnessed("Drop", err)
	var abandoned atomic.Int64
	q := provider.Instrument(t.open(), func(ctx context.Context, op string, _ provider.Ref) (context.Context, func(error)) {
		if op == provider.OpAbandoned {
			abandoned.Add(1)
		}
		return ctx, nil
	})
	t.mustRemove(q, inst.Ref, "an instance at a place that is not configured")
	if abandoned.Load() == 0 {
		t.failf("Delete gave up what may be left at %q and did not call provider.Abandoned", inst.Location)
	}
}

func deleteBadID(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.calm(p, inst.Ref)
	before := t.audit(p)
	for _, id := range impossibleIDs() {
		err := t.remove(p, provider.Ref{Name: inst.Name, ID: id})
		if k := provider.KindOf(err); k != provider.Invalid {
			t.failf("Delete by the ID %.40q answered %s (%v); Invalid is owed", id, orNil(k), err)
		}
	}
	t.sameHoldings(p, before, "after Delete by IDs that cannot be read")
}

func deleteOldID(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.gone(p, first.Ref)
	second := t.make(p, t.spec(1))
	t.calm(p, second.Ref)
	before := t.audit(p)
	// What it answers is the business of Delete/3.
	_ = t.remove(p, first.Ref)
	t.sameHoldings(p, before, "after Delete by the ID of an earlier incarnation")
}

func deleteOtherOwner(t *trial) {
	p, q := t.open(), t.openAs(ownerB)
	inst := t.make(p, t.spec(1))
	t.calm(p, inst.Ref)
	before := t.audit(p)
	for _, ref := range []provider.Ref{inst.Ref, {Name: inst.Name}} {
		_ = t.remove(q, ref)
		t.sameHoldings(p, before, "after Delete("+ref.String()+") by another owner")
	}
}
