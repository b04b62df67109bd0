package provider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"time"
)

// Pauses of [Remove] and [Wait] where the backend names none. They start at
// firstPause, double up to lastPause, and vary by a quarter so that callers
// that began together do not stay together.
const (
	firstPause = 500 * time.Millisecond
	lastPause  = 15 * time.Second
)

// Ensure makes sure that the instance of the spec exists and returns it. It is
// one step, to be called again after an error: the caller keeps the ID that it
// returns, stores it, and hands it in the next time.
//
// Without an ID it calls Create, which finds what an earlier, interrupted call
// made. With one it calls Get, and Create only when that incarnation is
// NotFound or Incomplete. An instance that is stopped, failed, or made from
// another spec comes back as it is ([Spec.MatchesHash] tells the last). The
// error is the provider's; a provider that returns an instance without a name
// or an ID is reported as Unavailable, because its caller would lose it.
func Ensure(ctx context.Context, p Provider, spec Spec, id string) (Instance, error) {
	if id != "" {
		inst, err := p.Get(ctx, Ref{Name: spec.Name, ID: id})
		if err == nil && inst.State != Incomplete {
			return complete(p, "Get", spec.Name, inst)
		}
		if err != nil && KindOf(err) != NotFound {
			return Instance{}, err
		}
	}
	inst, err := p.Create(ctx, spec)
	if err != nil {
		return Instance{}, err
	}
	return complete(p, "Create", spec.Name, inst)
}

// complete refuses an instance that its caller could not find again.
func complete(p Provider, op, name string, inst Instance) (Instance, error) {
	if inst.Name == name && inst.ID != "" {
		return inst, nil
	}
	return Instance{}, &Error{Op: op, Provider: p.Info().Name, Ref: Ref{Name: name}, Kind: Unavailable,
		Err: fmt.Errorf("the provider returned %q with ID %q; both are owed", inst.Name, inst.ID)}
}

// Remove calls Delete until nothing of the instance is left, pausing as long
// as the backend asks, and returns nil then.
//
// It never asks Get first: a Get that fails for good must not keep an instance
// alive. An ID that the provider cannot read is one of another provider, so
// Remove goes on by name alone. It gives up when the context ends, with an
// error that matches both the context's and Delete's last one, and at once on
// an error that waiting does not cure: all but InProgress, RateLimited and
// Unavailable.
func Remove(ctx context.Context, p Provider, ref Ref) error {
	pause := firstPause
	for {
		err := p.Delete(ctx, ref)
		switch KindOf(err) {
		case "", NotFound:
			return nil
		case InProgress, RateLimited, Unavailable:
		case Invalid:
			if ref.ID == "" || !foreignID(err) {
				return err
			}
			ref.ID = ""
			continue
		default:
			return err
		}
		if errors.Is(err, fs.ErrClosed) {
			return err
		}
		if pause, err = sleep(ctx, pause, err); err != nil {
			return &Error{Op: "Remove", Provider: p.Info().Name, Ref: ref, Err: err}
		}
	}
}

// foreignID reports whether an Invalid is about the ID, or does not say.
func foreignID(err error) bool {
	for e, ok := errors.AsType[*Error](err); ok; e, ok = errors.AsType[*Error](e.Err) {
		if e.Field != "" {
			return e.Field == "ID"
		}
	}
	return true
}

// Wait calls Get until done reports true, and returns the instance that done
// accepted. A nil done is [Ready]. An error of done ends the wait and is
// returned with the instance.
//
// Wait goes on over errors that pass (InProgress, RateLimited, Unavailable)
// and over an instance that done does not accept yet; any other error of Get
// is returned. When the context ends, the error matches the context's, and the
// last instance seen comes with it. Done is called on Wait's goroutine, once
// for each instance seen.
func Wait(ctx context.Context, p Provider, ref Ref, done func(Instance) (bool, error)) (Instance, error) {
	if done == nil {
		done = Ready
	}
	var last Instance
	pause := firstPause
	for {
		inst, err := p.Get(ctx, ref)
		if err == nil {
			last = inst
			ok, err := done(inst)
			if ok || err != nil {
				return inst, err
			}
		}
		switch KindOf(err) {
		case "", InProgress, RateLimited, Unavailable:
		default:
			return last, err
		}
		if errors.Is(err, fs.ErrClosed) {
			return last, err
		}
		if pause, err = sleep(ctx, pause, err); err != nil {
			return last, &Error{Op: "Wait", Provider: p.Info().Name, Ref: ref, Err: err}
		}
	}
}

// Ready reports whether the machine runs and its proxy has an address, which
// is not yet a proof that the proxy works. One that is failed, stopped or
// being deleted will not become ready: the error has its Failure as Kind, or
// Unavailable, and its Reason and Message.
func Ready(inst Instance) (bool, error) {
	switch inst.State {
	case Running:
		return inst.Endpoint != "", nil
	case Failed, Stopped, Deleting:
		kind := inst.Failure
		if kind == "" {
			kind = Unavailable
		}
		return false, &Error{Kind: kind, Ref: inst.Ref, Location: inst.Location,
			Err: fmt.Errorf("is %s and will not become ready%s", inst.State, because(inst))}
	}
	return false, nil
}

func because(inst Instance) string {
	var b strings.Builder
	for _, s := range []string{inst.Reason, inst.Message} {
		if s != "" {
			b.WriteString(": " + s)
		}
	}
	return b.String()
}

// sleep waits for as long as err asks for, or else for about pause, and
// returns the pause after that one. Its error, when the context ends first,
// matches the context's and err.
func sleep(ctx context.Context, pause time.Duration, err error) (time.Duration, error) {
	d := RetryAfter(err)
	if d <= 0 {
		d = pause - pause/8 + rand.N(pause/4)
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return min(2*pause, lastPause), nil
	case <-ctx.Done():
		return 0, ended(ctx, err)
	}
}

// ended returns an error with the Kind of the context's end, which matches
// what was going on as well.
func ended(ctx context.Context, err error) error {
	if err == nil {
		return ctx.Err()
	}
	return &Error{Kind: KindOf(ctx.Err()), Err: errors.Join(ctx.Err(), err)}
}
