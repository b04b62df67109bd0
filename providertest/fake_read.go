package providertest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// Get returns the instance that ref names.
func (f *Fake) Get(ctx context.Context, ref provider.Ref) (provider.Instance, error) {
	var inst provider.Instance
	err := f.do(ctx, "Get", ref, func(ctx context.Context) (err error) {
		inst, err = f.get(ctx, ref)
		return err
	})
	if err != nil {
		return provider.Instance{}, err
	}
	return inst, nil
}

func (f *Fake) get(ctx context.Context, ref provider.Ref) (provider.Instance, error) {
	ref, err := f.readable(ref, FlawGuessesID)
	if err != nil {
		return provider.Instance{}, err
	}
	places, token, err := f.placesOf(ref)
	if err != nil {
		return provider.Instance{}, f.flawedPlace(err)
	}
	found, missing, err := f.collect(ctx, f.flawedPlaces(places), func(owner, name string) bool { return owner == f.owner && name == ref.Name })
	if err != nil {
		return provider.Instance{}, err
	}
	found = slices.DeleteFunc(found, func(i provider.Instance) bool {
		return token != "" && i.ID != ref.ID && !f.flawed(FlawIgnoresID)
	})
	found = f.flawedGet(ref, found)
	switch {
	case len(found) > 0:
		first := slices.MinFunc(found, compareInstances)
		f.b.countGet(first.Ref)
		return first, nil
	case missing != nil && !f.flawedUnreachable(ref):
		return provider.Instance{}, missing
	}
	return provider.Instance{}, &provider.Error{Kind: f.missingKind(), Err: fmt.Errorf("no place has it")}
}

// readable checks the form of a ref. With the flaw, an ID that cannot be read
// counts as none.
func (f *Fake) readable(ref provider.Ref, guesses Flaw) (provider.Ref, error) {
	err := ref.Validate()
	if err == nil && ref.ID != "" {
		_, _, err = provider.ParseID(ref.ID)
	}
	if err != nil && f.flawed(guesses) && provider.ValidateName(ref.Name) == nil {
		return provider.Ref{Name: ref.Name}, nil
	}
	return ref, err
}

// placesOf returns where an instance may be: the place of its ID, or all.
func (f *Fake) placesOf(ref provider.Ref) (places []string, token string, err error) {
	if ref.ID == "" {
		return f.ranked(ref.Name), "", nil
	}
	place, token, err := provider.ParseID(ref.ID)
	if err == nil && !slices.Contains(f.places, place) {
		err = &provider.Error{Kind: provider.Invalid, Field: "ID", Location: place,
			Err: fmt.Errorf("its place %q is not configured; the configuration has %q", place, f.places)}
	}
	return []string{place}, token, err
}

// List returns everything of the owner. Places that do not answer are in a
// PartialError beside it.
func (f *Fake) List(ctx context.Context) ([]provider.Instance, error) {
	var list []provider.Instance
	err := f.do(ctx, "List", provider.Ref{}, func(ctx context.Context) (err error) {
		defer f.clash("List")()
		var missing error
		list, missing, err = f.collect(ctx, f.places, func(owner, _ string) bool { return owner == f.owner || f.flawedOwner(owner) })
		if err == nil {
			err = missing
		}
		return err
	})
	list, err = f.flawedList(list, err)
	var partial *provider.PartialError
	if err != nil && !errors.As(err, &partial) {
		return nil, err
	}
	return list, err
}

// collect asks places for what matches. Missing is a PartialError when some do
// not answer; err is what ends the whole call.
func (f *Fake) collect(ctx context.Context, places []string, match func(owner, name string) bool) (found []provider.Instance, missing, err error) {
	partial := &provider.PartialError{}
	for _, place := range places {
		machines, disks, err := f.b.look(ctx, place, match)
		if err != nil {
			if ctx.Err() != nil || provider.KindOf(err) != provider.Unavailable {
				return nil, nil, err
			}
			partial.Missing = append(partial.Missing, provider.Place{Location: place, Err: err})
			continue
		}
		claimed := map[string]bool{}
		for _, m := range machines {
			claimed[m.token] = true
			found = append(found, f.instance(m, m.reads))
		}
		for _, d := range disks {
			if !claimed[d.token] {
				found = append(found, leftover(d))
			}
		}
	}
	if len(partial.Missing) > 0 {
		missing = partial
	}
	return found, missing, nil
}

// instance is the record of a machine that has been asked for reads times.
func (f *Fake) instance(m fakeMachine, reads int) provider.Instance {
	inst := provider.Instance{
		Ref: provider.Ref{Name: m.name, ID: m.id()}, State: provider.Running, Location: m.place,
		Labels: maps.Clone(m.labels), SpecHash: m.hash, Created: m.created,
	}
	switch {
	case !m.gone.IsZero():
		inst.State = provider.Deleting
	case m.started.IsZero():
		inst.State = provider.Incomplete
	case m.down != "":
		inst.State, inst.Failure, inst.Reason, inst.Message = m.down, m.failure, m.reason, m.message
	case time.Since(m.started) < f.b.opts.Boot || reads < f.b.opts.BootGets:
		inst.State = provider.Pending
	default:
		address := netip.AddrFrom4([4]byte{192, 0, 2, byte(1 + m.number%254)})
		inst.Scheme, inst.Addresses = "http", []netip.Addr{address}
		inst.Endpoint = netip.AddrPortFrom(address, m.port).String()
		if f.b.opts.Endpoint != nil {
			inst.Endpoint = f.b.opts.Endpoint(inst.Ref)
		}
	}
	return inst
}

// leftover is the record of a disk whose claim is gone.
func leftover(d fakeDisk) provider.Instance {
	return provider.Instance{Ref: provider.Ref{Name: d.name, ID: provider.FormatID(d.place, d.token)}, State: provider.Incomplete,
		Location: d.place, Created: d.created, Message: "its disk is left"}
}

// compareInstances orders incarnations by (Created, ID).
func compareInstances(a, b provider.Instance) int {
	if c := a.Created.Compare(b.Created); c != 0 {
		return c
	}
	if a.ID < b.ID {
		return -1
	}
	return 1
}
