package provider

import (
	"context"
	"errors"
)

// Observer is told of the calls to a provider, for metrics, traces and logs.
//
// [Instrument] calls it before each call, on the caller's goroutine, with the
// method's name ("Create", "Get", "List", "Delete", "Close") and what is known
// of the instance; many calls may be under way at once. The call runs under
// the context that it returns, which descends from ctx. The function that it
// returns, which may be nil, is called once after the call, with its error.
type Observer func(ctx context.Context, op string, ref Ref) (context.Context, func(error))

// OpAbandoned is the op under which an [Observer] is told that a Delete
// answered nil although something may be left. See [Abandoned].
const OpAbandoned = "Abandoned"

// Instrument returns a provider that passes every call to p and tells o of it.
// Optional interfaces of p are reached with [As], and their calls are not
// observed.
func Instrument(p Provider, o Observer) Provider { return &instrumented{p, o} }

type instrumented struct {
	p Provider
	o Observer
}

// Unwrap returns the provider inside, for [As].
func (i *instrumented) Unwrap() Provider { return i.p }

func (i *instrumented) Info() Info { return i.p.Info() }

// begin tells the observer of a call, and makes it reachable for Abandoned.
func (i *instrumented) begin(ctx context.Context, op string, ref Ref) (context.Context, func(error)) {
	ctx, done := i.o(ctx, op, ref)
	if done == nil {
		done = func(error) {}
	}
	outer, _ := ctx.Value(observersKey{}).([]Observer)
	return context.WithValue(ctx, observersKey{}, append(outer[:len(outer):len(outer)], i.o)), done
}

func (i *instrumented) Create(ctx context.Context, spec Spec) (Instance, error) {
	ctx, done := i.begin(ctx, "Create", Ref{Name: spec.Name})
	inst, err := i.p.Create(ctx, spec)
	done(err)
	return inst, err
}

func (i *instrumented) Get(ctx context.Context, ref Ref) (Instance, error) {
	ctx, done := i.begin(ctx, "Get", ref)
	inst, err := i.p.Get(ctx, ref)
	done(err)
	return inst, err
}

func (i *instrumented) List(ctx context.Context) ([]Instance, error) {
	ctx, done := i.begin(ctx, "List", Ref{})
	list, err := i.p.List(ctx)
	done(err)
	return list, err
}

func (i *instrumented) Delete(ctx context.Context, ref Ref) error {
	ctx, done := i.begin(ctx, "Delete", ref)
	err := i.p.Delete(ctx, ref)
	done(err)
	return err
}

func (i *instrumented) Close() error {
	_, done := i.begin(context.Background(), "Close", Ref{})
	err := i.p.Close()
	done(err)
	return err
}

type observersKey struct{}

// Abandoned tells the observers of the call that ctx belongs to that ref is
// given up: a Delete is about to answer nil because the place that the ID
// names is no longer configured, and something may be left there. An
// implementer calls it once for each such Delete, beside its warning in the
// log; without [Instrument] it does nothing.
func Abandoned(ctx context.Context, ref Ref, location string) {
	observers, _ := ctx.Value(observersKey{}).([]Observer)
	for _, o := range observers {
		_, done := o(ctx, OpAbandoned, ref)
		if done != nil {
			done(&Error{Kind: NotFound, Op: OpAbandoned, Ref: ref, Location: location,
				Err: errors.New("the place is no longer configured; what may be left there is given up")})
		}
	}
}

// As returns p as T, or what p wraps, as deep as it takes: it looks through
// every Unwrap() Provider. For [Console] it asks Info too, which outranks the
// method set; an interface of another package is checked by its own feature.
func As[T any](p Provider) (T, bool) {
	var zero T
	if p == nil {
		return zero, false
	}
	if _, console := any(&zero).(*Console); console && !p.Info().Has(FeatureConsole) {
		return zero, false
	}
	for p != nil {
		if t, ok := p.(T); ok {
			return t, true
		}
		w, ok := p.(interface{ Unwrap() Provider })
		if !ok {
			break
		}
		p = w.Unwrap()
	}
	return zero, false
}
