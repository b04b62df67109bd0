package providertest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// Create makes the instance that spec describes, by the claim pattern: the
// machine under the derived name is the claim, its disk is named by the token.
func (f *Fake) Create(ctx context.Context, spec provider.Spec) (provider.Instance, error) {
	var inst provider.Instance
	err := f.do(ctx, "Create", provider.Ref{Name: spec.Name}, func(ctx context.Context) (err error) {
		inst, err = f.create(ctx, spec)
		return err
	})
	if err != nil {
		return provider.Instance{}, err
	}
	return inst, nil
}

func (f *Fake) create(ctx context.Context, spec provider.Spec) (provider.Instance, error) {
	refused := f.refuse(spec)
	if refused != nil && !f.flawed(FlawLateRefusal) {
		return provider.Instance{}, refused
	}
	f.logCreate(spec)
	marked, err := f.strayDisk(ctx, spec)
	defer marked()
	if err != nil {
		return provider.Instance{}, err
	}
	m, err := f.existing(ctx, spec.Name)
	if err != nil {
		return provider.Instance{}, err
	}
	adopted := m != nil
	if !adopted {
		if m, adopted, err = f.place(ctx, spec); err != nil {
			return provider.Instance{}, err
		}
	}
	if refused != nil {
		return provider.Instance{}, refused
	}
	if m.owner != f.owner && !f.flawed(FlawAdoptsForeign) {
		return provider.Instance{}, &provider.Error{Kind: provider.Conflict, Location: m.place,
			Err: fmt.Errorf("%s there is not of owner %s; remove or rename it", m.key, f.owner)}
	}
	if adopted {
		if inst, done, err := f.flawedAdoption(ctx, spec, *m); done {
			return inst, err
		}
	}
	inst, err := f.complete(ctx, *m)
	return f.flawedInstance(spec, inst), err
}

// refuse says why a spec cannot be honoured, before anything is touched.
func (f *Fake) refuse(spec provider.Spec) error {
	if err := spec.Validate(); err != nil {
		return f.flawedRefusal(spec, err)
	}
	for _, field := range specFields(spec) {
		if field.set && !f.Info().Has(field.feature) && !f.flawed(FlawDropsFields) {
			return &provider.Error{Kind: provider.Unsupported, Field: field.name,
				Err: fmt.Errorf("this provider does not honour it; leave it empty")}
		}
	}
	if spec.Location != "" && !slices.Contains(f.places, spec.Location) {
		return &provider.Error{Kind: provider.Invalid, Field: "Location", Err: fmt.Errorf("%q is not one of %q", spec.Location, f.places)}
	}
	return nil
}

// existing returns the machine that has the spec's name, at whichever place
// that answers. A place that does not answer hides at most a name that ranks
// it first, and place stops there.
func (f *Fake) existing(ctx context.Context, name string) (*fakeMachine, error) {
	first, err := f.flawedExisting(ctx, name)
	if err != nil {
		return nil, err
	}
	for _, place := range f.ranked(name) {
		m, ok, err := f.b.find(ctx, place, f.key(name))
		switch {
		case provider.KindOf(err) == provider.Unavailable && ctx.Err() == nil:
			continue
		case err != nil:
			return nil, err
		case ok && (first == nil || f.lower(m, *first)):
			first = &m
		}
	}
	return first, nil
}

// place claims the name at the first place that accepts, and looks again: of
// two claims the lower stays. It reports whether the claim that stays is
// another caller's.
func (f *Fake) place(ctx context.Context, spec provider.Spec) (m *fakeMachine, adopted bool, err error) {
	left, err := f.leftoverOf(ctx, spec.Name)
	if err != nil {
		return nil, false, err
	}
	full := error(nil)
	for _, place := range f.ranked(spec.Name) {
		if left != nil && left.place != place || left == nil && spec.Location != "" && spec.Location != place {
			continue
		}
		mine := f.newClaim(spec, place)
		if left != nil {
			mine.token = left.token
		}
		m, err := f.b.claim(ctx, mine)
		if f.flawed(FlawRetriesAnew) && provider.KindOf(err) == provider.Unavailable && ctx.Err() == nil {
			mine.key, mine.token = mine.key+"/again", provider.NewToken()
			m, err = f.b.claim(ctx, mine)
		}
		switch {
		case provider.KindOf(err) == provider.NoCapacity:
			full = err
			continue
		case err != nil:
			return nil, false, err
		case m.token != mine.token:
			return &m, true, nil
		}
		first, err := f.lookAgain(ctx, spec, m)
		return first, err == nil && first.token != mine.token, err
	}
	return nil, false, full
}

// leftoverOf returns the first disk of a name whose claim is gone: Create
// completes that incarnation, where it is.
func (f *Fake) leftoverOf(ctx context.Context, name string) (*fakeDisk, error) {
	for _, place := range f.ranked(name) {
		machines, disks, err := f.b.look(ctx, place, func(owner, n string) bool { return owner == f.owner && n == name })
		switch {
		case provider.KindOf(err) == provider.Unavailable && ctx.Err() == nil:
			continue
		case err != nil:
			return nil, err
		case len(disks) > 0 && len(machines) == 0:
			return &disks[0], f.flawedCompletion()
		}
	}
	return nil, nil
}

// lookAgain withdraws a claim when a lower one stands elsewhere, and returns
// the one that stays.
func (f *Fake) lookAgain(ctx context.Context, spec provider.Spec, mine fakeMachine) (*fakeMachine, error) {
	if len(f.places) == 1 || f.flawed(FlawRaces) {
		return &mine, nil
	}
	first, err := f.existing(ctx, spec.Name)
	if err != nil {
		return nil, err
	}
	if first != nil && first.token != mine.token {
		if err := f.b.withdraw(ctx, mine); err != nil {
			return nil, err
		}
		return first, nil
	}
	return &mine, nil
}

// complete does what is missing of an instance whose claim stands. Every step
// may be repeated, by several processes at once.
func (f *Fake) complete(ctx context.Context, m fakeMachine) (provider.Instance, error) {
	if !m.gone.IsZero() && !f.flawed(FlawReturnsDying) {
		return provider.Instance{}, f.dying(m)
	}
	if m.started.IsZero() {
		if err := f.b.addDisk(ctx, m); err != nil {
			return provider.Instance{}, err
		}
		if err := f.b.start(ctx, m); err != nil {
			return provider.Instance{}, err
		}
		m.started = time.Now()
	}
	return f.instance(m, m.reads), nil
}

// dying is the answer while a deletion goes on.
func (f *Fake) dying(m fakeMachine) error {
	return &provider.Error{Kind: provider.InProgress, Location: m.place, RetryAfter: f.wait(m), Err: errors.New("is being deleted")}
}

// wait is how long the deletion of m still takes.
func (f *Fake) wait(m fakeMachine) time.Duration {
	if f.flawed(FlawNoRetryAfter) {
		return 0
	}
	return max(time.Until(m.gone), time.Millisecond)
}

// key is the name of an instance's machine on the backend.
func (f *Fake) key(name string) string {
	return f.flawedKey(name, provider.BackendName(f.owner, name, fakeBackendLimit))
}

func (f *Fake) newClaim(spec provider.Spec, place string) fakeMachine {
	return fakeMachine{place: place, key: f.key(spec.Name), owner: f.owner, name: spec.Name, token: f.newToken(), hash: spec.Hash(),
		labels: maps.Clone(spec.Labels), port: cmp.Or(spec.Port, 3128), readable: f.flawedDocument(spec)}
}

// ranked returns the places in the order in which a name prefers them: a pure
// function of owner, name and place, so that every process has the same.
func (f *Fake) ranked(name string) []string {
	rank := func(place string) uint64 {
		h := fnv.New64a()
		fmt.Fprintf(h, "%q %q %q", f.owner, name, place)
		return h.Sum64()
	}
	return slices.SortedFunc(slices.Values(f.places), func(a, b string) int { return cmp.Compare(rank(a), rank(b)) })
}

// lower reports whether m stays beside other, by (Created, ID).
func (f *Fake) lower(m, other fakeMachine) bool {
	return cmp.Or(m.created.Compare(other.created), cmp.Compare(m.id(), other.id())) < 0
}

func (m fakeMachine) id() string { return provider.FormatID(m.place, m.token) }

// specField is an optional field of a spec with the feature that honours it.
type specField struct {
	name    string
	feature provider.Feature
	set     bool
	// fill sets the field, where the suite wants it set.
	fill func(*provider.Spec)
}

// specFields returns the optional fields, and which of them spec has set.
func specFields(spec provider.Spec) []specField {
	return []specField{
		{"Image", provider.FeatureImage, spec.Image != "", func(s *provider.Spec) { s.Image = "suite" }},
		{"Location", provider.FeatureLocation, spec.Location != "", func(s *provider.Spec) { s.Location = "suite" }},
		{"Size", provider.FeatureSize, spec.Size != (provider.Size{}), func(s *provider.Spec) { s.Size.MilliCPU = 100 }},
		{"Port", provider.FeaturePort, spec.Port != 0, func(s *provider.Spec) { s.Port = 3129 }},
		{"Credentials", provider.FeatureCredentials, spec.Credentials != (provider.Credentials{}), func(s *provider.Spec) {
			s.Credentials = provider.Credentials{Username: "suite", Password: "suite-password"}
		}},
		{"AllowFrom", provider.FeatureAllowFrom, len(spec.AllowFrom) > 0, func(s *provider.Spec) { s.AllowFrom = suiteNetworks() }},
		{"Preemptible", provider.FeaturePreemptible, spec.Preemptible, func(s *provider.Spec) { s.Preemptible = true }},
		{"Labels", provider.FeatureLabels, len(spec.Labels) > 0, func(s *provider.Spec) { s.Labels = map[string]string{"suite": "yes"} }},
	}
}
