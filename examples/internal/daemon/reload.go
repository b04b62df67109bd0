package daemon

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/kinds"
)

// reload reads the configuration again and puts it in force, or says why not
// and keeps the one before.
func (d *Daemon) reload(why string) {
	err := d.tryReload()
	if err != nil {
		d.world.metrics.reloads.WithLabelValues("refused").Inc()
		d.world.metrics.reloaded.Set(0)
		d.log.Error("the configuration is refused", "why", why, "kind", provider.KindOf(err), "error", err,
			"next", "the one before stays in force")
		return
	}
	d.world.metrics.reloads.WithLabelValues("ok").Inc()
	d.world.metrics.reloaded.Set(1)
	d.log.Info("the configuration is in force", "why", why, "providers", len(d.config.Providers), "fleets", len(d.config.Fleets))
}

func (d *Daemon) tryReload() error {
	if d.opts.Load == nil {
		return errors.New("there is no file to read again; start with -config")
	}
	c, err := d.opts.Load()
	if err != nil {
		return err
	}
	if err := kinds.Validate(c); d.opts.open == nil && err != nil {
		return err
	}
	if err := d.changeable(c); err != nil {
		return err
	}
	if err := c.Prepare(); err != nil {
		return err
	}
	if err := sameCredentials(d.config, c); err != nil {
		return err
	}
	return d.apply(c)
}

// changeable refuses what cannot change while the daemon runs.
func (d *Daemon) changeable(c *config.Config) error {
	for _, f := range []struct{ field, now, then string }{
		{"owner", d.config.Owner, c.Owner},
		{"stateDir", d.config.StateDir, c.StateDir},
		{"api.listen", d.config.API.Listen, c.API.Listen},
	} {
		if f.now != f.then {
			return refuse(f.field, "changes from %q to %q; that takes a restart", f.now, f.then)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(d.loops)) {
		p, stays := c.Providers[name]
		if stays && p.Kind == d.config.Providers[name].Kind {
			continue
		}
		held, known := d.loops[name].held()
		switch {
		case !known:
			return refuse("providers."+name, "is dropped or of another kind, and it is not known whether it still holds instances; mark it retired: true")
		case held > 0:
			return refuse("providers."+name, "is dropped or of another kind, and it still holds %d instances, which nobody could delete afterwards; "+
				"mark it retired: true until they are gone", held)
		}
	}
	return nil
}

// sameCredentials refuses new credentials under the same spec: the members
// that are there would never get them, and all their checks would fail.
func sameCredentials(before, after *config.Config) error {
	for i := range after.Fleets {
		f := &after.Fleets[i]
		old, ok := before.Fleet(f.Name)
		if !ok || old.Provider != f.Provider {
			continue
		}
		name := fleet.MemberName(f.Name, 0)
		was, errWas := old.Spec(name)
		is, errIs := f.Spec(name)
		if err := errors.Join(errWas, errIs); err != nil {
			return err
		}
		if was.Credentials != is.Credentials && was.Hash() == is.Hash() {
			return refuse(fmt.Sprintf("fleets[%d].spec.revision", i), "is as before although the credentials of fleet %s changed; "+
				"change the revision too, so that its members are replaced one by one", f.Name)
		}
	}
	return nil
}

func refuse(field, format string, args ...any) error {
	return &provider.Error{Kind: provider.Invalid, Field: field, Err: fmt.Errorf(format, args...)}
}

// apply puts a configuration in force. It changes nothing when it fails.
func (d *Daemon) apply(c *config.Config) error {
	all := map[string]settings{}
	for name := range c.Providers {
		s, err := settingsOf(c, name, d.Address())
		if err != nil {
			return err
		}
		all[name] = s
	}
	tokens, err := d.tokens(c)
	if err != nil {
		return err
	}
	if err := d.api.SetTokens(tokens); err != nil {
		return &provider.Error{Kind: provider.Invalid, Field: "api.tokens", Err: err}
	}
	for name, l := range d.loops {
		if s, stays := all[name]; !stays || s.provider.Kind != d.config.Providers[name].Kind {
			d.drop(name, l)
		}
	}
	d.config = c
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		if l, ok := d.loops[name]; ok {
			l.send(func() { l.configure(s) })
			continue
		}
		l := &running{newLoop(d.world, name, s), make(chan struct{})}
		d.loops[name] = l
		go l.run(l.stop)
	}
	return nil
}

// drop ends the loop of a provider that is not configured any more.
func (d *Daemon) drop(name string, l *running) {
	delete(d.loops, name)
	d.log.Info("a provider is not configured any more", "provider", name)
	l.close(context.Background())
	d.world.board.close(name)
	d.world.metrics.forget(name)
}

// held returns how many instances the provider is known to hold, and whether
// that is known.
func (l *running) held() (int, bool) {
	type answer struct {
		held  int
		known bool
	}
	answers := make(chan answer, 1)
	if !l.send(func() {
		answers <- answer{len(l.memory.Members), l.memory.Listing == fleet.ListComplete && l.calls == 0}
	}) {
		return 0, false
	}
	a := <-answers
	return a.held, a.known || a.held > 0
}
