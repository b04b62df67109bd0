package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/daemon"
	"github.com/crawlfleet/provider/examples/internal/kinds"
	"github.com/crawlfleet/provider/examples/internal/proxyapi"
)

// guestCommand is the first argument with which the program is a guest.
const guestCommand = "guest"

// Exit codes.
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2 // flags or configuration
)

// again is how much later a second signal is a second one: a terminal, a shell
// and timeout(1) may each deliver what a person asked for once.
const again = 500 * time.Millisecond

// surroundings are what the program takes from the system.
type surroundings struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	signals        <-chan os.Signal
}

// run is the program. It returns the exit code.
func run(args []string, sys surroundings) int {
	o, err := parse(args, sys)
	switch {
	case errors.Is(err, errHelp):
		return exitOK
	case err != nil:
		fmt.Fprintln(sys.stderr, "proxyd:", err)
		return exitUsage
	case o.version:
		fmt.Fprintln(sys.stdout, version())
		return exitOK
	}
	c, err := o.load()
	if err != nil {
		fmt.Fprintln(sys.stderr, err)
		return exitUsage
	}
	if o.check {
		fmt.Fprintf(sys.stdout, "%s is good: %d providers, %d fleets\n", o.source(), len(c.Providers), len(c.Fleets))
		return exitOK
	}
	if err := serve(o, c, sys); err != nil {
		fmt.Fprintln(sys.stderr, "proxyd:", err)
		if left, ok := errors.AsType[*daemon.LeftError](err); ok {
			for _, instance := range left.Instances {
				fmt.Fprintln(sys.stderr, " ", instance)
			}
		}
		if provider.KindOf(err) == provider.Invalid {
			return exitUsage
		}
		return exitError
	}
	return exitOK
}

// load reads and checks the configuration.
func (o *options) load() (*config.Config, error) {
	c, err := config.Load(o.config, o.getenv)
	if err != nil {
		return nil, err
	}
	return c, kinds.Validate(c)
}

// serve runs the daemon until a signal ends it.
func serve(o *options, c *config.Config, sys surroundings) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding the program for the guests: %w", err)
	}
	screen := newScreen(sys.stderr, o.live())
	var token provider.Secret
	if len(c.API.Tokens) == 0 {
		token = proxyapi.NewToken()
	}
	reload := make(chan os.Signal, 1)
	d, err := daemon.New(daemon.Options{
		Config: c, Load: o.reloader(), Watch: o.config, Reload: reload, GuestCommand: []string{self, guestCommand},
		Token: token, Remove: !o.keep, Logger: o.logger(screen),
	})
	if err != nil {
		return err
	}
	ctx, hard, stop := endings(sys.signals, reload, screen, !o.keep)
	defer stop()
	ended, watching := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(watching)
		screen.follow(ctx, ended, d, func() { commands(sys.stdout, d.Address(), token, len(c.Fleets) > 0) })
	}()
	err = d.Run(ctx, hard)
	close(ended)
	<-watching
	screen.finish(d, err)
	return err
}

// reloader returns what reads the file again; nil where there is none.
func (o *options) reloader() func() (*config.Config, error) {
	if o.config == "" {
		return nil
	}
	return o.load
}

// endings turns signals into contexts: the first SIGINT or SIGTERM ends ctx,
// the second hard. SIGHUP goes to reload.
func endings(signals <-chan os.Signal, reload chan<- os.Signal, screen *screen, removes bool) (ctx, hard context.Context, stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	hard, cancelHard := context.WithCancel(context.Background())
	done := make(chan struct{})
	var first time.Time
	go func() {
		for {
			select {
			case <-done:
				return
			case s := <-signals:
				switch {
				case s == syscall.SIGHUP:
					select {
					case reload <- s:
					default: // one is waiting already
					}
				case ctx.Err() == nil:
					first = time.Now()
					screen.ending(removes)
					cancel()
				case time.Since(first) > again:
					cancelHard()
				}
			}
		}
	}()
	return ctx, hard, func() { close(done); cancel(); cancelHard() }
}

// logger returns where the daemon logs.
func (o *options) logger(w io.Writer) *slog.Logger {
	opts := &slog.HandlerOptions{Level: o.level()}
	if o.logFormat == "json" {
		return slog.New(slog.NewJSONHandler(w, opts))
	}
	return slog.New(slog.NewTextHandler(w, opts))
}

// isTerminal reports whether a person watches w.
func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// version is what the Go toolchain knows of the build.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "proxyd (unknown)"
	}
	text := "proxyd " + info.Main.Version + " " + info.GoVersion
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			text += " " + s.Value
		}
	}
	return text
}
