package providertest

import (
	"context"
	"strings"

	"github.com/crawlfleet/provider"
)

func getChecks() []check {
	return []check{{
		name: "Get/Missing", rule: "Get/1", run: getMissing,
		says: "Get of a name that never was answers NotFound.",
	}, {
		name: "Get/Cut", rule: "Get/1", run: getCut, needs: []Need{NeedPlaces},
		says: "Get by ID, while the place is unreachable, is neither NotFound nor Invalid.",
	}, {
		name: "Get/Dropped", rule: "Get/1", run: getDropped, needs: []Need{NeedPlaces},
		says: "Get by ID, where the place is not configured, is an error and not NotFound.",
	}, {
		name: "Get/OwnWrites", rule: "Get/2", run: getOwnWrites,
		says: "Get finds an instance at once after Create, by name and by ID, and neither at once after Delete returned nil.",
	}, {
		name: "Get/BadID", rule: "Get/3", run: getBadID,
		says: "Get of an ID that no provider may mint is Invalid with Field \"ID\"; one of a foreign form is Invalid or NotFound. Neither finds the instance that has the name.",
	}, {
		name: "Get/OldID", rule: "Get/4", run: getOldID,
		says: "Get by the ID of a deleted instance is NotFound although another has the name.",
	}, {
		name: "Get/OtherOwnersID", rule: "Get/4", run: getOtherOwnersID,
		says: "Get by the ID of another owner's instance is NotFound, also where the caller has one of that name.",
	}, {
		name: "Get/Everywhere", rule: "Get/5", run: getEverywhere,
		says: "Get by name finds an instance at each of Info.Locations.",
	}, {
		name: "Get/NameCut", rule: "Get/5", run: getNameCut, needs: []Need{NeedPlaces},
		says: "Get by name, while the place that has it is unreachable, is Unavailable.",
	}}
}

func getMissing(t *trial) {
	p := t.open()
	if _, err := t.get(p, provider.Ref{Name: t.name("never")}); provider.KindOf(err) != provider.NotFound {
		t.failf("Get of a name that never was answered %s (%v); NotFound is owed", orNil(provider.KindOf(err)), err)
	}
}

// cutOff makes the place of an instance unreachable.
func (t *trial) cutOff(location string) {
	_, err := t.harness.(Places).Cut(t.ctx, location)
	t.harnessed("Cut", err)
}

// ask calls Get once.
func (t *trial) ask(p provider.Provider, ref provider.Ref) (provider.Kind, error) {
	err := t.once(func(ctx context.Context) error {
		_, err := p.Get(ctx, ref)
		return err
	})
	return provider.KindOf(err), err
}

func getCut(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.cutOff(inst.Location)
	if k, err := t.ask(p, inst.Ref); k == provider.NotFound || k == provider.Invalid {
		t.failf("Get of an instance at a place that does not answer is %s: %v", k, err)
	}
}

func getDropped(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	_, err := t.harness.(Places).Drop(t.ctx, inst.Location)
	t.harnessed("Drop", err)
	q := t.open()
	if k, err := t.ask(q, inst.Ref); k == provider.NotFound || k == "" {
		t.failf("Get of an instance at a place that is not configured is %s: %v", orNil(k), err)
	}
}

func getOwnWrites(t *trial) {
	p := t.open()
	for i := range 3 {
		inst := t.make(p, t.spec(i))
		for _, ref := range []provider.Ref{{Name: inst.Name}, inst.Ref} {
			got, err := t.get(p, ref)
			if err != nil {
				t.failf("Get(%s) at once after Create: %v", ref, err)
			}
			if got.Ref != inst.Ref {
				t.failf("Get(%s) at once after Create returned %s, which is not what Create returned (%s)", ref, got.Ref, inst.Ref)
			}
		}
		t.gone(p, inst.Ref)
		for _, ref := range []provider.Ref{{Name: inst.Name}, inst.Ref} {
			if _, err := t.get(p, ref); provider.KindOf(err) != provider.NotFound {
				t.failf("Get(%s) at once after Delete answered %s (%v); NotFound is owed", ref, orNil(provider.KindOf(err)), err)
			}
		}
	}
}

// impossibleIDs are IDs that no provider may mint, and foreignIDs some that
// only an unusual one would.
func impossibleIDs() []string {
	return []string{strings.Repeat("x", provider.MaxID+1), "with space", "with\ttab", "ümlaut"}
}

func foreignIDs() []string {
	return []string{"foreign", "projects/suite/zones/suite-1/instances/1", "0/suite/0", "1/suite%zz/0", "//"}
}

func getBadID(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	for _, id := range impossibleIDs() {
		_, err := t.get(p, provider.Ref{Name: inst.Name, ID: id})
		if k := provider.KindOf(err); k != provider.Invalid {
			t.failf("Get by the ID %.40q answered %s (%v); Invalid is owed", id, orNil(k), err)
		}
		if fieldOf(err) != "ID" {
			t.failf("Get by the ID %.40q names the Field %q and not \"ID\": %v", id, fieldOf(err), err)
		}
	}
	for _, id := range foreignIDs() {
		_, err := t.get(p, provider.Ref{Name: inst.Name, ID: id})
		if k := provider.KindOf(err); k != provider.Invalid && k != provider.NotFound {
			t.failf("Get by the ID %q, which is not one of this provider, answered %s (%v)", id, orNil(k), err)
		}
	}
}

func getOldID(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.gone(p, first.Ref)
	second := t.make(p, t.spec(1))
	if first.ID == second.ID {
		t.failf("two incarnations of %s have one ID, %s", first.Name, first.ID)
	}
	if _, err := t.get(p, first.Ref); provider.KindOf(err) != provider.NotFound {
		t.failf("Get by the ID of an earlier incarnation answered %s (%v); NotFound is owed", orNil(provider.KindOf(err)), err)
	}
}

func getOtherOwnersID(t *trial) {
	p, q := t.open(), t.openAs(ownerB)
	theirs := t.make(p, t.spec(1))
	for _, when := range []string{"where the caller has none of that name", "where the caller has one of that name"} {
		if _, err := t.get(q, theirs.Ref); provider.KindOf(err) != provider.NotFound {
			t.failf("Get of another owner's ID, %s, answered %s (%v); NotFound is owed", when, orNil(provider.KindOf(err)), err)
		}
		t.make(q, t.spec(1))
	}
}

func getEverywhere(t *trial) {
	p := t.open()
	locations := p.Info().Locations
	if len(locations) < 2 || !p.Info().Has(provider.FeatureLocation) {
		t.end(NotApplicable, "Info declares no choice of locations")
	}
	for i, location := range locations {
		spec := t.spec(i)
		spec.Location = location
		inst := t.make(p, spec)
		got, err := t.get(p, provider.Ref{Name: spec.Name})
		if err != nil || got.ID != inst.ID {
			t.failf("Get by name of an instance at %q returned %q: %v", location, got.ID, err)
		}
	}
}

func getNameCut(t *trial) {
	p := t.open()
	inst := t.make(p, t.spec(1))
	t.cutOff(inst.Location)
	if k, err := t.ask(p, provider.Ref{Name: inst.Name}); k != provider.Unavailable && k != "" {
		t.failf("Get by name, while the place that has it does not answer, is %s (%v); Unavailable is owed", k, err)
	}
}
