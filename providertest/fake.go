package providertest

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// FakeOptions says how a [FakeBackend] behaves. The zero value is a backend of
// one place without limits, where everything happens at once. Its clock is
// package time's: in a bubble of testing/synctest a test of hours takes none.
type FakeOptions struct {
	// Name is Info.Name of the providers. Empty is "fake".
	Name string
	// Places are where instances live. Empty is one place named "".
	Places []FakePlace
	// Features are those that providers declare and honour. Nil is every one
	// of a spec; an empty slice is none.
	Features []provider.Feature
	// Boot is how long an instance stays Pending after it started.
	Boot time.Duration
	// BootGets is how many Gets find an instance Pending, after Boot.
	BootGets int
	// Going is how long a deletion takes: Delete answers InProgress meanwhile.
	Going time.Duration
	// Latency is how long each call to the backend takes. A Create makes
	// several, so a context can end between them.
	Latency time.Duration
	// Quota is how many machines all owners may have together. Zero is no
	// limit; beyond it Create answers QuotaExceeded.
	Quota int
	// Rate is how many calls of providers each RatePer lets through. Zero is no
	// limit; beyond it calls answer RateLimited, with the time to wait.
	Rate int
	// RatePer is the window of Rate. Zero is one second.
	RatePer time.Duration
	// Endpoint returns host:port of the proxy of a running instance, so that a
	// test can put a server there. Nil is an address of 192.0.2.0/24, which
	// leads nowhere (RFC 5737).
	Endpoint func(provider.Ref) string
	// Logger is where providers log. Nil is nowhere.
	Logger *slog.Logger
	// Flaws break rules, to see that a check or a caller notices.
	Flaws []Flaw
}

// FakePlace is a place of a [FakeBackend].
type FakePlace struct {
	// Location is its name.
	Location string
	// Capacity is how many machines it takes. Zero is no limit; when every
	// place that a spec allows is full, Create answers NoCapacity.
	Capacity int
}

// Fake is a provider in memory, for tests of what calls providers. It keeps
// every rule that the suite checks. Several may be open on one [FakeBackend]: those
// of one owner are like processes of one program.
type Fake struct {
	b     *FakeBackend
	owner string
	// places are those of its configuration, which the harness may change for
	// the next one.
	places []string

	// closing ends when Close is called; end ends it.
	closing context.Context
	end     context.CancelFunc

	mu     sync.Mutex
	closed bool
	calls  sync.WaitGroup
	memory fakeMemory
}

// NewFake returns a provider on a backend of its own, for the owner "owner".
// [Fake.Backend] is the way to what is behind it.
func NewFake(opts FakeOptions) *Fake { return NewFakeBackend(opts).Provider("owner") }

// Backend returns the backend that the provider works on.
func (f *Fake) Backend() *FakeBackend { return f.b }

// Info describes the provider. Its Kind is "fake".
func (f *Fake) Info() provider.Info {
	info := provider.Info{Name: cmp.Or(f.b.opts.Name, "fake"), Kind: "fake", Owner: f.owner,
		Contract: provider.Contract, Features: slices.Clone(f.b.opts.Features)}
	for _, location := range f.places {
		if location != "" {
			info.Locations = append(info.Locations, location)
		}
	}
	return info
}

// Close ends the calls that are under way and waits for them.
func (f *Fake) Close() error {
	f.mu.Lock()
	again := f.closed
	f.closed = true
	f.mu.Unlock()
	if again && f.flawed(FlawCloseOnce) {
		return f.wrap("Close", provider.Ref{}, fs.ErrClosed)
	}
	if f.flawed(FlawOpenAfterClose) {
		return nil
	}
	f.end()
	f.calls.Wait()
	return nil
}

// enter begins a call and returns its context and the function that ends it.
func (f *Fake) enter(ctx context.Context) (context.Context, func(), error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed && !f.flawed(FlawOpenAfterClose) {
		return nil, nil, &provider.Error{Kind: provider.Unavailable, Err: fs.ErrClosed}
	}
	f.calls.Add(1)
	ctx, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(f.closing, cancel)
	return ctx, func() { stop(); cancel(); f.calls.Done() }, nil
}

// do runs one method: it records the call, plays one-shot failures, and dresses
// the error.
func (f *Fake) do(ctx context.Context, op string, ref provider.Ref, method func(context.Context) error) error {
	err := f.run(ctx, op, method)
	if err != nil {
		err = f.wrap(op, ref, err)
	}
	f.b.record(FakeCall{Op: op, Owner: f.owner, Ref: ref, Err: err})
	return err
}

func (f *Fake) run(ctx context.Context, op string, method func(context.Context) error) error {
	inner, done, err := f.enter(ctx)
	if err != nil {
		return err
	}
	defer done()
	if err := f.ended(ctx); err != nil {
		return err
	}
	if f.flawed(FlawIgnoresContext) {
		inner = context.WithoutCancel(inner)
	}
	if err := f.b.admit(); err != nil {
		return err
	}
	planned, hit := f.b.takeFailure(op)
	if hit && !planned.after {
		return planned.err
	}
	err = method(inner)
	if hit {
		return planned.err
	}
	if err != nil && f.closing.Err() != nil {
		return &provider.Error{Kind: provider.Unavailable, Err: fs.ErrClosed}
	}
	if ended := f.ended(ctx); err != nil && ended != nil {
		return ended
	}
	return err
}

// ended returns the error of a context that has ended.
func (f *Fake) ended(ctx context.Context) error {
	if ctx.Err() == nil || f.flawed(FlawIgnoresContext) {
		return nil
	}
	if f.flawed(FlawHangs) {
		time.Sleep(time.Hour)
	}
	if f.flawed(FlawOwnContextError) {
		return &provider.Error{Kind: provider.Canceled, Err: errors.New("the caller went away")}
	}
	return ctx.Err()
}

// wrap makes err an *Error that says which call it is of. Its Kind is that of
// err.
func (f *Fake) wrap(op string, ref provider.Ref, err error) error {
	if f.flawed(FlawBareErrors) && (errors.Is(err, context.Canceled) || errors.Is(err, fs.ErrClosed)) {
		return bare(err)
	}
	e := &provider.Error{Kind: provider.KindOf(err), Op: op, Provider: f.Info().Name, Ref: ref, Err: err}
	if inner, ok := errors.AsType[*provider.Error](err); ok {
		e.Field, e.Location = inner.Field, inner.Location
	}
	return e
}

// bare returns the innermost error.
func bare(err error) error {
	for errors.Unwrap(err) != nil {
		err = errors.Unwrap(err)
	}
	return err
}

func (f *Fake) flawed(flaw Flaw) bool { return slices.Contains(f.b.opts.Flaws, flaw) }

func (f *Fake) log(message string, args ...any) {
	if f.b.opts.Logger != nil {
		f.b.opts.Logger.Info(message, append([]any{"provider", f.Info().Name}, args...)...)
	}
}
