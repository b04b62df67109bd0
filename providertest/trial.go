package providertest

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// check is one test of one rule.
type check struct {
	// name is the rule's group and a short word: "Create/Idempotent".
	name string
	// rule is the ID of the rule that a failure violates.
	rule string
	// says is what the check asserts, as a sentence for the document.
	says string
	// needs are the optional interfaces of the harness that it uses.
	needs []Need
	// run is called on a goroutine of its own, once.
	run func(t *trial)
}

// trial is one run of one check: its harness, its names and its outcome.
type trial struct {
	ctx     context.Context
	config  Config
	harness Harness
	env     Env
	logs    *logBuffer

	mu        sync.Mutex
	opened    []provider.Provider
	status    Status
	message   string
	unaudited bool
}

// Owners of a trial. Names are the same for both, so that a mix-up shows.
const (
	ownerA = "a"
	ownerB = "b"
)

func newTrial(ctx context.Context, config Config, c check) *trial {
	t := &trial{ctx: ctx, config: config, logs: &logBuffer{}}
	t.env = Env{ID: provider.NewToken()[:8], Check: c.name, Logger: slog.New(slog.NewTextHandler(t.logs,
		&slog.HandlerOptions{Level: slog.LevelDebug}))}
	return t
}

// owner returns the unique ID of one of the trial's owners.
func (t *trial) owner(which string) string { return "suite-" + t.env.ID + "-" + which }

// name returns a name that no other trial uses.
func (t *trial) name(suffix any) string { return fmt.Sprintf("t%s-%v", t.env.ID, suffix) }

// spec returns the harness's spec of a name of this trial.
func (t *trial) spec(suffix any) provider.Spec { return t.harness.Spec(t.name(suffix)) }

// open returns a new provider of ownerA.
func (t *trial) open() provider.Provider { return t.openAs(ownerA) }

// openAs returns a new provider of one of the trial's owners.
func (t *trial) openAs(which string) provider.Provider {
	p, err := t.harness.Open(t.ctx, t.owner(which))
	if err != nil {
		t.blockf("the harness cannot open a provider: %v", err)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.opened = append(t.opened, p)
	return p
}

// stop ends a provider as roughly as the harness can.
func (t *trial) stop(p provider.Provider) {
	err := errors.ErrUnsupported
	if k, ok := t.harness.(Killer); ok {
		err = k.Kill(p)
	}
	if errors.Is(err, errors.ErrUnsupported) {
		err = p.Close()
	}
	if err != nil {
		t.blockf("the provider cannot be ended: %v", err)
	}
}

// failf ends the trial: the rule is violated.
func (t *trial) failf(format string, args ...any) { t.end(Failed, fmt.Sprintf(format, args...)) }

// blockf ends the trial: what the check stands on does not work.
func (t *trial) blockf(format string, args ...any) { t.end(Blocked, fmt.Sprintf(format, args...)) }

// end ends the calling goroutine, which is the trial's or one of parallel's.
// The first outcome stays.
func (t *trial) end(s Status, message string) {
	t.settleOn(s, message)
	runtime.Goexit()
}

func (t *trial) settleOn(s Status, message string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.status == "" {
		t.status, t.message = s, message
	}
}

// outcome returns what the trial has come to so far.
func (t *trial) outcome() (Status, string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.status, t.message
}

// recovered turns a panic of the provider, or of a check, into a failure. It
// is deferred on every goroutine of a trial.
func (t *trial) recovered() {
	if v := recover(); v != nil {
		t.settleOn(Failed, fmt.Sprintf("panic: %v\n%s", v, debug.Stack()))
	}
}

// parallel calls f n times at once and waits for all. When one of them ended
// the trial, parallel does.
func (t *trial) parallel(n int, f func(i int)) {
	var wg sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		wg.Go(func() {
			defer t.recovered()
			<-start
			f(i)
		})
	}
	close(start)
	wg.Wait()
	if s, _ := t.outcome(); s != "" {
		runtime.Goexit()
	}
}

// once makes one call, bounded by the patience, and returns its error. A
// backend that is full or busy ends the trial as inconclusive. A call that does
// not end with its context is the watchdog's.
func (t *trial) once(call func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(t.ctx, t.config.patience())
	defer cancel()
	err := call(ctx)
	t.busy(err)
	return err
}

// busy ends the trial as inconclusive when the backend is full or busy.
func (t *trial) busy(err error) {
	switch k := provider.KindOf(err); k {
	case provider.RateLimited, provider.QuotaExceeded, provider.NoCapacity:
		t.end(Inconclusive, fmt.Sprintf("the backend answers %s: %v", k, err))
	}
}

// settle repeats a call while it answers InProgress or Unavailable, as a
// caller owes, and returns its last error once the patience is over.
func (t *trial) settle(call func(context.Context) error) error {
	deadline := time.Now().Add(t.config.patience())
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := t.once(call)
		switch provider.KindOf(err) {
		case provider.InProgress, provider.Unavailable:
		default:
			return err
		}
		if errors.Is(err, fs.ErrClosed) || !t.pause(max(pause, provider.RetryAfter(err)), deadline) {
			return err
		}
	}
}

// Pauses between two looks of settle and eventually.
const (
	firstPause = 5 * time.Millisecond
	lastPause  = time.Second
)

// pause waits, and reports false when the deadline would pass meanwhile.
func (t *trial) pause(d time.Duration, deadline time.Time) bool {
	if time.Now().Add(d).After(deadline) {
		return false
	}
	select {
	case <-time.After(d):
		return true
	case <-t.ctx.Done():
		return false
	}
}

// eventually calls look until it returns nil, and returns its last error once
// the patience is over.
func (t *trial) eventually(look func() error) error {
	deadline := time.Now().Add(t.config.patience())
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		err := look()
		if err == nil || !t.pause(pause, deadline) {
			return err
		}
	}
}

// logBuffer keeps what a provider logs.
type logBuffer struct {
	mu   sync.Mutex
	text []byte
}

// Write appends a line. It never fails.
func (b *logBuffer) Write(line []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.text = append(b.text, line...)
	return len(line), nil
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return string(b.text)
}
