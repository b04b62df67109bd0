package daemon

import (
	"context"
	"errors"
	"time"

	"github.com/crawlfleet/provider"
)

// sweepTimeout bounds one sweep of the collector: a list, and deletes one
// after another.
const sweepTimeout = 10 * time.Minute

var errNotListed = errors.New("the provider has not been listed yet")

// startSweep begins a sweep of the collector when one is due, and returns when
// the next is. The collector deletes what this loop leaves alone; see
// [fleet.Plan.Strays].
func (l *loop) startSweep(now time.Time) time.Time {
	never := now.Add(maxList)
	if l.sweep.busy || l.emptying || l.settings.retired {
		return never
	}
	if now.Before(l.sweep.next) {
		return l.sweep.next
	}
	l.sweep.busy = true
	collector := l.collector
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, sweepTimeout)
		defer cancel()
		sweep, err := collector.Sweep(ctx)
		l.send(func() { l.swept(sweep, err) })
	})
	return never
}

// swept notes what a sweep found. The collector has logged what it deleted.
func (l *loop) swept(sweep provider.Sweep, err error) {
	l.sweep.busy = false
	l.sweep.next = time.Now().Add(l.settings.collector.Interval)
	l.metrics.orphans.WithLabelValues(l.name).Set(float64(sweep.Orphans))
	l.metrics.collected.WithLabelValues(l.name).Add(float64(len(sweep.Deleted)))
	switch _, refused := errors.AsType[*provider.TooManyOrphansError](err); {
	case refused:
		l.log.Error("the collector refuses to sweep", "kind", provider.KindOf(err), "error", err,
			"next", "look with proxyctl gc; when they are to go, set collector.acknowledge to their number")
	case err != nil:
		l.log.Warn("a sweep failed", "kind", provider.KindOf(err), "error", err,
			"next", "again in "+l.settings.collector.Interval.String())
	case sweep.Orphans > 0:
		l.log.Info("swept", "listed", sweep.Listed, "orphans", sweep.Orphans, "deleted", len(sweep.Deleted), "spared", len(sweep.Spared),
			"next", "again in "+l.settings.collector.Interval.String())
	}
}

// owners is called by the collector, beside the loop.
func (l *loop) owners(context.Context) ([]provider.Ref, error) {
	owned := l.owned.Load()
	if owned == nil {
		return nil, &provider.Error{Kind: provider.Unavailable, Provider: l.name, Err: errNotListed}
	}
	return *owned, nil
}
