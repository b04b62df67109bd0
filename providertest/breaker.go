package providertest

import (
	"context"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// Breaker is an optional interface of a [Harness]: it stands between the
// provider and its backend, where connections break.
type Breaker interface {
	// Break asks plan about every call that the harness's providers make to
	// the backend from now on, before it is made, and does what plan answers.
	// A nil plan, and Purge, end that. Calls may come at once, and so may
	// plan be called. A fault that the backend cannot play is Pass.
	Break(ctx context.Context, plan func(Call) Fault) error
}

// Call is one call of a provider to its backend.
type Call struct {
	// Seq counts the calls since Break, from 1.
	Seq int
	// Name is the backend's word for what is asked, the same in every run:
	// "volume.create", "GET /pods". It does not contain the instance's name.
	Name string
	// Writes says that the call changes the backend.
	Writes bool
}

// Fault is what happens to a [Call].
type Fault string

// The faults.
const (
	// Pass: the call is made.
	Pass Fault = "pass"
	// Fail: the call is not made, and the provider sees a broken connection.
	Fail Fault = "fail"
	// Hang: the call is not made, and nothing answers.
	Hang Fault = "hang"
	// CutAfter: the call is made, and the provider sees a broken connection in
	// place of the answer.
	CutAfter Fault = "cut after"
	// Late: nothing answers; the call is made once the provider has given up.
	Late Fault = "late"
)

// point is one call in a clean run: the occurrence of a name.
type point struct {
	call       Call
	occurrence int
}

// recorded returns the calls of a clean run that are worth breaking: of each
// name the first occurrence, the second and the last, because the rest are
// polls.
func (t *trial) recorded(run func()) []point {
	var mu sync.Mutex
	counts := map[string]int{}
	var all []point
	t.broken(func(c Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		counts[c.Name]++
		all = append(all, point{c, counts[c.Name]})
		return Pass
	})
	run()
	t.broken(nil)
	mu.Lock()
	defer mu.Unlock()
	var points []point
	for _, p := range all {
		if p.occurrence <= 2 || p.occurrence == counts[p.call.Name] {
			points = append(points, p)
		}
	}
	return points
}

// breaks makes a fault happen at a point, once, until the plan changes.
func (t *trial) breaks(at point, fault Fault) {
	var mu sync.Mutex
	seen := 0
	t.broken(func(c Call) Fault {
		mu.Lock()
		defer mu.Unlock()
		if c.Name == at.call.Name {
			seen++
			if seen == at.occurrence {
				return fault
			}
		}
		return Pass
	})
}

func (t *trial) broken(plan func(Call) Fault) {
	t.harnessed("Break", t.harness.(Breaker).Break(t.ctx, plan))
}

// impatient makes one call under a context that ends after d, as a caller's
// that gives up, and returns its error.
func (t *trial) impatient(d time.Duration, call func(context.Context) error) error {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	timer := time.AfterFunc(d, cancel)
	defer timer.Stop()
	err := t.bounded("a call under a fault", func() error { return call(ctx) })
	t.busy(err)
	return err
}

// lies says what is wrong with an answer under a fault, or nothing: a fault is
// neither a word about the instance nor about the spec.
func lies(err error) bool {
	switch provider.KindOf(err) {
	case provider.NotFound, provider.Invalid, provider.Unsupported, provider.Conflict:
		return true
	}
	return false
}
