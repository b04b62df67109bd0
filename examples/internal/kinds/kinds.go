// Package kinds opens the providers that a configuration names.
//
// The kinds are one table, in this file. There is no registry: a kind is in
// the program or it is not, and which it is, is decided when the program is
// built. Kinds that bring a large SDK are left out unless their build tag is
// given, so that the demo stays quick to build; naming one of them gives an
// error that says how to get it. See docs/decisions/0005.
package kinds

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// Options say which provider to open, and what every kind may need. Name,
// Owner, StateDir and Config are required.
type Options struct {
	// Name is what the configuration calls the provider.
	Name string
	// Owner is whose instances it serves: Config.Owner or Config.AdhocOwner.
	Owner string
	// StateDir is the program's state directory. A kind that keeps state here
	// does so under a name of its own.
	StateDir string
	// Config is the provider's part of the configuration.
	Config config.Provider
	// GuestCommand runs the reference guest, for kinds that start it here:
	// usually the program itself with the argument "guest".
	GuestCommand []string
	// Listen is the address at which the daemon serves, with the real port.
	// Kinds that run guests on this machine let these reach it, because the
	// proxy check goes there. Empty opens nothing.
	Listen string
	// Logger is where the provider logs. Nil is nowhere.
	Logger *slog.Logger
}

// kind is one entry of the table.
type kind struct {
	// open opens a provider. It may ask the backend.
	open func(context.Context, Options) (provider.Provider, error)
	// validate checks the keys of the kind and touches nothing.
	validate func(config.Provider) error
	// place names what the provider of that name works on. Two providers of
	// one owner at one place would take each other's members for strays. Nil
	// is a kind whose providers cannot meet.
	place func(stateDir, name string, c config.Provider) (key, place string)
}

// table returns every kind that this module knows.
func table() map[string]kind {
	return map[string]kind{
		"local":      local(),
		"gcp":        absent("gcp"),
		"kubernetes": absent("kubernetes"),
	}
}

// absent is a kind that is not in this program. The tag is what the program
// has to be built with to have it.
func absent(tag string) kind {
	refuse := func(c config.Provider) error {
		return c.Fault("kind", fmt.Sprintf(
			"%s is not built into this program; take a version that has it, built with -tags %s", c.Kind, tag))
	}
	return kind{
		open: func(_ context.Context, o Options) (provider.Provider, error) {
			return nil, refuse(o.Config)
		},
		validate: refuse,
	}
}

// Open opens a provider. The caller closes it. The error is a fault of the
// configuration, of Kind Invalid, or that of the provider.
func Open(ctx context.Context, o Options) (provider.Provider, error) {
	k, err := lookup(o.Config)
	if err != nil {
		return nil, err
	}
	if o.Owner == "" {
		return nil, &provider.Error{Kind: provider.Invalid, Op: "Open", Provider: o.Name, Field: "Owner",
			Err: errors.New("is empty; Config.Prepare finds it")}
	}
	return k.open(ctx, o)
}

// Validate checks for every provider of a configuration that its kind is in
// this program, that it knows the keys, and that no two providers work on one
// place, without touching a backend. It joins the faults of all.
func Validate(c *config.Config) error {
	var errs []error
	taken := map[string]string{} // by kind and place
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		p := c.Providers[name]
		k, err := lookup(p)
		if err == nil {
			err = k.validate(p)
		}
		if err == nil && k.place != nil {
			key, place := k.place(c.StateDir, name, p)
			other, twice := taken[p.Kind+" "+place]
			if twice {
				err = p.Fault(key, fmt.Sprintf("%s is that of provider %s, which would delete what this one makes; give each its own", place, other))
			}
			taken[p.Kind+" "+place] = name
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func lookup(c config.Provider) (kind, error) {
	kinds := table()
	k, ok := kinds[c.Kind]
	if !ok {
		return kind{}, c.Fault("kind", fmt.Sprintf("there is no kind %q; the kinds are %s",
			c.Kind, strings.Join(slices.Sorted(maps.Keys(kinds)), ", ")))
	}
	return k, nil
}
