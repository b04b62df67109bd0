package providertest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// createOverChecks are about a Create that finds something, or leaves it.
func createOverChecks() []check {
	return []check{{
		name: "Create/Squatted", rule: "Create/2", run: createSquatted, needs: []Need{NeedSquatter},
		says: "Where something foreign holds the derived name, Create answers Conflict, and leaves it as it was.",
	}, {
		name: "Create/Canceled", rule: "Create/5", run: createCanceled,
		says: "After a Create that was canceled at any moment, List shows all that the backend holds, and Delete removes it.",
	}, {
		name: "Create/WhileDeleting", rule: "Create/6", run: createWhileDeleting,
		says: "Create during a deletion answers InProgress, and after it makes an instance with another ID.",
	}, {
		name: "Create/OtherSpec", rule: "Create/7", run: createOtherSpec,
		says: "Create with a changed spec returns the instance with the SpecHash and labels that it was made with.",
	}, {
		name: "Create/Stopped", rule: "Create/7", run: createStopped, needs: []Need{NeedStopper},
		says: "Create over a stopped instance returns it as stopped or failed and does not start it.",
	}, {
		name: "Create/Incomplete", rule: "Create/8", run: createIncomplete, needs: []Need{NeedWrecker},
		says: "Create over what is left of an instance ends, within the patience, with one machine.",
	}}
}

func createSquatted(t *trial) {
	p, spec := t.open(), t.spec(1)
	intact, err := t.harness.(Squatter).Squat(t.ctx, p.Info().Owner, spec.Name)
	t.harnessed("Squat", err)
	inst, err := t.create(p, spec)
	if k := provider.KindOf(err); k != provider.Conflict {
		t.failf("Create over something foreign answered %s (%v) and the ID %q; Conflict is owed", orNil(k), err, inst.ID)
	}
	if err := intact(t.ctx); err != nil {
		t.failf("after the Conflict: %v", err)
	}
	t.nothing(p, "after the Conflict")
}

// cancellations is at how many moments of a Create it is canceled.
const cancellations = 8

func createCanceled(t *trial) {
	p := t.open()
	started := time.Now()
	clean := t.make(p, t.spec("clean"))
	took := time.Since(started)
	t.gone(p, clean.Ref)
	for i := range cancellations {
		spec := t.spec(i)
		ctx, cancel := context.WithCancel(t.ctx)
		timer := time.AfterFunc(took*time.Duration(i)/cancellations, cancel)
		_, err := p.Create(ctx, spec)
		timer.Stop()
		cancel()
		t.busy(err)
		t.allListed(p)
		err = t.eventually(func() error {
			err := t.remove(p, provider.Ref{Name: spec.Name})
			if k := provider.KindOf(err); k != "" && k != provider.NotFound {
				return fmt.Errorf("Delete(%s): %w", spec.Name, err)
			}
			if held := t.audit(p); len(held) > 0 {
				return fmt.Errorf("the backend still holds %v", held)
			}
			return nil
		})
		if err != nil {
			t.failf("Delete after a canceled Create: %v", err)
		}
	}
}

// allListed fails the check when the backend holds something, before and after
// a List, whose instance the List does not have.
func (t *trial) allListed(p provider.Provider) {
	before := t.audit(p)
	list, err := t.list(p)
	if err != nil {
		t.blockf("List: %v", err)
	}
	after := t.audit(p)
	for _, r := range before {
		if r.Instance == "" {
			continue
		}
		listed := slices.ContainsFunc(list, func(i provider.Instance) bool { return i.Name == r.Instance })
		if !listed && slices.Contains(after, r) {
			t.failf("the backend holds %v, and List shows nothing of it", r)
		}
	}
}

func createWhileDeleting(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	switch err := t.once(func(ctx context.Context) error { return p.Delete(ctx, first.Ref) }); provider.KindOf(err) {
	case "":
	case provider.InProgress:
		t.createOver(p, first)
		t.gone(p, first.Ref)
	default:
		t.blockf("preparing: Delete: %v", err)
	}
	second, err := t.create(p, t.spec(1))
	if err != nil {
		t.failf("Create after the deletion: %v", err)
	}
	if second.ID == first.ID {
		t.failf("Create after the deletion returned the ID of the deleted instance, %s", first.ID)
	}
}

// createOver creates once while first is being deleted.
func (t *trial) createOver(p provider.Provider, first provider.Instance) {
	var made provider.Instance
	err := t.once(func(ctx context.Context) (err error) {
		made, err = p.Create(ctx, t.spec(1))
		return err
	})
	switch k := provider.KindOf(err); {
	case k == "" && made.ID == first.ID:
		t.failf("Create returned the instance that is being deleted, %s", first.Ref)
	case k != "" && k != provider.InProgress && k != provider.Unavailable:
		t.failf("Create during a deletion answered %v; InProgress is owed", err)
	}
}

func createOtherSpec(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.calm(p, first.Ref)
	before := t.audit(p)
	changed := t.spec(1)
	changed.Revision = "another"
	if p.Info().Has(provider.FeatureLabels) {
		changed.Labels = map[string]string{"suite": "changed"}
	}
	second, err := t.create(p, changed)
	t.same(first, second, err, "Create with another spec")
	t.sameHoldings(p, before, "after Create with another spec")
}

func createStopped(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.stopped(p, first.Ref)
	second, err := t.create(p, t.spec(1))
	t.same(first, second, err, "Create over a stopped instance")
	if second.State != provider.Stopped && second.State != provider.Failed {
		t.failf("Create over a stopped instance returned the state %q", second.State)
	}
	now, err := t.get(p, first.Ref)
	if err != nil || now.State != provider.Stopped && now.State != provider.Failed {
		t.failf("after Create the stopped instance is %q (%v)", now.State, err)
	}
}

func createIncomplete(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.wrecked(p, first.Ref)
	second, err := t.create(p, t.spec(1))
	if err != nil {
		t.failf("Create over an incomplete instance: %v", err)
	}
	if second.State == provider.Incomplete {
		t.failf("Create returned an instance that is still Incomplete")
	}
	t.oneMachine(p, second.Name)
}
