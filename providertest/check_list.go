package providertest

import (
	"context"
	"errors"
	"slices"

	"github.com/crawlfleet/provider"
)

func listChecks() []check {
	return []check{{
		name: "List/Complete", rule: "List/1", run: listComplete,
		says: "List shows each of several instances that were created.",
	}, {
		name: "List/Stopped", rule: "List/1", run: listStopped, needs: []Need{NeedStopper},
		says: "List shows a stopped instance.",
	}, {
		name: "List/Leftovers", rule: "List/1", run: listLeftovers, needs: []Need{NeedWrecker},
		says: "List shows an instance whose machine is gone as Incomplete.",
	}, {
		name: "List/Deleting", rule: "List/1", run: listDeleting,
		says: "List shows an instance for as long as its deletion leaves something on the backend.",
	}, {
		name: "List/OtherOwner", rule: "List/2", run: listOtherOwner,
		says: "List shows nothing of another owner, whether the names differ or not.",
	}, {
		name: "List/Unmarked", rule: "List/2", run: listUnmarked, needs: []Need{NeedSquatter},
		says: "List does not show what holds a derived name without the owner's mark.",
	}, {
		name: "List/Cut", rule: "List/3", run: listCut, needs: []Need{NeedPlaces},
		says: "While a place is unreachable, List returns what the others have beside a PartialError that names the place.",
	}, {
		name: "List/Entries", rule: "List/4", run: listEntries,
		says: "Each instance is listed once, with the ID that Create returned, a known state and a location of Info.",
	}}
}

// named returns the entries of a name.
func named(list []provider.Instance, name string) []provider.Instance {
	return slices.DeleteFunc(slices.Clone(list), func(i provider.Instance) bool { return i.Name != name })
}

// mustList is a List that a check is about.
func (t *trial) mustList(p provider.Provider) []provider.Instance {
	list, err := t.list(p)
	if err != nil {
		t.failf("List: %v", err)
	}
	return list
}

// severalNames is more than a page of a backend that pages by two or three.
const severalNames = 5

func listComplete(t *trial) {
	p := t.open()
	for i := range severalNames {
		t.make(p, t.spec(i))
	}
	list := t.mustList(p)
	for i := range severalNames {
		if len(named(list, t.name(i))) == 0 {
			t.failf("List shows %d of the %d instances; %s is missing", len(list), severalNames, t.name(i))
		}
	}
}

func listStopped(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.stopped(p, inst.Ref)
	if len(named(t.mustList(p), inst.Name)) == 0 {
		t.failf("List does not show the stopped instance %s", inst.Ref)
	}
}

func listLeftovers(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.calm(p, inst.Ref)
	t.wrecked(p, inst.Ref)
	entries := named(t.mustList(p), inst.Name)
	if len(entries) == 0 {
		t.failf("the backend holds %v of %s, and List shows nothing of it", t.audit(p), inst.Name)
	}
	if entries[0].State != provider.Incomplete {
		t.failf("List shows what is left of %s as %q; Incomplete is owed", inst.Name, entries[0].State)
	}
}

func listDeleting(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	err := t.once(func(ctx context.Context) error { return p.Delete(ctx, inst.Ref) })
	switch provider.KindOf(err) {
	case provider.InProgress:
		t.allListed(p)
	case "":
		t.end(NotApplicable, "this backend deletes at once")
	default:
		t.blockf("preparing: Delete: %v", err)
	}
}

func listOtherOwner(t *trial) {
	p, q := t.open(), t.openAs(ownerB)
	t.make(p, t.spec(1))
	theirs := []provider.Instance{t.make(q, t.spec(1)), t.make(q, t.spec(2))}
	for _, entry := range t.mustList(p) {
		if entry.Name == theirs[1].Name || entry.ID == theirs[0].ID {
			t.failf("the List of %s shows %s, which is of %s", p.Info().Owner, entry.Ref, q.Info().Owner)
		}
	}
}

func listUnmarked(t *trial) {
	p := t.open()
	_, err := t.harness.(Squatter).Squat(t.ctx, p.Info().Owner, t.name("foreign"))
	t.harnessed("Squat", err)
	mine := t.make(p, t.spec(1))
	for _, entry := range t.mustList(p) {
		if entry.Name != mine.Name {
			t.failf("List shows %s, which does not carry this owner's mark", entry.Ref)
		}
	}
}

func listCut(t *trial) {
	p := t.open()
	var made []provider.Instance
	for i := range severalNames {
		spec := t.spec(i)
		if all := p.Info().Locations; len(all) > 0 && p.Info().Has(provider.FeatureLocation) {
			spec.Location = all[i%len(all)]
		}
		made = append(made, t.make(p, spec))
	}
	lost := made[0].Location
	t.cutOff(lost)
	var list []provider.Instance
	err := t.once(func(ctx context.Context) (err error) {
		list, err = p.List(ctx)
		return err
	})
	if err == nil {
		t.failf("List answers nil although %q does not answer", lost)
	}
	if len(p.Info().Locations) < 2 {
		return
	}
	var partial *provider.PartialError
	if !errors.As(err, &partial) {
		t.failf("List is not partial although only %q does not answer: %v", lost, err)
	}
	if !slices.ContainsFunc(partial.Missing, func(m provider.Place) bool { return m.Location == lost }) {
		t.failf("the PartialError does not name %q: %v", lost, err)
	}
	for _, inst := range made {
		if inst.Location != lost && len(named(list, inst.Name)) == 0 {
			t.failf("List does not show %s at %q, which answers", inst.Name, inst.Location)
		}
	}
}

func listEntries(t *trial) {
	p := t.open()
	for i := range severalNames {
		made := t.make(p, t.spec(i))
		entries := named(t.mustList(p), made.Name)
		if len(entries) != 1 {
			t.failf("List shows %s %d times", made.Name, len(entries))
		}
		entry := entries[0]
		if entry.ID != made.ID {
			t.failf("List shows %s with the ID %q, and Create returned %q", made.Name, entry.ID, made.ID)
		}
		if entry.State.Known() == provider.Unknown {
			t.failf("List shows %s in the state %q, which is not known", made.Name, entry.State)
		}
		if all := p.Info().Locations; len(all) > 0 && !slices.Contains(all, entry.Location) {
			t.failf("List shows %s at %q, which is not one of Info.Locations %q", made.Name, entry.Location, all)
		}
	}
}
