package providertest

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/crawlfleet/provider"
)

// lateBy is how long after its caller left a late call is made.
const lateBy = 5 * time.Millisecond

// Break asks plan about every call of a provider to the backend.
func (b *FakeBackend) Break(_ context.Context, plan func(Call) Fault) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.plan, b.seq = plan, 0
	return nil
}

// fault returns what happens to the next call.
func (b *FakeBackend) fault(op string) Fault {
	b.mu.Lock()
	plan := b.plan
	b.seq++
	call := Call{Seq: b.seq, Name: strings.TrimSuffix(op, "?"), Writes: !strings.HasSuffix(op, "?")}
	b.mu.Unlock()
	if plan == nil {
		return Pass
	}
	return plan(call)
}

func errBroken(place string) error {
	return &provider.Error{Kind: provider.Unavailable, Location: place, Err: errors.New("connection reset")}
}

// hang waits until the caller has left.
func (b *FakeBackend) hang(ctx context.Context) {
	if slices.Contains(b.opts.Flaws, FlawDeaf) || slices.Contains(b.opts.Flaws, FlawIgnoresContext) {
		time.Sleep(time.Hour)
		return
	}
	<-ctx.Done()
}

func (b *FakeBackend) epochNow() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.epoch
}

// later makes a call whose caller has left, unless the backend was purged.
func (b *FakeBackend) later(epoch int, f func(time.Time) error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.epoch == epoch {
		// Nobody is there to be told.
		_ = f(time.Now())
	}
}
