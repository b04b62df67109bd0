//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/crypto/bcrypt"

	"github.com/crawlfleet/provider"
)

// What a crash leaves. Create and Delete change the world in these steps, and
// a program may die before each, or be killed in the middle of the last:
//
//	before                 List shows  guest              the next Create      Delete
//	make claim             nothing     none               makes it             nil
//	make directory         Incomplete  none               completes it         removes the claim
//	lock alive             Incomplete  none               clears, completes    removes both
//	start process          Incomplete  none               clears, completes    removes both
//	record process         Incomplete  ends by itself     waits, completes     waits, removes both
//	hand over document     Incomplete  ends by itself     kills, completes     kills, removes both
//	record start           Incomplete  runs               kills, completes     kills, removes both
//	(done)                 Running     runs               returns it           as below
//	write mark             as it was   runs               returns it           goes on
//	mark claim             as it was   runs               returns it           goes on
//	signal                 Deleting    runs               goes on, InProgress  kills after the grace
//	remove directory       Deleting    none               goes on, makes new   goes on
//	remove claim           Deleting    none               goes on, makes new   goes on
//
// The lock of a name is a lock of the system, which a crash releases.

// Create implements [provider.Provider].
func (p *Provider) Create(ctx context.Context, spec provider.Spec) (inst provider.Instance, err error) {
	err = p.call(ctx, "Create", provider.Ref{Name: spec.Name}, func(ctx context.Context) error {
		inst, err = p.create(ctx, spec)
		return err
	})
	if err != nil {
		return provider.Instance{}, err
	}
	return inst, nil
}

func (p *Provider) create(ctx context.Context, spec provider.Spec) (provider.Instance, error) {
	if err := spec.Validate(); err != nil {
		return provider.Instance{}, err
	}
	if err := supported(spec); err != nil {
		return provider.Instance{}, err
	}
	unlock, err := p.lock(ctx, spec.Name)
	if err != nil {
		return provider.Instance{}, err
	}
	defer unlock()
	i, err := p.incumbent(ctx, spec.Name)
	if err != nil {
		return provider.Instance{}, err
	}
	if i.Token != "" {
		if inst := p.render(i); inst.State != provider.Incomplete {
			return inst, nil
		}
		// Nobody has used it, so there is no grace, and what is in the
		// directory is worth nothing: this Create begins afresh.
		if gone, err := p.empty(ctx, i, syscall.SIGKILL); err != nil || !gone {
			return provider.Instance{}, cmp.Or(err, inProgress("the guest of an interrupted Create is still ending"))
		}
	}
	return p.complete(ctx, i, spec)
}

// incumbent returns what has the name, if only a leftover, or nothing. It goes
// on with a Delete that nobody goes on with, and while that has not finished
// the error is InProgress. The caller holds the name's lock.
func (p *Provider) incumbent(ctx context.Context, name string) (incarnation, error) {
	i, err := p.claim(name)
	if errors.Is(err, fs.ErrNotExist) {
		left, err := p.leftovers(name, "")
		if err != nil || len(left) == 0 {
			return incarnation{}, err
		}
		return left[0], nil
	}
	if err != nil || i.Going.IsZero() {
		return i, err
	}
	if done, err := p.dismantle(ctx, i); err != nil || !done {
		return incarnation{}, cmp.Or(err, inProgress("the one before it is still being deleted"))
	}
	return incarnation{}, nil
}

// complete claims the name, where nobody has it or only a leftover, and starts
// the guest. The port comes first: one that is taken leaves nothing behind.
func (p *Provider) complete(ctx context.Context, i incarnation, spec provider.Spec) (provider.Instance, error) {
	ln, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: int(spec.Port)})
	if err != nil {
		return provider.Instance{}, err
	}
	defer ln.Close()
	endpoint := ln.Addr().(*net.TCPAddr).AddrPort()
	document, err := p.document(spec, endpoint.Port())
	if err != nil {
		return provider.Instance{}, err
	}
	if i.Token == "" {
		i = incarnation{record: record{Token: provider.NewToken(), Created: time.Now().Round(0)}, unclaimed: true}
	}
	if i.unclaimed {
		i.Version, i.Owner, i.Name = recordVersion, p.config.Owner, spec.Name
		if err := p.makeClaim(ctx, i.record); err != nil {
			return provider.Instance{}, err
		}
		i.unclaimed = false
	}
	if err := p.launch(ctx, i, ln, document); err != nil {
		return provider.Instance{}, err
	}
	s := started{SpecHash: spec.Hash(), Labels: spec.Labels, Endpoint: endpoint.String()}
	err = p.change(ctx, "record start", func() error { return writeJSON(filepath.Join(p.dir(i), "started.json"), s) })
	if err != nil {
		return provider.Instance{}, err
	}
	p.log.Info("created", "instance", i.ref(), "endpoint", s.Endpoint)
	return p.render(i), nil
}

// document renders what the guest reads.
func (p *Provider) document(spec provider.Spec, port uint16) ([]byte, error) {
	var hash []byte
	if password := spec.Credentials.Password; password != "" {
		var err error
		if hash, err = bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost); err != nil {
			return nil, invalid("Credentials.Password", "cannot be hashed: %w", err)
		}
	}
	return json.Marshal(provider.NewGuest(spec, port, string(hash), p.config.Destinations))
}

// Get implements [provider.Provider].
func (p *Provider) Get(ctx context.Context, ref provider.Ref) (inst provider.Instance, err error) {
	err = p.call(ctx, "Get", ref, func(context.Context) error {
		inst, err = p.get(ref)
		return err
	})
	return inst, err
}

func (p *Provider) get(ref provider.Ref) (provider.Instance, error) {
	if err := ref.Validate(); err != nil {
		return provider.Instance{}, err
	}
	token, err := parseID(ref.ID)
	if err != nil {
		return provider.Instance{}, err
	}
	return p.observe(ref.Name, token)
}

// List implements [provider.Provider]. There is but one place, so it is
// complete or an error, and never partial.
func (p *Provider) List(ctx context.Context) (list []provider.Instance, err error) {
	err = p.call(ctx, "List", provider.Ref{}, func(ctx context.Context) error {
		list, err = p.list(ctx)
		return err
	})
	return list, err
}

func (p *Provider) list(ctx context.Context) ([]provider.Instance, error) {
	all, err := p.all()
	if err != nil {
		return nil, err
	}
	list := make([]provider.Instance, 0, len(all))
	for _, i := range all {
		if err := ended(ctx); err != nil {
			return nil, err
		}
		inst, err := p.observe(i.Name, i.Token)
		switch {
		case err == nil:
			list = append(list, inst)
		case provider.KindOf(err) != provider.NotFound:
			return nil, err
		}
	}
	return list, p.sure()
}

// Waiting in Delete. A process that SIGKILL does not end within killPatience
// hangs in the kernel; the caller hears InProgress and decides.
const (
	killPatience     = 5 * time.Second
	firstDeletePause = 2 * time.Millisecond
	lastDeletePause  = 50 * time.Millisecond
)

// Delete implements [provider.Provider]. It waits for the guest, which has
// Config.Grace to end.
func (p *Provider) Delete(ctx context.Context, ref provider.Ref) error {
	return p.call(ctx, "Delete", ref, func(ctx context.Context) error { return p.delete(ctx, ref) })
}

func (p *Provider) delete(ctx context.Context, ref provider.Ref) error {
	if err := ref.Validate(); err != nil {
		return err
	}
	token, err := parseID(ref.ID)
	if err != nil {
		return err
	}
	// What has the name now is what is deleted, and not what another caller
	// makes of the name meanwhile.
	found, err := p.find(ref.Name, token)
	if err != nil {
		return err
	}
	for _, i := range found {
		if err := p.deleteOne(ctx, i); err != nil {
			return err
		}
	}
	return p.sure()
}

// deleteOne takes the deletion of an incarnation further until it is done.
// Between two steps the lock is free: other deleters, and a Create that waits
// for the name, may take steps as well.
func (p *Provider) deleteOne(ctx context.Context, i incarnation) error {
	deadline := time.Now().Add(p.config.Grace + killPatience)
	for pause := firstDeletePause; ; pause = min(2*pause, lastDeletePause) {
		done, err := p.deleteStep(ctx, i)
		if err != nil || done {
			return err
		}
		if time.Now().After(deadline) {
			return inProgress("its guest does not end")
		}
		if err := sleep(ctx, pause); err != nil {
			return err
		}
	}
}

// deleteStep looks the incarnation up under the lock and dismantles it, and
// reports whether nothing of it is left.
func (p *Provider) deleteStep(ctx context.Context, i incarnation) (done bool, err error) {
	unlock, err := p.lock(ctx, i.Name)
	if err != nil {
		return false, err
	}
	defer unlock()
	found, err := p.find(i.Name, i.Token)
	if err != nil || len(found) == 0 {
		return err == nil, err
	}
	return p.dismantle(ctx, found[0])
}

// dismantle takes the deletion of i one step further: it marks the claim and
// asks the guest to end, kills it once the grace is over, and when it has
// ended removes the directory and the claim last. The caller holds the lock.
func (p *Provider) dismantle(ctx context.Context, i incarnation) (done bool, err error) {
	sig := syscall.SIGKILL
	switch waited := time.Since(i.Going); {
	case i.unclaimed:
	case i.Going.IsZero():
		err := p.markGoing(ctx, &i)
		switch {
		case err == nil:
			sig = syscall.SIGTERM
		case errors.Is(err, fs.ErrNotExist):
			// No directory: the claim is all that there is.
		case kindOf(err) == provider.NoCapacity || kindOf(err) == provider.QuotaExceeded:
			// A full disk must not keep what would free it.
		default:
			return false, err
		}
	case 0 <= waited && waited < p.config.Grace:
		sig = 0 // it was asked already
	}
	if gone, err := p.empty(ctx, i, sig); err != nil || !gone {
		return false, err
	}
	if !i.unclaimed {
		if err := p.change(ctx, "remove claim", func() error { return os.Remove(p.claimPath(i.Name)) }); err != nil {
			return false, err
		}
	}
	p.log.Info("deleted", "instance", i.ref())
	return true, nil
}

// empty removes the directory when its guest is gone, and else sends it the
// signal, if not 0, and reports false.
func (p *Provider) empty(ctx context.Context, i incarnation, sig syscall.Signal) (bool, error) {
	dir := p.dir(i)
	if gone, err := gone(dir); err != nil || !gone {
		if err == nil && sig != 0 {
			err = p.kill(ctx, dir, sig)
		}
		return false, err
	}
	return true, p.change(ctx, "remove directory", func() error { return os.RemoveAll(dir) })
}

// again is when a caller is told to come back: a signalled guest needs a
// moment.
const again = 100 * time.Millisecond

func inProgress(why string) error {
	return &provider.Error{Kind: provider.InProgress, RetryAfter: again, Err: errors.New(why)}
}
