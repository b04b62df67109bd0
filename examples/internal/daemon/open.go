package daemon

import (
	"context"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

const (
	// openTimeout bounds the opening of a provider, which may ask its backend.
	openTimeout = time.Minute
	// firstOpen and lastOpen bound the pause after one that failed.
	firstOpen, lastOpen = 2 * time.Second, time.Minute
)

// openFunc opens a provider from its part of the configuration.
type openFunc func(ctx context.Context, name string, c config.Provider) (provider.Provider, error)

// opening is how a loop comes by its provider. A provider that cannot be
// opened keeps nobody else waiting, and one whose keys changed is opened anew
// before the old one is closed.
type opening struct {
	open   openFunc
	from   config.Provider // what p was opened from, or is being opened from
	busy   bool
	next   time.Time
	failed int
}

// startOpen begins to open the provider when that is due, and returns when it
// is.
func (l *loop) startOpen(now time.Time) time.Time {
	o := &l.opening
	never := now.Add(maxList)
	switch {
	case o.busy, l.p != nil && o.from.SameKeys(l.settings.provider):
		return never
	case now.Before(o.next):
		return o.next
	}
	o.busy = true
	from := l.settings.provider
	l.wg.Go(func() {
		ctx, cancel := context.WithTimeout(l.life, openTimeout)
		defer cancel()
		p, err := o.open(ctx, l.name, from)
		if !l.send(func() { l.opened(p, from, err) }) && p != nil {
			_ = p.Close()
		}
	})
	return never
}

// opened notes how the opening ended.
func (l *loop) opened(p provider.Provider, from config.Provider, err error) {
	o := &l.opening
	o.busy = false
	now := time.Now()
	if err != nil {
		pause := min(firstOpen<<min(o.failed, 10), lastOpen)
		o.failed++
		o.next = now.Add(pause)
		l.board.failed(l.name, err, now)
		l.log.Error("a provider cannot be opened", "kind", provider.KindOf(err), "error", err, "next", "tried again in "+pause.String())
		return
	}
	old := l.p
	l.p, o.from, o.failed, o.next = provider.Instrument(p, l.metrics.observer(l.name)), from, 0, time.Time{}
	l.newCollector()
	l.listed.next, l.listed.changed = time.Time{}, now
	l.log.Info("a provider is open", "kind", p.Info().Kind)
	if old != nil {
		// Its calls end, and are made again on the new one.
		l.wg.Go(func() { _ = old.Close() })
	}
}
