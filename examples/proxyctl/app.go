package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/kinds"
)

// app is one run of the program: where it prints, what it takes from outside,
// and the flags that all commands share.
type app struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	open           func(context.Context, kinds.Options) (provider.Provider, error)

	configFile   string
	providerName string
	adhoc        bool
	output       string
	timeout      time.Duration
}

// config reads the configuration and checks what it says of the providers.
func (a *app) config() (*config.Config, error) {
	c, err := config.Load(a.configFile, a.getenv)
	if err != nil {
		return nil, err
	}
	return c, kinds.Validate(c)
}

// prepared is config, ready for use.
func (a *app) prepared() (*config.Config, error) {
	c, err := a.config()
	if err != nil {
		return nil, err
	}
	return c, c.Prepare()
}

// openProvider opens one provider of the configuration, for the owner that the
// command line asks for.
func (a *app) openProvider(ctx context.Context, c *config.Config, name string) (provider.Provider, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program, which is the guest: %w", err)
	}
	o := kinds.Options{
		Name: name, Owner: c.Owner, StateDir: c.StateDir, Config: c.Providers[name], GuestCommand: []string{self, "guest"},
	}
	if a.adhoc {
		o.Owner = c.AdhocOwner()
	}
	// Port 0 is known to the running daemon alone.
	if _, port, err := net.SplitHostPort(c.API.Listen); err == nil && port != "0" {
		o.Listen = c.API.Listen
	}
	return a.open(ctx, o)
}

// providerOf chooses the provider for one instance: the one that was asked
// for, that of the fleet which the name belongs to, or the only one.
func (a *app) providerOf(c *config.Config, name string) (string, error) {
	all := slices.Sorted(maps.Keys(c.Providers))
	if a.providerName != "" {
		if _, ok := c.Providers[a.providerName]; !ok {
			return "", usage("there is no provider %q; the providers are %s", a.providerName, strings.Join(all, ", "))
		}
		return a.providerName, nil
	}
	if f, ok := c.Member(name); ok && !a.adhoc {
		return f.Provider, nil
	}
	if len(all) == 1 {
		return all[0], nil
	}
	return "", usage("name a provider with --provider: %s", strings.Join(all, ", "))
}

// providers chooses those that a command for all instances works on.
func (a *app) providers(c *config.Config) ([]string, error) {
	if a.providerName == "" {
		return slices.Sorted(maps.Keys(c.Providers)), nil
	}
	name, err := a.providerOf(c, "")
	return []string{name}, err
}

// with opens the provider of the named instance, runs f within the time limit
// and closes the provider again.
func (a *app) with(ctx context.Context, name string, f func(context.Context, *config.Config, provider.Provider) error) error {
	c, err := a.prepared()
	if err != nil {
		return err
	}
	return a.withConfig(ctx, c, name, f)
}

func (a *app) withConfig(ctx context.Context, c *config.Config, name string, f func(context.Context, *config.Config, provider.Provider) error) error {
	backend, err := a.providerOf(c, name)
	if err != nil {
		return err
	}
	ctx, cancel := a.limit(ctx)
	defer cancel()
	p, err := a.openProvider(ctx, c, backend)
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, c, p), p.Close())
}

// limit bounds a command by --timeout; zero does not.
func (a *app) limit(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, a.timeout)
}
