//go:build linux

package customprovider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

// step is a change of the world, and what List shows of an instance whose
// creator or deleter died before it.
type step struct {
	before string
	state  provider.State
}

var none = provider.State("none")

func createSteps() []step {
	return []step{
		{"make claim", none},
		{"make directory", provider.Incomplete},
		{"lock alive", provider.Incomplete},
		{"start process", provider.Incomplete},
		{"record process", provider.Incomplete},
		{"hand over document", provider.Incomplete},
		{"record start", provider.Incomplete},
	}
}

func deleteSteps() []step {
	return []step{
		{"write mark", provider.Running},
		{"mark claim", provider.Running},
		{"signal", provider.Deleting},
		{"remove directory", provider.Deleting},
		{"remove claim", provider.Deleting},
	}
}

// TestStepsAreThoseOfTheTable holds the lists above, and the table in
// lifecycle.go, to what Create and Delete do.
func TestStepsAreThoseOfTheTable(t *testing.T) {
	p := newWorld(t).open()
	var did []string
	p.step = func(_ context.Context, what string, do func() error) error {
		did = append(did, what)
		return do()
	}
	create(t, p, testSpec("a"))
	if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile("lifecycle.go")
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, s := range slices.Concat(createSteps(), deleteSteps()) {
		want = append(want, s.before)
		shows := map[provider.State]string{none: "nothing", provider.Running: "as it was"}[s.state]
		row := fmt.Sprintf("//	%-22s %-11s", s.before, cmp.Or(shows, string(s.state)))
		if !strings.Contains(string(source), row) {
			t.Errorf("the table in lifecycle.go has no row %q", row)
		}
	}
	if !slices.Equal(did, want) {
		t.Errorf("the steps are %q, want %q", did, want)
	}
}

// TestCrashAtEachStep kills a program before each step. Whatever that leaves,
// List shows; Create makes one instance of it, and Delete none.
func TestCrashAtEachStep(t *testing.T) {
	crash := func(w world, action string, s step) {
		manager, line := w.manager("-do", action, "-kill-before", s.before)
		if line != "" {
			w.t.Fatalf("the manager was not killed; it printed %q", line)
		}
		if err := manager.Wait(); err == nil || manager.ProcessState.Sys().(syscall.WaitStatus).Signal() != syscall.SIGKILL {
			w.t.Fatalf("the manager ended with %v, want SIGKILL", err)
		}
	}
	for _, action := range []struct {
		name  string
		steps []step
	}{{"create", createSteps()}, {"delete", deleteSteps()}} {
		for _, s := range action.steps {
			for _, next := range []string{"create", "delete"} {
				t.Run(action.name+" before "+s.before+" then "+next, func(t *testing.T) {
					t.Parallel()
					w := newWorld(t)
					if action.name == "delete" {
						create(t, w.open(), testSpec("a"))
					}
					crash(w, action.name, s)
					p := w.open()
					w.listed(p, s.state)
					if next == "create" {
						inst := create(t, p, testSpec("a"))
						if inst.State != provider.Running {
							t.Errorf("Create returned %q", inst.State)
						}
						w.guest("a")
					}
					if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
						t.Fatalf("Delete: %v", err)
					}
					w.nothing()
				})
			}
		}
	}
}

// listed fails the test unless List shows the instance a in that state, or
// nothing.
func (w world) listed(p *Provider, want provider.State) {
	w.t.Helper()
	got := list(w.t, p)
	if want == none {
		if len(got) > 0 {
			w.t.Errorf("List shows %s in state %q, want nothing", got[0], got[0].State)
		}
		w.nothing()
		return
	}
	if len(got) != 1 || got[0].Name != "a" || got[0].State != want || got[0].ID == "" {
		w.t.Errorf("List shows %v, want a in state %q", got, want)
	}
}

// TestFailureAtEachStep has the disk full at each step.
func TestFailureAtEachStep(t *testing.T) {
	full := fmt.Errorf("write: %w", syscall.ENOSPC)
	for _, s := range createSteps() {
		t.Run("create "+s.before, func(t *testing.T) {
			w := newWorld(t)
			p := w.open()
			failAt(p, s.before, full)
			_, err := p.Create(t.Context(), testSpec("a"))
			wantKind(t, "Create", err, provider.NoCapacity)
			p.step = nil
			w.listed(p, s.state)
			create(t, p, testSpec("a"))
			w.guest("a")
			if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
				t.Fatal(err)
			}
			w.nothing()
		})
	}
	for _, s := range deleteSteps() {
		t.Run("delete "+s.before, func(t *testing.T) {
			w := newWorld(t)
			p := w.open()
			inst := create(t, p, testSpec("a"))
			failAt(p, s.before, full)
			err := p.Delete(t.Context(), inst.Ref)
			if s.before == "write mark" || s.before == "mark claim" {
				// What frees the disk must not need room on it.
				if err != nil {
					t.Fatal(err)
				}
				w.nothing()
				return
			}
			wantKind(t, "Delete", err, provider.NoCapacity)
			p.step = nil
			w.listed(p, s.state)
			if err := p.Delete(t.Context(), inst.Ref); err != nil {
				t.Fatal(err)
			}
			w.nothing()
		})
	}
	t.Run("another failure of the mark", func(t *testing.T) {
		p := newWorld(t).open()
		inst := create(t, p, testSpec("a"))
		failAt(p, "mark claim", syscall.EIO)
		wantKind(t, "Delete", p.Delete(t.Context(), inst.Ref), provider.Unavailable)
		p.step = nil
		if got := get(t, p, inst.Ref); got.State != provider.Running {
			t.Errorf("it is %q", got.State)
		}
	})
}

// TestKillsAtRandom kills a program that creates and deletes three names all
// the time, and starts the next over what it left.
func TestKillsAtRandom(t *testing.T) {
	rounds := 20
	if testing.Short() {
		rounds = 5
	}
	w := newWorld(t)
	for range rounds {
		manager, _ := w.manager("-do", "churn")
		time.Sleep(rand.N(60 * time.Millisecond))
		if err := manager.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		if err := manager.Wait(); err == nil {
			t.Fatal("the manager ended by itself")
		}
		p := w.open()
		w.consistent(p)
		if err := p.Close(); err != nil {
			t.Fatal(err)
		}
	}
	p := w.open()
	for _, name := range []string{"a", "b", "c"} {
		create(t, p, testSpec(name))
		if got := list(t, p); !slices.ContainsFunc(got, func(i provider.Instance) bool { return i.Name == name }) {
			t.Errorf("List shows %v, and not %s", got, name)
		}
		if err := p.Delete(t.Context(), provider.Ref{Name: name}); err != nil {
			t.Fatal(err)
		}
	}
	w.nothing()
}

// consistent fails the test when there is something that List does not show,
// or two of one name.
func (w world) consistent(p *Provider) {
	w.t.Helper()
	shown := map[string]bool{}
	for _, inst := range list(w.t, p) {
		if shown[inst.Name] {
			w.t.Errorf("List shows %s twice", inst.Name)
		}
		shown[inst.Name] = true
	}
	for _, path := range w.files() {
		base := filepath.Base(path)
		switch {
		case filepath.Dir(path) == "instances":
			if name, _, ok := p.parseDir(base); !ok || !shown[name] {
				w.t.Errorf("List does not show %s", path)
			}
		case filepath.Dir(path) == "claims":
			if !slices.ContainsFunc([]string{"a", "b", "c"}, func(n string) bool { return shown[n] && p.claimPath(n) == filepath.Join(w.dir, path) }) {
				w.t.Errorf("List does not show %s", path)
			}
		}
	}
	guests := map[string]int{}
	for pid, dir := range w.guests() {
		name, _, _ := p.parseDir(filepath.Base(dir))
		if other, twice := guests[name]; twice {
			w.t.Errorf("%s has the guests %d and %d", name, other, pid)
		}
		guests[name] = pid
		if !shown[name] {
			w.t.Errorf("List does not show the guest %d of %s", pid, name)
		}
	}
}

// TestGuestWithoutDocumentEnds has a program die when it has started a guest
// and not yet recorded it.
func TestGuestWithoutDocumentEnds(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	failAt(p, "record process", errors.New("the program died here"))
	if _, err := p.Create(t.Context(), testSpec("a")); err == nil {
		t.Fatal("Create succeeded")
	}
	eventually(t, "the guest ends by itself", func() bool { return len(w.guests()) == 0 })
}
