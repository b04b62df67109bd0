//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package customprovider is a provider as a third party would write it: its
// machines are processes of this computer, each of which runs the guest, a
// forward proxy on a loopback port. It imports public packages only, and is
// meant to be read beside docs/providers.md.
//
// # Backend
//
// One state directory ([Config.Dir]) on a local file system, and the process
// table. A guest outlives the program that started it. Programs that share a
// directory share what is in it, safely, as long as they serve one owner; two
// owners in one directory do not see each other.
//
// # The claim
//
// A symbolic link, whose text is the record. symlink(2) is exclusive and
// carries its content in the same step, so no crash leaves a claim that nobody
// can read. Everything else is in one directory, named by owner, name and
// token:
//
//	claims/p1-web-1-3fkq...            -> {"version":1,"owner":...,"name":"web-1","token":...}
//	instances/p1-jx7a....web-1.TOKEN/
//	    alive                          locked by the guest as long as it lives
//	    process.json                   which process it is
//	    started.json                   what it was started with; written last
//	    log                            what it prints
//	locks/p1-web-1-3fkq...             held for a moment; gone between the moments
//
// # Location
//
// There is one place, and its name in IDs is "local". Spec.Location is not
// supported.
//
// # Images
//
// One, called "reference": the program of [Config.Command].
//
// # Features
//
// Spec.Image, Spec.Port, Spec.Credentials, Spec.AllowFrom, Spec.Labels and the
// console, with Follow and Offset.
//
// # Not supported
//
// Spec.Location, Spec.Size and Spec.Preemptible, and ConsoleOptions.Previous.
// Nothing restarts a guest that ended, and nothing cuts its log. A guest
// listens on 127.0.0.1 only, so AllowFrom, where it is set, must contain that.
// A power cut may take the newest claims along; what is left of such an
// instance is listed as Incomplete.
//
// # Security
//
// Directories have mode 0700. The guest gets its document, in which passwords
// are bcrypt hashes, through a pipe; it is in no file. Its environment holds a
// search path and nothing of the program's.
//
// # Systems
//
// Linux, macOS and the BSDs. Only on Linux (5.4 or later) is a process signalled
// through a handle that cannot come to mean another one; see process_other.go.
package customprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// The provider's words for itself.
const (
	// Kind is the Info.Kind of every provider of this package.
	Kind = "local"
	// Image is the one value that Spec.Image may have beside none.
	Image = "reference"
	// place stands in IDs, where a provider of several places names the one.
	place = "local"
)

// DefaultGrace is the default of [Config.Grace]: time for a page that is under
// way, and less than the ten seconds after which most supervisors kill the
// program that waits for it.
const DefaultGrace = 5 * time.Second

// MaxOwner is the longest [Config.Owner] in bytes. A record with it fits into
// a symbolic link everywhere; macOS has the least room, 1023 bytes.
const MaxOwner = 128

// Config says what a provider works with. Name, Owner, Dir and Command are
// required.
type Config struct {
	// Name is what the configuration calls this provider; it is Info.Name.
	Name string
	// Owner is the unique ID of the owner that it serves: UTF-8 without
	// control characters, at most [MaxOwner] bytes.
	Owner string
	// Dir is the state directory. New makes it where it is missing. It must be
	// on a local file system: flock(2) over NFS does not pass to a child. A
	// relative path is resolved once, by New.
	Dir string
	// Command is the guest's program with its first arguments. The provider
	// appends "-config FILE -listen-fd N": FILE is where the guest reads its
	// document ([provider.Guest]), once and to the end, and N the descriptor of
	// the socket that it serves. A guest that cannot read the document must
	// end. It must leave its other descriptors open, and hand them to no
	// process of its own. It runs in the root directory. New searches for a
	// program without a slash as a shell would.
	Command []string
	// Destinations are handed to every guest as they are.
	Destinations provider.Destinations
	// Grace is how long a guest may take to end after SIGTERM, before SIGKILL.
	// Zero is [DefaultGrace].
	Grace time.Duration
	// Logger is where the provider logs. Nil is nowhere.
	Logger *slog.Logger
}

// Validate checks the configuration without touching anything. Its error is an
// *Error of Kind Invalid that names the Field.
func (c Config) Validate() error {
	switch {
	case c.Name == "":
		return invalid("Name", "is empty; give the provider a name such as local")
	case c.Owner == "":
		return invalid("Owner", "is empty; give it an ID that no other owner has")
	case len(c.Owner) > MaxOwner:
		return invalid("Owner", "has %d bytes; at most %d are allowed", len(c.Owner), MaxOwner)
	case strings.ToValidUTF8(c.Owner, "") != c.Owner || strings.ContainsFunc(c.Owner, isControl):
		return invalid("Owner", "is not UTF-8 without control characters")
	case c.Dir == "":
		return invalid("Dir", "is empty; name the directory that keeps the state")
	case len(c.Command) == 0 || c.Command[0] == "":
		return invalid("Command", "is empty; name the guest's program")
	case c.Grace < 0:
		return invalid("Grace", "%v is negative; 0 is the default of %v", c.Grace, DefaultGrace)
	}
	return c.Destinations.Validate()
}

func isControl(r rune) bool { return r < ' ' || r == 0x7f }

// Provider keeps guests of one owner as processes of this computer. It is safe
// for concurrent use.
type Provider struct {
	config Config // with defaults, Dir and Command[0] absolute
	log    *slog.Logger
	// opened are the directories of the layout as New found them. See sure.
	opened   []*os.File
	children children

	// life ends with Close, and every call's context with it.
	life   context.Context
	end    context.CancelFunc
	mu     sync.Mutex // guards closed, and calls.Add against calls.Wait
	closed bool
	calls  sync.WaitGroup

	// step, where a test sets it, is called in place of each change of the
	// outside world.
	step func(ctx context.Context, what string, do func() error) error
}

var (
	_ provider.Provider = (*Provider)(nil)
	_ provider.Console  = (*Provider)(nil)
)

// New opens the state directory and returns a provider over it. Guests that
// are there already are served from then on. The error is an *Error: Invalid
// names the Field of the configuration, PermissionDenied and Unavailable are
// about the directory.
func New(config Config) (*Provider, error) {
	p := &Provider{config: config, log: config.Logger}
	if err := p.open(); err != nil {
		return nil, p.failed("New", provider.Ref{}, errors.Join(err, p.release()))
	}
	p.life, p.end = context.WithCancel(context.Background())
	p.calls.Go(func() { p.children.reapUntil(p.life) })
	return p, nil
}

// open completes the configuration and makes the layout.
func (p *Provider) open() error {
	c := &p.config
	if err := c.Validate(); err != nil {
		return err
	}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	c.Grace = cmp.Or(c.Grace, DefaultGrace)
	program, err := exec.LookPath(c.Command[0])
	if err == nil {
		program, err = filepath.Abs(program)
	}
	if err != nil {
		return &provider.Error{Kind: provider.Invalid, Field: "Command", Err: err}
	}
	c.Command = append([]string{program}, c.Command[1:]...)
	if c.Dir, err = filepath.Abs(c.Dir); err != nil {
		return err
	}
	for _, dir := range p.layout() {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
		f, err := os.Open(dir)
		if err != nil {
			return err
		}
		p.opened = append(p.opened, f)
	}
	p.sweepLocks()
	return nil
}

// layout returns the directories that hold the state.
func (p *Provider) layout() []string {
	return []string{p.path("claims"), p.path("instances"), p.path("locks")}
}

func (p *Provider) path(elem ...string) string {
	return filepath.Join(append([]string{p.config.Dir}, elem...)...)
}

// sure returns an error unless the directories are those that New opened.
// Whoever is about to say that an instance does not exist asks it first: when
// the state directory was removed, replaced or unmounted, nothing is known,
// and NotFound would make the caller build everything again.
func (p *Provider) sure() error {
	for i, dir := range p.layout() {
		was, err := p.opened[i].Stat()
		if err != nil {
			return err
		}
		is, err := os.Stat(dir)
		if errors.Is(err, fs.ErrNotExist) {
			// Not wrapped: callers read fs.ErrNotExist as the instance's absence.
			return fmt.Errorf("the state directory is not there any more: %v", err)
		}
		if err != nil {
			return err
		}
		// The open handle keeps the inode's number from being used again.
		if !os.SameFile(was, is) {
			return fmt.Errorf("%s is not the directory that was opened; open the provider again", dir)
		}
	}
	return nil
}

// Info implements [provider.Provider].
func (p *Provider) Info() provider.Info {
	return provider.Info{
		Name: p.config.Name, Kind: Kind, Owner: p.config.Owner, Contract: provider.Contract,
		Features: []provider.Feature{
			provider.FeatureConsole, provider.FeatureImage, provider.FeaturePort,
			provider.FeatureCredentials, provider.FeatureAllowFrom, provider.FeatureLabels,
		},
	}
}

// Close implements [provider.Provider]. Calls that are under way end with an
// error that matches fs.ErrClosed. Guests live on; one that ends afterwards
// stays in the process table until this program ends too, or a provider that
// it opens later over the same directory meets it.
func (p *Provider) Close() error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	p.end()
	p.calls.Wait()
	if !first {
		return nil
	}
	return p.release()
}

// release closes the handles of the layout.
func (p *Provider) release() error {
	errs := make([]error, 0, len(p.opened))
	for _, f := range p.opened {
		errs = append(errs, f.Close())
	}
	return errors.Join(errs...)
}

// call runs one method: it counts as under way, its context ends with Close
// too, and its error gets the caller's words.
func (p *Provider) call(ctx context.Context, op string, ref provider.Ref, f func(context.Context) error) error {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return p.failed(op, ref, fs.ErrClosed)
	}
	p.calls.Add(1)
	p.mu.Unlock()
	defer p.calls.Done()
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(p.life, func() { cancel(fs.ErrClosed) })()
	err := ended(ctx)
	if err == nil {
		err = f(ctx)
	}
	return p.failed(op, ref, err)
}

// ended returns why the context of a call has ended, and nil while it has not.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), fs.ErrClosed) {
		return fs.ErrClosed
	}
	return ctx.Err()
}

// sleep waits, and returns why the context ended when it does so first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ended(ctx)
	}
}

// change makes one change of the outside world, unless the call has ended.
// Every one goes through here: the states between two changes are those that a
// crash can leave, and tests stop at each. The table in lifecycle.go lists them.
func (p *Provider) change(ctx context.Context, what string, do func() error) error {
	if err := ended(ctx); err != nil {
		return err
	}
	if p.step != nil {
		return p.step(ctx, what, do)
	}
	return do()
}
