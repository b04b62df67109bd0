//go:build linux

package customprovider

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
)

// bare is a provider that runs nothing, for tests of one part.
func bare(t *testing.T) *Provider {
	t.Helper()
	p := &Provider{config: Config{Owner: "owner", Dir: t.TempDir()}}
	for _, dir := range p.layout() {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return p
}

func TestLockExcludes(t *testing.T) {
	p, q := bare(t), bare(t)
	q.config = p.config
	var inside, most atomic.Int32
	parallel(32, func(i int) {
		unlock, err := []*Provider{p, q}[i%2].lock(t.Context(), "a")
		if err != nil {
			t.Error(err)
			return
		}
		if n := inside.Add(1); n > 1 {
			most.Store(n)
		}
		time.Sleep(time.Millisecond)
		inside.Add(-1)
		unlock()
	})
	if n := most.Load(); n > 0 {
		t.Errorf("%d had the lock at once", n)
	}
	if entries, err := os.ReadDir(p.path("locks")); err != nil || len(entries) > 0 {
		t.Errorf("lock files are left: %v, %v", entries, err)
	}
}

// TestLockOfARemovedFile has a program that opened the lock file just before
// its holder removed it.
func TestLockOfARemovedFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	late, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer late.Close()
	if !current(late, path) {
		t.Error("a lock file that is there is not current")
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if current(late, path) {
		t.Error("a lock file that was removed is current")
	}
	next, err := tryLock(path)
	if err != nil || next == nil {
		t.Fatalf("tryLock: %v, %v", next, err)
	}
	defer next.Close()
	if current(late, path) {
		t.Error("a lock file that was replaced is current")
	}
}

func TestLockIsOfOneName(t *testing.T) {
	p := bare(t)
	for _, name := range []string{"a", "b"} {
		unlock, err := p.lock(t.Context(), name)
		if err != nil {
			t.Fatal(err)
		}
		defer unlock()
	}
}

// TestWaitForALock runs in a bubble, because the lock's patience is seconds.
func TestWaitForALock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := bare(t)
		unlock, err := p.lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		start := time.Now()
		_, err = p.lock(t.Context(), "a")
		if provider.KindOf(err) != provider.InProgress || provider.RetryAfter(err) <= 0 {
			t.Errorf("a lock that is not given up: %v", err)
		}
		if waited := time.Since(start); waited < lockPatience || waited > lockPatience+time.Second {
			t.Errorf("the wait took %v, want %v", waited, lockPatience)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := p.lock(ctx, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the wait ended with %v, want the context's error", err)
		}
		time.AfterFunc(time.Second, unlock)
		again, err := p.lock(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		again()
	})
}

// TestStoppedProgram has a program that was stopped while it held the lock of
// a name: that name waits, the others do not, and nothing is said wrongly.
func TestStoppedProgram(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	inst := create(t, p, testSpec("a"))
	manager, line := w.manager("-do", "lock")
	if line != "locked" {
		t.Fatalf("the manager printed %q", line)
	}
	stop(t, manager.Process.Pid)
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	err := p.Delete(ctx, inst.Ref)
	wantKind(t, "Delete", err, provider.Unavailable)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Delete: %v does not match the context's error", err)
	}
	if got := get(t, p, inst.Ref); got.State != provider.Running {
		t.Errorf("it is %q", got.State)
	}
	create(t, p, testSpec("b"))
	kill(t, manager.Process.Pid)
	if err := p.Delete(t.Context(), inst.Ref); err != nil {
		t.Errorf("Delete once the program is dead: %v", err)
	}
}

func TestSweepLocks(t *testing.T) {
	p := bare(t)
	unlock, err := p.lock(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	stray := p.path("locks", "stray")
	if err := os.WriteFile(stray, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p.sweepLocks()
	entries, err := os.ReadDir(p.path("locks"))
	if err != nil || len(entries) != 1 || entries[0].Name() != filepath.Base(p.claimPath("a")) {
		t.Errorf("the locks are %v, %v; want the one that is held", entries, err)
	}
}
