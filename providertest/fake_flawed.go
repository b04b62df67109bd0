package providertest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// Below is what the flaws do, so that the fake's own files show a provider as
// it should be. Without a flaw, every function here changes nothing.

// fakeMemory is what a flawed provider remembers within its process.
type fakeMemory struct {
	// keys are the backend names that it has chosen itself.
	keys map[string]string
	// seen are the instances that it has got, and when.
	seen map[string]sighting
	// token is the next one to give away.
	token string
	// deleting counts the Deletes under way.
	deleting int
}

type sighting struct {
	inst provider.Instance
	at   time.Time
}

// lag is how long a flawed provider shows what is no longer so.
const lag = time.Second

// flawedKey returns the backend name under which a name is looked for and made.
func (f *Fake) flawedKey(name, derived string) string {
	switch {
	case f.flawed(FlawCreatesTwice), f.flawed(FlawRaces):
		return derived + "/" + provider.NewToken()
	case f.flawed(FlawForgets):
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.memory.keys == nil {
			f.memory.keys = map[string]string{}
		}
		if f.memory.keys[name] == "" {
			f.memory.keys[name] = derived + "/" + provider.NewToken()
		}
		return f.memory.keys[name]
	}
	return derived
}

// flawedExisting finds by mark what a key of chance does not find.
func (f *Fake) flawedExisting(ctx context.Context, name string) (*fakeMachine, error) {
	if !f.flawed(FlawRaces) {
		return nil, nil
	}
	for _, place := range f.places {
		machines, _, err := f.b.look(ctx, place, func(owner, n string) bool { return owner == f.owner && n == name })
		if err != nil || len(machines) > 0 {
			return &append(machines, fakeMachine{})[0], err
		}
	}
	return nil, nil
}

// newToken returns the token of a claim.
func (f *Fake) newToken() string {
	if !f.flawed(FlawSharesTokens) {
		return provider.NewToken()
	}
	f.mu.Lock()
	if f.memory.token == "" {
		f.memory.token = provider.NewToken()
	}
	token := f.memory.token
	f.mu.Unlock()
	if f.b.opts.Latency > 0 {
		time.Sleep(f.b.opts.Latency)
	}
	runtime.Gosched()
	f.mu.Lock()
	f.memory.token = ""
	f.mu.Unlock()
	return token
}

// flawedAdoption deals with an instance that existed, and reports whether it
// did.
func (f *Fake) flawedAdoption(ctx context.Context, spec provider.Spec, m fakeMachine) (provider.Instance, bool, error) {
	switch {
	case f.flawed(FlawAdoptsThin):
		return provider.Instance{Ref: provider.Ref{Name: m.name}, State: provider.Running}, true, nil
	case f.flawed(FlawReplacesChanged) && m.hash != spec.Hash():
		err := errors.Join(f.b.removeDisk(ctx, m.place, m.token), f.b.withdraw(ctx, m))
		if err != nil {
			return provider.Instance{}, true, err
		}
		inst, err := f.create(ctx, spec)
		return inst, true, err
	case f.flawed(FlawRestartsStopped) && m.down != "":
		err := f.b.update(ctx, m, "machine.start", func(there *fakeMachine, _ time.Time) { there.down = "" })
		m.down = ""
		return f.instance(m, m.reads), true, err
	}
	return provider.Instance{}, false, nil
}

// flawedRefusal changes the error about a spec that is not valid.
func (f *Fake) flawedRefusal(spec provider.Spec, err error) error {
	switch {
	case f.flawed(FlawNamesNoField):
		return &provider.Error{Kind: provider.Invalid, Err: errors.New("the spec is bad")}
	case f.flawed(FlawSecretInError):
		return &provider.Error{Kind: provider.Invalid, Err: fmt.Errorf("%w in a spec with %q", err, string(spec.Credentials.Password))}
	}
	return err
}

// strayDisk makes a disk that has no mark and returns what removes it.
func (f *Fake) strayDisk(ctx context.Context, spec provider.Spec) (marked func(), err error) {
	if !f.flawed(FlawUnmarkedDisk) {
		return func() {}, nil
	}
	place, token := f.places[0], provider.NewToken()
	err = f.b.at(ctx, place, "disk.insert", func(now time.Time) error {
		f.b.disks[fakeKey{place, token}] = &fakeDisk{place: place, token: token, maker: f.owner, name: spec.Name, created: now}
		return nil
	})
	return func() {
		if ctx.Err() == nil {
			_ = f.b.removeDisk(ctx, place, token)
		}
	}, err
}

// flawedCompletion refuses to go on with what somebody else began.
func (f *Fake) flawedCompletion() error {
	if f.flawed(FlawNeverCompletes) {
		return &provider.Error{Kind: provider.InProgress, RetryAfter: time.Second, Err: errors.New("somebody is making it")}
	}
	return nil
}

// flawedDocument is what others see of what the guest was told.
func (f *Fake) flawedDocument(spec provider.Spec) string {
	if f.flawed(FlawSecretReadable) {
		return "password=" + string(spec.Credentials.Password)
	}
	return ""
}

// flawedInstance changes what Create returns.
func (f *Fake) flawedInstance(spec provider.Spec, inst provider.Instance) provider.Instance {
	if f.flawed(FlawSecretInInstance) {
		inst.Message = "its password is " + string(spec.Credentials.Password)
	}
	if f.flawed(FlawReturnsThin) {
		inst.SpecHash = ""
	}
	return inst
}

// flawedPlaces returns where Get looks for a name.
func (f *Fake) flawedPlaces(places []string) []string {
	switch {
	case f.flawed(FlawFirstPlace):
		return places[:1]
	case f.flawed(FlawIgnoresID):
		return f.places
	}
	return places
}

// flawedPlace changes the error about an ID whose place is not configured.
func (f *Fake) flawedPlace(err error) error {
	if f.flawed(FlawDroppedIsNotFound) {
		return &provider.Error{Kind: provider.NotFound, Err: err}
	}
	return err
}

// flawedUnreachable reports whether a place that does not answer has nothing.
func (f *Fake) flawedUnreachable(ref provider.Ref) bool {
	return ref.ID != "" && f.flawed(FlawCutIsNotFound) || ref.ID == "" && f.flawed(FlawPartialNotFound)
}

// flawedGet changes what Get finds.
func (f *Fake) flawedGet(ref provider.Ref, found []provider.Instance) []provider.Instance {
	if f.flawed(FlawStaleGet) {
		return slices.DeleteFunc(found, func(i provider.Instance) bool { return time.Since(i.Created) < lag })
	}
	if !f.flawed(FlawGhosts) {
		return found
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.memory.seen == nil {
		f.memory.seen = map[string]sighting{}
	}
	if len(found) > 0 {
		f.memory.seen[ref.Name] = sighting{found[0], time.Now()}
	} else if s := f.memory.seen[ref.Name]; time.Since(s.at) < lag {
		return []provider.Instance{s.inst}
	}
	return found
}

// missingKind is the Kind of an instance that is nowhere.
func (f *Fake) missingKind() provider.Kind {
	if f.flawed(FlawMissingIsUnavailable) {
		return provider.Unavailable
	}
	return provider.NotFound
}

// flawedOwner reports whether List takes what another has.
func (f *Fake) flawedOwner(owner string) bool {
	return owner != "" && f.flawed(FlawListsOthers) || owner == "" && f.flawed(FlawListsUnmarked)
}

// flawedList changes what List returns.
func (f *Fake) flawedList(list []provider.Instance, err error) ([]provider.Instance, error) {
	hide := func(states ...provider.State) {
		list = slices.DeleteFunc(list, func(i provider.Instance) bool { return slices.Contains(states, i.State) })
	}
	switch {
	case f.flawed(FlawHidesStopped):
		hide(provider.Stopped, provider.Failed)
	case f.flawed(FlawHidesLeftovers):
		hide(provider.Incomplete)
	case f.flawed(FlawHidesDeleting):
		hide(provider.Deleting)
	case f.flawed(FlawFirstPage):
		list = list[:min(3, len(list))]
	case f.flawed(FlawSilentlyPartial) && list != nil:
		err = nil
	case f.flawed(FlawAllOrNothing) && err != nil:
		list = nil
	case f.flawed(FlawListsTwice):
		list = slices.Concat(list, list)
	case f.flawed(FlawListsThin):
		for i := range list {
			list[i].ID = ""
		}
	}
	return list, err
}

// clash panics when a List meets a Delete. It returns the end of the Delete.
func (f *Fake) clash(op string) func() {
	if !f.flawed(FlawClashes) {
		return func() {}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	switch op {
	case "Delete":
		f.memory.deleting++
		return func() {
			f.mu.Lock()
			defer f.mu.Unlock()
			f.memory.deleting--
		}
	case "List":
		if f.memory.deleting > 0 {
			panic("the fake's map is read and written at once")
		}
	}
	return func() {}
}

// flawedCut changes the error about a place that Delete cannot ask.
func (f *Fake) flawedCut(ctx context.Context, err error) error {
	if f.flawed(FlawCutIsGone) && ctx.Err() == nil && provider.KindOf(err) == provider.Unavailable {
		return nil
	}
	return err
}

// flawedMissing is Delete's answer.
func (f *Fake) flawedMissing(found bool) error {
	if !found && f.flawed(FlawMissingIsError) {
		return &provider.Error{Kind: provider.NotFound, Err: errors.New("there is nothing to delete")}
	}
	return nil
}

// flawedLeftover reports whether a disk is left because its machine is gone.
func (f *Fake) flawedLeftover(machines int) bool {
	return machines == 0 && f.flawed(FlawSkipsLeftovers) || f.flawed(FlawLeavesDisk) || machines > 0 && f.flawed(FlawForgetsPending)
}

// flawedDisk reports whether the disk of a machine stays when it is deleted.
func (f *Fake) flawedDisk(m fakeMachine) bool {
	asked := m.gone.Add(-f.b.opts.Going)
	return f.flawed(FlawLeavesDisk) || f.flawed(FlawForgetsPending) && asked.Sub(m.started) < f.b.opts.Boot
}

// logCreate logs what is about to be made.
func (f *Fake) logCreate(spec provider.Spec) {
	if f.flawed(FlawSecretInLog) {
		f.log("creating", "instance", spec.Name, "password", string(spec.Credentials.Password))
		return
	}
	f.log("creating", "instance", spec.Name, "password", spec.Credentials.Password)
}
