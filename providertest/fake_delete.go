package providertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/crawlfleet/provider"
)

// Delete removes the instance that ref names: it marks the claim as going,
// removes the disk, and removes the claim last.
func (f *Fake) Delete(ctx context.Context, ref provider.Ref) error {
	return f.do(ctx, "Delete", ref, func(ctx context.Context) error { return f.delete(ctx, ref) })
}

func (f *Fake) delete(ctx context.Context, ref provider.Ref) error {
	defer f.clash("Delete")()
	ref, err := f.readable(ref, FlawGuessesDelete)
	if err != nil {
		return err
	}
	places, token, err := f.placesOf(ref)
	lost := err != nil
	if lost {
		// The place is no longer configured; it may have another name now.
		places = f.places
	}
	var errs []error
	found := false
	for _, place := range places {
		n, err := f.deleteAt(ctx, place, ref.Name, token)
		found = found || n > 0
		errs = append(errs, err)
	}
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	if len(errs) == 1 {
		return errs[0]
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if lost && !found {
		return f.abandon(ctx, ref)
	}
	return f.flawedMissing(found)
}

// abandon gives up what may be left at a place that is not configured.
func (f *Fake) abandon(ctx context.Context, ref provider.Ref) error {
	if f.flawed(FlawKeepsAbandoned) {
		return &provider.Error{Kind: provider.Unavailable, Err: errors.New("the place is not configured")}
	}
	place, _, _ := provider.ParseID(ref.ID)
	if !f.flawed(FlawAbandonsSilently) {
		provider.Abandoned(ctx, ref, place)
	}
	f.log("a place is no longer configured; what may be left there is given up", "instance", ref.String(), "place", place)
	return nil
}

// deleteAt deletes what is at one place, and returns how much it found there.
func (f *Fake) deleteAt(ctx context.Context, place, name, token string) (int, error) {
	match := func(owner, n string) bool { return (owner == f.owner || f.flawed(FlawDeletesOthers)) && n == name }
	machines, disks, err := f.b.look(ctx, place, match)
	if err != nil {
		return 0, f.flawedCut(ctx, err)
	}
	found := 0
	for _, m := range machines {
		if token != "" && m.token != token && !f.flawed(FlawDeletesSuccessor) {
			continue
		}
		found++
		if err := f.deleteMachine(ctx, m); err != nil {
			return found, err
		}
	}
	for _, d := range disks {
		if token != "" && d.token != token || f.flawedLeftover(len(machines)) || f.flawed(FlawFaultIsGone) {
			continue
		}
		found++
		if err := f.b.removeLeftover(ctx, place, d.token); err != nil {
			return found, err
		}
	}
	return found, nil
}

// deleteMachine moves the deletion of a machine on as far as it goes now.
func (f *Fake) deleteMachine(ctx context.Context, m fakeMachine) error {
	if m.down != "" && f.flawed(FlawKeepsStopped) {
		return &provider.Error{Kind: provider.Unavailable, Err: errors.New("it does not run, so it cannot be shut down")}
	}
	going, err := f.b.markGoing(ctx, m, f.flawed(FlawNeverConverges))
	if err != nil || going == nil {
		return err
	}
	if time.Until(going.gone) > 0 {
		if f.flawed(FlawAcceptedIsGone) {
			return nil
		}
		return f.dying(*going)
	}
	if !f.flawedDisk(*going) {
		if err := f.b.removeDisk(ctx, m.place, m.token); err != nil && !f.flawed(FlawFaultIsGone) {
			return err
		}
	}
	return f.b.withdraw(ctx, m)
}

// markGoing marks the claim as going and returns it, or nil when it is gone.
func (b *FakeBackend) markGoing(ctx context.Context, m fakeMachine, again bool) (*fakeMachine, error) {
	var going *fakeMachine
	err := b.at(ctx, m.place, "machine.mark", func(now time.Time) error {
		there := b.machines[fakeKey{m.place, m.key}]
		if there == nil || there.token != m.token {
			return nil
		}
		if there.gone.IsZero() || again {
			there.gone = now.Add(b.opts.Going)
		}
		c := *there
		going = &c
		return nil
	})
	if err != nil {
		return nil, err
	}
	return going, nil
}

// removeDisk removes a disk; one that is gone is no error.
func (b *FakeBackend) removeDisk(ctx context.Context, place, token string) error {
	return b.at(ctx, place, "disk.delete", func(time.Time) error {
		delete(b.disks, fakeKey{place, token})
		return nil
	})
}

// removeLeftover removes a disk whose claim is gone. One that a Create has
// taken up meanwhile stays.
func (b *FakeBackend) removeLeftover(ctx context.Context, place, token string) error {
	return b.at(ctx, place, "leftover.delete", func(time.Time) error {
		for _, m := range b.machines {
			if m.place == place && m.token == token {
				return nil
			}
		}
		delete(b.disks, fakeKey{place, token})
		return nil
	})
}

// withdraw removes a claim that still has the token of m.
func (b *FakeBackend) withdraw(ctx context.Context, m fakeMachine) error {
	return b.at(ctx, m.place, "machine.delete", func(time.Time) error {
		if there := b.machines[fakeKey{m.place, m.key}]; there != nil && there.token == m.token {
			delete(b.machines, fakeKey{m.place, m.key})
		}
		return nil
	})
}
