package daemon

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/kinds"
	"github.com/crawlfleet/provider/examples/internal/proxyapi"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
)

// Options of a [Daemon]. Config and GuestCommand are required.
type Options struct {
	// Config is what is wanted at first. New calls its Prepare.
	Config *config.Config
	// Load reads the configuration again. Nil refuses to reload.
	Load func() (*config.Config, error)
	// Watch is the file whose change is a reason to reload; empty is none.
	Watch string
	// Reload asks for a reload for each value received. Nil never asks.
	Reload <-chan os.Signal
	// GuestCommand runs the reference guest; see [kinds.Options].
	GuestCommand []string
	// Token is one more token of the client API, with all rights; empty is
	// none. It is named "start".
	Token provider.Secret
	// Remove deletes every instance at the end.
	Remove bool
	// Logger is where the daemon and all that it runs log. Nil is nowhere.
	Logger *slog.Logger

	// open and check stand for backends and proxies in tests.
	open  openFunc
	check checkFunc
}

// Bounds of the end.
const (
	// removeTimeout is how long deleting everything may take. Clouds take
	// minutes; a backend that is gone must not hold the end up for ever.
	removeTimeout = 5 * time.Minute
	// endTimeout is how long calls that do not heed their context are waited
	// for, and a provider's Close.
	endTimeout = 10 * time.Second
	// readyTimeout is how long a provider that does not answer its first list
	// keeps the daemon from being ready for the sake of the others.
	readyTimeout = 15 * time.Second
)

// Daemon keeps fleets and serves the client API. New and Run are called once
// each; all other methods may be called at any time by anybody.
type Daemon struct {
	opts     Options
	log      *slog.Logger
	world    *world
	api      *proxyapi.Server
	listener net.Listener
	unlock   func()
	began    time.Time

	// config is the one in force, and loops are by provider. Both belong to the
	// goroutine of Run.
	config *config.Config
	loops  map[string]*running
	ending sync.WaitGroup // loops of providers that were dropped
}

// running is a loop and what ends it.
type running struct {
	*loop
	stop chan struct{}
}

// New takes the lock of the state directory and the address of the client API,
// so that whatever is wrong with these is known before anything is done. Its
// error is of Kind Invalid and names the field. Run gives both back.
func New(opts Options) (*Daemon, error) {
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	d := &Daemon{opts: opts, log: opts.Logger, config: opts.Config, loops: map[string]*running{}, began: time.Now(), unlock: func() {}}
	if err := d.prepare(); err != nil {
		d.release()
		return nil, err
	}
	return d, nil
}

// prepare is New, of which release takes back what there is.
func (d *Daemon) prepare() (err error) {
	c := d.config
	if err := os.MkdirAll(c.StateDir, 0o700); err != nil {
		return &provider.Error{Kind: provider.Invalid, Field: "stateDir", Err: fmt.Errorf("cannot be made: %w", err)}
	}
	if d.unlock, err = lock(c.StateDir); err != nil {
		d.unlock = func() {}
		return err
	}
	if err := c.Prepare(); err != nil {
		return err
	}
	tokens, err := d.tokens(c)
	if err != nil {
		return err
	}
	if d.listener, err = listen(c.API.Listen); err != nil {
		return err
	}
	pool, registry := lease.NewPool(lease.Options{}), prometheus.NewRegistry()
	registry.MustRegister(collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	d.world = &world{log: d.log, board: newBoard(pool), pool: pool, open: d.opts.open, check: d.opts.check}
	if d.world.metrics, err = newMetrics(registry); err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	if d.world.open == nil {
		d.world.open = d.open
	}
	if d.world.check == nil {
		d.world.check = func(ctx context.Context, c *proxycheck.Checker, p proxycheck.Proxy) (proxycheck.Result, error) {
			return c.Check(ctx, p)
		}
	}
	d.api, err = proxyapi.New(proxyapi.Options{
		Pool: pool, Tokens: tokens, Providers: d.world.board.status, Ready: d.ready, Registry: registry, Logger: d.log,
	})
	return err
}

func listen(address string) (net.Listener, error) {
	l, err := net.Listen("tcp", address)
	if errors.Is(err, syscall.EADDRINUSE) {
		err = fmt.Errorf("%s is in use; end what listens there, or take another address with -listen: %w", address, err)
	}
	if err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Field: "api.listen", Err: err}
	}
	return l, nil
}

// release gives back what prepare took.
func (d *Daemon) release() {
	if d.listener != nil {
		_ = d.listener.Close()
	}
	d.unlock()
}

// open opens a provider of the configuration.
func (d *Daemon) open(ctx context.Context, name string, c config.Provider) (provider.Provider, error) {
	return kinds.Open(ctx, kinds.Options{
		Name: name, Owner: d.opts.Config.Owner, StateDir: d.opts.Config.StateDir, Config: c, GuestCommand: d.opts.GuestCommand,
		Listen: d.Address(), Logger: d.log.With("provider", name),
	})
}

// tokens returns who may call the API.
func (d *Daemon) tokens(c *config.Config) ([]proxyapi.Token, error) {
	var tokens []proxyapi.Token
	for _, t := range c.API.Tokens {
		token := proxyapi.Token{Name: t.Name, Fleets: t.Fleets, Hash: t.Digest()}
		if t.Admin {
			token.Scope = proxyapi.ScopeAdmin
		}
		tokens = append(tokens, token)
	}
	if d.opts.Token == "" {
		return tokens, nil
	}
	hash, err := proxyapi.HashToken(d.opts.Token)
	if err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Field: "token", Err: err}
	}
	return append(tokens, proxyapi.Token{Name: "start", Hash: hash, Scope: proxyapi.ScopeAdmin}), nil
}

// Address is where the client API is served, with the real port.
func (d *Daemon) Address() string { return d.listener.Addr().String() }

// Fleets returns how the fleets do now.
func (d *Daemon) Fleets() []Fleet { return d.world.board.all() }

// Settled is closed when all fleets were as wanted for the first time.
func (d *Daemon) Settled() <-chan struct{} { return d.world.board.settled }

// ready is for /readyz.
func (d *Daemon) ready() error {
	waiting := d.world.board.unlisted()
	if len(waiting) == 0 || time.Since(d.began) > readyTimeout {
		return nil
	}
	return fmt.Errorf("%d providers have not been listed yet", len(waiting))
}

// Run keeps the fleets until ctx ends, and then ends as [Options.Remove] says.
// When hard ends as well, it ends at once, whatever is under way. The error
// says what kept it from its work, or what of a removal is left.
func (d *Daemon) Run(ctx, hard context.Context) error {
	server := d.api.HTTPServer()
	served := make(chan error, 1)
	go func() { served <- server.Serve(d.listener) }()
	d.log.Info("the client API is served", "address", d.Address())

	err := d.apply(d.config)
	if err == nil {
		err = d.until(ctx, served)
	}
	next := "the instances are left running, for the next start"
	if err != nil {
		d.log.Error("the daemon cannot go on", "error", err, "next", next)
	} else if d.opts.Remove {
		next = "all instances are deleted"
	}
	d.log.Info("ending", "next", next)
	if err == nil && d.opts.Remove {
		err = d.remove(hard)
	}
	d.stop(hard)
	shutdown, cancel := context.WithTimeout(hard, endTimeout)
	defer cancel()
	if server.Shutdown(shutdown) != nil {
		_ = server.Close()
	}
	d.release()
	return err
}

// until runs until ctx ends or the API cannot be served any more, and reloads
// in between.
func (d *Daemon) until(ctx context.Context, served <-chan error) error {
	changes, stop := d.watch()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			if errors.Is(err, http.ErrServerClosed) {
				return nil
			}
			return fmt.Errorf("serving the client API: %w", err)
		case <-d.opts.Reload:
			d.reload("SIGHUP")
		case <-changes:
			d.reload("the file changed")
		}
	}
}

// remove deletes everything, and reports what is left.
func (d *Daemon) remove(hard context.Context) error {
	ctx, cancel := context.WithTimeout(hard, removeTimeout)
	defer cancel()
	for _, l := range d.loops {
		l.send(func() {
			l.emptying = true
			l.endCreating()
			l.listed.next = time.Time{}
		})
	}
	for _, l := range d.loops {
		select {
		case <-l.emptied:
		case <-ctx.Done():
		}
	}
	if left := d.world.board.remaining(); len(left) > 0 {
		return &LeftError{Instances: left}
	}
	return nil
}

// LeftError is the error of a removal that was cut short.
type LeftError struct {
	// Instances are those known to be left, as "provider: name (ID)", and
	// providers that could not say, as "provider: unknown".
	Instances []string
}

// Error says how many there are.
func (e *LeftError) Error() string {
	return fmt.Sprintf("%d instances are left; the next start finds them", len(e.Instances))
}

// stop ends all loops and their providers.
func (d *Daemon) stop(hard context.Context) {
	for _, l := range d.loops {
		d.ending.Go(func() { l.close(hard) })
	}
	d.ending.Wait()
}

// close ends the loop, its calls and its provider.
func (l *running) close(hard context.Context) {
	close(l.stop)
	<-l.done
	l.end()
	ctx, cancel := context.WithTimeout(hard, endTimeout)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if l.p != nil {
			if err := l.p.Close(); err != nil {
				l.log.Warn("a provider does not close", "error", err)
			}
		}
		l.wg.Wait()
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		l.log.Warn("calls are left under way; what they make, the next start finds")
	}
}
