package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/crawlfleet/provider"
)

// The steps below come in two sorts. Those that return an error are for what a
// check is about. Those that do not (make, gone, ...) prepare: when one fails,
// the check is blocked, because another check fails for that reason.

// create calls Create until it answers something final.
func (t *trial) create(p provider.Provider, spec provider.Spec) (provider.Instance, error) {
	var inst provider.Instance
	err := t.settle(func(ctx context.Context) (err error) {
		inst, err = p.Create(ctx, spec)
		return err
	})
	return inst, err
}

// get calls Get until it answers something final.
func (t *trial) get(p provider.Provider, ref provider.Ref) (provider.Instance, error) {
	var inst provider.Instance
	err := t.settle(func(ctx context.Context) (err error) {
		inst, err = p.Get(ctx, ref)
		return err
	})
	return inst, err
}

// list calls List until it answers something final.
func (t *trial) list(p provider.Provider) ([]provider.Instance, error) {
	var list []provider.Instance
	err := t.settle(func(ctx context.Context) (err error) {
		list, err = p.List(ctx)
		return err
	})
	return list, err
}

// remove calls Delete until it answers something final.
func (t *trial) remove(p provider.Provider, ref provider.Ref) error {
	return t.settle(func(ctx context.Context) error { return p.Delete(ctx, ref) })
}

// make creates an instance as a preparation.
func (t *trial) make(p provider.Provider, spec provider.Spec) provider.Instance {
	inst, err := t.create(p, spec)
	if err != nil {
		t.blockf("preparing: Create(%s): %v", spec.Name, err)
	}
	return inst
}

// gone deletes an instance as a preparation.
func (t *trial) gone(p provider.Provider, ref provider.Ref) {
	if err := t.remove(p, ref); err != nil {
		t.blockf("preparing: Delete(%s): %v", ref, err)
	}
}

// harnessed reports an error of an optional interface: one that is unsupported
// makes the check not applicable.
func (t *trial) harnessed(what string, err error) {
	if errors.Is(err, errors.ErrUnsupported) {
		t.end(NotApplicable, fmt.Sprintf("%s: %v", what, err))
	}
	if err != nil {
		t.blockf("preparing: %s: %v", what, err)
	}
}

// stopped ends the machine of an instance from outside and waits until the
// provider has seen it.
func (t *trial) stopped(p provider.Provider, ref provider.Ref) {
	t.harnessed("Stop", t.harness.(Stopper).Stop(t.ctx, p.Info().Owner, ref))
	err := t.eventually(func() error {
		inst, err := t.get(p, ref)
		if err == nil && inst.State != provider.Stopped && inst.State != provider.Failed {
			return fmt.Errorf("is %q", inst.State)
		}
		return err
	})
	if err != nil {
		t.blockf("preparing: the stopped instance does not become Stopped or Failed: %v", err)
	}
}

// wrecked removes the machine of an instance and leaves the rest.
func (t *trial) wrecked(p provider.Provider, ref provider.Ref) {
	t.harnessed("Wreck", t.harness.(Wrecker).Wreck(t.ctx, p.Info().Owner, ref))
}

// audit returns what the backend holds for the owner of p, sorted. Without an
// Audit it is what p lists, and the report says so.
func (t *trial) audit(p provider.Provider) []Resource {
	held, err := t.harness.Audit(t.ctx, p.Info().Owner)
	if errors.Is(err, errors.ErrUnsupported) {
		t.mu.Lock()
		t.unaudited = true
		t.mu.Unlock()
		held, err = t.listed(p)
	}
	if err != nil {
		t.blockf("the backend cannot be audited: %v", err)
	}
	slices.SortFunc(held, func(a, b Resource) int {
		return cmp.Or(cmp.Compare(a.Instance, b.Instance), cmp.Compare(a.Type, b.Type), cmp.Compare(a.ID, b.ID))
	})
	return held
}

// listed is what a harness without Audit has to be content with.
func (t *trial) listed(p provider.Provider) ([]Resource, error) {
	list, err := t.list(p)
	var held []Resource
	for _, inst := range list {
		held = append(held, Resource{Type: "instance", ID: inst.ID, Instance: inst.Name,
			Machine: inst.State != provider.Incomplete})
	}
	return held, err
}

// machines returns how many machines of a name the backend holds for the
// owner of p.
func (t *trial) machines(p provider.Provider, name string) int {
	n := 0
	for _, r := range t.audit(p) {
		if r.Machine && r.Instance == name {
			n++
		}
	}
	return n
}

// oneMachine fails the check unless the backend comes to hold exactly one
// machine of the name.
func (t *trial) oneMachine(p provider.Provider, name string) {
	err := t.eventually(func() error {
		if n := t.machines(p, name); n != 1 {
			return fmt.Errorf("the backend holds %d machines named %s, not one", n, name)
		}
		return nil
	})
	if err != nil {
		t.failf("%v", err)
	}
}

// calm waits until an instance has come up, or has stopped changing, so that
// what the backend holds changes no more by itself.
func (t *trial) calm(p provider.Provider, ref provider.Ref) {
	_ = t.eventually(func() error {
		inst, err := t.get(p, ref)
		if err == nil && inst.State == provider.Pending {
			return fmt.Errorf("is still %s", inst.State)
		}
		return err
	})
}

// sameHoldings fails the check unless the backend comes to hold the same as
// before.
func (t *trial) sameHoldings(p provider.Provider, before []Resource, after string) {
	err := t.eventually(func() error {
		if held := t.audit(p); !slices.Equal(held, before) {
			return fmt.Errorf("%s the backend holds %v, and before it %v", after, held, before)
		}
		return nil
	})
	if err != nil {
		t.failf("%v", err)
	}
}

// nothing fails the check when the backend holds anything for the owner of p
// now.
func (t *trial) nothing(p provider.Provider, after string) {
	if held := t.audit(p); len(held) > 0 {
		t.failf("%s the backend still holds %v", after, held)
	}
}
