package providertest

import (
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/crawlfleet/provider"
)

func createChecks() []check {
	return []check{{
		name: "Create/New", rule: "Create/1", run: createNew,
		says: "Create of a valid spec returns an instance of that name with an ID, and the backend holds one machine.",
	}, {
		name: "Create/Idempotent", rule: "Create/1", run: createIdempotent,
		says: "A second Create returns the same record, and the backend holds nothing more than before.",
	}, {
		name: "Create/Restart", rule: "Create/1", run: createRestart,
		says: "After the process ended (by Killer where the harness has it), Create of a new process returns the same instance.",
	}, {
		name: "Create/OtherProcess", rule: "Create/1", run: createOtherProcess,
		says: "Create of a second process beside the first returns the same instance.",
	}, {
		name: "Create/Concurrent", rule: "Create/1", run: createConcurrent,
		says: "Many callers of two processes that create one name at once get one ID, and the backend holds one machine.",
	}, {
		name: "Create/ManyNames", rule: "Create/9", run: createManyNames,
		says: "Many names that are created at once get an ID and a machine each.",
	}}
}

func createNew(t *trial) {
	p := t.open()
	spec := t.spec(1)
	inst, err := t.create(p, spec)
	if err != nil {
		t.failf("Create of a valid spec: %v", err)
	}
	if inst.Name != spec.Name || inst.ID == "" {
		t.failf("Create(%s) returned the name %q and the ID %q; both are owed", spec.Name, inst.Name, inst.ID)
	}
	if err := inst.Validate(); err != nil {
		t.failf("Create(%s) returned a ref that is not valid: %v", spec.Name, err)
	}
	if !spec.MatchesHash(inst.SpecHash) || inst.SpecHash == "" {
		t.failf("Create(%s) returned the SpecHash %q, which is not its spec's %q", spec.Name, inst.SpecHash, spec.Hash())
	}
	t.oneMachine(p, spec.Name)
}

func createIdempotent(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.calm(p, first.Ref)
	before := t.audit(p)
	second, err := t.create(p, t.spec(1))
	t.same(first, second, err, "the second Create")
	t.sameHoldings(p, before, "after the second Create")
}

func createRestart(t *trial) {
	p := t.open()
	first := t.make(p, t.spec(1))
	t.stop(p)
	q := t.open()
	second, err := t.create(q, t.spec(1))
	t.same(first, second, err, "Create after a restart")
	t.oneMachine(q, first.Name)
}

func createOtherProcess(t *trial) {
	p, q := t.open(), t.open()
	first := t.make(p, t.spec(1))
	second, err := t.create(q, t.spec(1))
	t.same(first, second, err, "Create of another process")
	t.oneMachine(p, first.Name)
}

func createConcurrent(t *trial) {
	processes := []provider.Provider{t.open(), t.open()}
	n := t.config.callers()
	made, errs := make([]provider.Instance, n), make([]error, n)
	t.parallel(n, func(i int) {
		made[i], errs[i] = t.create(processes[i%len(processes)], t.spec(1))
	})
	for i := range n {
		t.same(made[0], made[i], errs[i], "one of the concurrent Creates")
	}
	t.oneMachine(processes[0], made[0].Name)
}

func createManyNames(t *trial) {
	processes := []provider.Provider{t.open(), t.open()}
	n := t.config.callers()
	made, errs := make([]provider.Instance, n), make([]error, n)
	t.parallel(n, func(i int) {
		made[i], errs[i] = t.create(processes[i%len(processes)], t.spec(i))
	})
	names := map[string]string{}
	for i, inst := range made {
		if errs[i] != nil {
			t.failf("Create of %d names at once: %v", n, errs[i])
		}
		if other, ok := names[inst.ID]; ok {
			t.failf("%s and %s have one ID, %s", other, inst.Name, inst.ID)
		}
		names[inst.ID] = inst.Name
	}
	for _, inst := range made {
		t.oneMachine(processes[0], inst.Name)
	}
}

// lasting is what of an instance does not change by itself.
type lasting struct {
	Ref                provider.Ref
	Location, SpecHash string
	Labels             map[string]string
	Created            string
}

func lastingOf(i provider.Instance) lasting {
	return lasting{Ref: i.Ref, Location: i.Location, SpecHash: i.SpecHash, Labels: i.Labels, Created: i.Created.UTC().Format(time.RFC3339Nano)}
}

// same fails the check unless a later Create returned the record of the first,
// as far as it does not change by itself.
func (t *trial) same(first, later provider.Instance, err error, what string) {
	if err != nil {
		t.failf("%s of %s answered %v; the instance exists", what, first.Name, err)
	}
	if diff := cmp.Diff(lastingOf(first), lastingOf(later), cmpopts.EquateEmpty()); diff != "" {
		t.failf("%s of %s returned another record than the first (-first +later):\n%s", what, first.Name, diff)
	}
}
