//go:build linux

package customprovider

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/providertest"
)

// TestConformance runs the whole suite, as the author of any provider does:
// over the reference guest, and over one that takes its time to end, so that
// the suite meets deletions that are under way. Each fault of the changes is
// played over the first alone.
func TestConformance(t *testing.T) {
	for guest, config := range map[string]providertest.Config{
		"guest": {},
		"slow-guest": {Callers: 8, Skip: map[string]string{
			string(providertest.NeedBreaker): "it was played over the reference guest",
		}},
	} {
		t.Run(guest, func(t *testing.T) {
			providertest.Run(t, providertest.Config{
				Patience: patience,
				Callers:  config.Callers,
				Skip:     config.Skip,
				Open: func(_ context.Context, env providertest.Env) (providertest.Harness, error) {
					return &harness{world: newWorld(t), guest: guest, log: env.Logger}, nil
				},
			})
		})
	}
}

// harness connects the suite to a state directory. It looks at files and
// processes, and never asks a provider.
type harness struct {
	world
	guest string // the argument that makes the test binary one
	log   *slog.Logger
	// cut is true while a file stands where the state directory was.
	cut bool
	// dead has, for each provider, whether it was killed.
	dead sync.Map

	mu   sync.Mutex // guards plan and seq
	plan func(providertest.Call) providertest.Fault
	seq  int
}

var (
	_ providertest.Killer   = (*harness)(nil)
	_ providertest.Stopper  = (*harness)(nil)
	_ providertest.Wrecker  = (*harness)(nil)
	_ providertest.Squatter = (*harness)(nil)
	_ providertest.Places   = (*harness)(nil)
	_ providertest.Readable = (*harness)(nil)
	_ providertest.Breaker  = (*harness)(nil)
)

func (h *harness) Open(_ context.Context, owner string) (provider.Provider, error) {
	config, err := testConfig(h.dir)
	if err != nil {
		return nil, err
	}
	config.Owner, config.Logger = owner, h.log
	config.Command[len(config.Command)-1] = h.guest
	p, err := New(config)
	if err != nil {
		return nil, err
	}
	var dead atomic.Bool
	p.step = func(ctx context.Context, what string, do func() error) error {
		if dead.Load() {
			return errors.New("the program was killed")
		}
		return h.play(ctx, what, do)
	}
	h.dead.Store(p, &dead)
	return p, nil
}

// Break breaks what changes the world, which is what Provider.change sees.
// What only reads is not broken.
func (h *harness) Break(_ context.Context, plan func(providertest.Call) providertest.Fault) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.plan, h.seq = plan, 0
	return nil
}

// play makes a change, or the fault that is planned for it. A system call that
// is under way cannot come late: who made it waits for it, or is dead.
func (h *harness) play(ctx context.Context, what string, do func() error) error {
	h.mu.Lock()
	plan := h.plan
	h.seq++
	call := providertest.Call{Seq: h.seq, Name: what, Writes: true}
	h.mu.Unlock()
	if plan == nil {
		return do()
	}
	switch plan(call) {
	case providertest.Fail:
		return syscall.EIO
	case providertest.CutAfter:
		return cmp.Or(do(), error(syscall.EIO))
	case providertest.Hang:
		<-ctx.Done()
		return ended(ctx)
	}
	return do()
}

func (h *harness) Spec(name string) provider.Spec { return testSpec(name) }

// Audit counts the claim as the machine, and a process only where it has none.
func (h *harness) Audit(_ context.Context, owner string) ([]providertest.Resource, error) {
	var held []providertest.Resource
	claimed := map[string]bool{}
	claims, err := os.ReadDir(filepath.Join(h.dir, "claims"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	for _, e := range claims {
		var r record
		text, err := os.Readlink(filepath.Join(h.dir, "claims", e.Name()))
		if err != nil || json.Unmarshal([]byte(text), &r) != nil || r.Owner != owner {
			continue
		}
		claimed[r.Token] = true
		held = append(held, providertest.Resource{Type: "claim", ID: e.Name(), Instance: r.Name, Machine: true})
	}
	dirs, err := filepath.Glob(filepath.Join(h.dir, "instances", ownerPrefix(owner)+"*"))
	if err != nil {
		return nil, err
	}
	for _, dir := range dirs {
		held = append(held, providertest.Resource{Type: "directory", ID: filepath.Base(dir), Instance: nameOf(dir)})
	}
	for pid, dir := range h.guests() {
		if strings.HasPrefix(filepath.Base(dir), ownerPrefix(owner)) {
			_, token, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), ownerPrefix(owner)), ".")
			held = append(held, providertest.Resource{Type: "process", ID: fmt.Sprint(pid), Instance: nameOf(dir), Machine: !claimed[token]})
		}
	}
	return held, nil
}

func ownerPrefix(owner string) string { return provider.BackendName(owner, "", provider.MaxName) + "." }

func nameOf(dir string) string { return strings.Split(filepath.Base(dir), ".")[1] }

// Purge also undoes Cut and Break.
func (h *harness) Purge(ctx context.Context) error {
	if err := h.Break(ctx, nil); err != nil {
		return err
	}
	if h.cut {
		h.mend()
	}
	h.purge()
	return os.RemoveAll(h.dir)
}

// Kill leaves the provider in the middle of whatever it does: nothing that it
// would still change happens. That a real SIGKILL leaves no more than that,
// TestCrashAtEachStep and TestKillsAtRandom show.
func (h *harness) Kill(p provider.Provider) error {
	dead, ok := h.dead.Load(p)
	if !ok {
		return errors.New("is no provider of this harness")
	}
	dead.(*atomic.Bool).Store(true)
	return p.Close()
}

func (h *harness) Stop(_ context.Context, owner string, ref provider.Ref) error {
	for pid, dir := range h.guests() {
		if strings.HasPrefix(filepath.Base(dir), ownerPrefix(owner)+ref.Name+".") {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("%s has no guest", ref)
}

// Wreck takes the claim and the process, and leaves the directory.
func (h *harness) Wreck(ctx context.Context, owner string, ref provider.Ref) error {
	if err := h.Stop(ctx, owner, ref); err != nil {
		return err
	}
	return os.Remove(h.claimOf(owner, ref.Name))
}

func (h *harness) claimOf(owner, name string) string {
	return filepath.Join(h.dir, "claims", provider.BackendName(owner, name, provider.MaxName))
}

func (h *harness) Squat(_ context.Context, owner, name string) (func(context.Context) error, error) {
	path, text := h.claimOf(owner, name), []byte("somebody else's")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	intact := func(context.Context) error {
		got, err := os.ReadFile(path)
		if err == nil && !bytes.Equal(got, text) {
			err = fmt.Errorf("%s was changed", path)
		}
		return err
	}
	return intact, os.WriteFile(path, text, 0o600)
}

// Cut puts a file where the state directory was.
func (h *harness) Cut(context.Context, string) (func(), error) {
	if err := os.Rename(h.dir, h.dir+".away"); err != nil {
		return nil, err
	}
	h.cut = true
	return h.mend, os.WriteFile(h.dir, nil, 0o600)
}

func (h *harness) mend() {
	if err := errors.Join(os.Remove(h.dir), os.Rename(h.dir+".away", h.dir)); err != nil {
		h.t.Error(err)
	}
	h.cut = false
}

func (h *harness) Drop(context.Context, string) (func(), error) {
	return nil, fmt.Errorf("a local provider has one place, and its configuration cannot leave that out: %w", errors.ErrUnsupported)
}

// Dump is all files, and what ps shows.
func (h *harness) Dump(context.Context, string) ([]byte, error) {
	var dump bytes.Buffer
	for _, path := range h.files() {
		dump.WriteString(path + "\n")
		path = filepath.Join(h.dir, path)
		if text, err := os.Readlink(path); err == nil {
			dump.WriteString(text + "\n")
		} else if text, err := os.ReadFile(path); err == nil {
			dump.Write(text)
		}
	}
	for pid := range h.guests() {
		for _, of := range []string{"cmdline", "environ"} {
			if text, err := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, of)); err == nil {
				dump.Write(text)
			}
		}
	}
	return dump.Bytes(), nil
}
