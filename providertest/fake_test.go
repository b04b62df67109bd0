package providertest

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crawlfleet/provider"
)

// bubble runs a test of a fake in virtual time.
func bubble(t *testing.T, opts FakeOptions, test func(t *testing.T, f *Fake)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := NewFake(opts)
		defer f.Close()
		test(t, f)
	})
}

func mustCreate(t *testing.T, p provider.Provider, spec provider.Spec) provider.Instance {
	t.Helper()
	inst, err := p.Create(t.Context(), spec)
	if err != nil {
		t.Fatalf("Create(%s): %v", spec.Name, err)
	}
	return inst
}

func stateOf(t *testing.T, p provider.Provider, ref provider.Ref) provider.State {
	t.Helper()
	inst, err := p.Get(t.Context(), ref)
	if err != nil {
		t.Fatalf("Get(%s): %v", ref, err)
	}
	return inst.State
}

func TestFakeBootsAfterATime(t *testing.T) {
	bubble(t, FakeOptions{Boot: time.Minute}, func(t *testing.T, f *Fake) {
		inst := mustCreate(t, f, f.b.Spec("web-1"))
		if inst.State != provider.Pending || inst.Endpoint != "" {
			t.Errorf("a new instance is %q at %q", inst.State, inst.Endpoint)
		}
		time.Sleep(time.Minute - time.Nanosecond)
		if s := stateOf(t, f, inst.Ref); s != provider.Pending {
			t.Errorf("it is %q too early", s)
		}
		time.Sleep(time.Nanosecond)
		got, err := f.Get(t.Context(), inst.Ref)
		if err != nil || got.State != provider.Running || got.Endpoint != "192.0.2.2:3128" || got.Scheme != "http" {
			t.Errorf("after the boot it is %+v: %v", got, err)
		}
	})
}

func TestFakeBootsAfterGets(t *testing.T) {
	opts := FakeOptions{BootGets: 2, Endpoint: func(ref provider.Ref) string { return ref.Name + ":1" }}
	bubble(t, opts, func(t *testing.T, f *Fake) {
		inst := mustCreate(t, f, f.b.Spec("web-1"))
		for i, want := range []provider.State{provider.Pending, provider.Pending, provider.Running} {
			if got := stateOf(t, f, inst.Ref); got != want {
				t.Errorf("Get %d finds it %q, want %q", i+1, got, want)
			}
		}
		if got, _ := f.Get(t.Context(), inst.Ref); got.Endpoint != "web-1:1" {
			t.Errorf("the endpoint is %q", got.Endpoint)
		}
	})
}

func TestFakeDeletesInTwoPhases(t *testing.T) {
	bubble(t, FakeOptions{Going: time.Minute}, func(t *testing.T, f *Fake) {
		inst := mustCreate(t, f, f.b.Spec("web-1"))
		err := f.Delete(t.Context(), inst.Ref)
		if provider.KindOf(err) != provider.InProgress || provider.RetryAfter(err) != time.Minute {
			t.Errorf("the first Delete answers %v, after %v", err, provider.RetryAfter(err))
		}
		if s := stateOf(t, f, inst.Ref); s != provider.Deleting {
			t.Errorf("it is %q", s)
		}
		if _, err := f.Create(t.Context(), f.b.Spec("web-1")); provider.KindOf(err) != provider.InProgress {
			t.Errorf("Create meanwhile answers %v", err)
		}
		started := time.Now()
		if err := provider.Remove(t.Context(), f, inst.Ref); err != nil || time.Since(started) != time.Minute {
			t.Errorf("Remove took %v: %v", time.Since(started), err)
		}
		if again := mustCreate(t, f, f.b.Spec("web-1")); again.ID == inst.ID {
			t.Error("the successor has the same ID")
		}
	})
}

func TestFakeLimits(t *testing.T) {
	places := []FakePlace{{Location: "x", Capacity: 1}, {Location: "y", Capacity: 1}}
	bubble(t, FakeOptions{Places: places}, func(t *testing.T, f *Fake) {
		first, second := mustCreate(t, f, f.b.Spec("a")), mustCreate(t, f, f.b.Spec("b"))
		if first.Location == second.Location {
			t.Errorf("both are at %q, which takes one", first.Location)
		}
		_, err := f.Create(t.Context(), f.b.Spec("c"))
		var e *provider.Error
		if provider.KindOf(err) != provider.NoCapacity || !errors.As(err, &e) || e.Location == "" {
			t.Errorf("the third answers %v", err)
		}
		mustCreate(t, f, f.b.Spec("a")) // needs no room
	})
	bubble(t, FakeOptions{Quota: 1}, func(t *testing.T, f *Fake) {
		mustCreate(t, f, f.b.Spec("a"))
		if _, err := f.b.Provider("other").Create(t.Context(), f.b.Spec("a")); provider.KindOf(err) != provider.QuotaExceeded {
			t.Errorf("beyond the quota Create answers %v", err)
		}
	})
	bubble(t, FakeOptions{Rate: 1, RatePer: time.Minute}, func(t *testing.T, f *Fake) {
		mustCreate(t, f, f.b.Spec("a"))
		time.Sleep(20 * time.Second)
		_, err := f.List(t.Context())
		if provider.KindOf(err) != provider.RateLimited || provider.RetryAfter(err) != 40*time.Second {
			t.Errorf("beyond the rate List answers %v, after %v", err, provider.RetryAfter(err))
		}
		time.Sleep(40 * time.Second)
		if _, err := f.List(t.Context()); err != nil {
			t.Errorf("in the next window List answers %v", err)
		}
	})
}

func TestFakeFailures(t *testing.T) {
	bubble(t, FakeOptions{Name: "home"}, func(t *testing.T, f *Fake) {
		b := f.Backend()
		b.FailNext("Create", &provider.Error{Kind: provider.NoCapacity, Location: "x"})
		b.LoseNext("Create", errors.New("connection reset"))
		if _, err := f.Create(t.Context(), b.Spec("a")); provider.KindOf(err) != provider.NoCapacity {
			t.Errorf("the first Create answers %v", err)
		}
		if list, _ := f.List(t.Context()); len(list) != 0 {
			t.Errorf("a Create that failed left %v", list)
		}
		_, err := f.Create(t.Context(), b.Spec("a"))
		if provider.KindOf(err) != provider.Unavailable || err.Error() != "home: Create a: Unavailable: connection reset" {
			t.Errorf("the second Create answers %v", err)
		}
		if list, _ := f.List(t.Context()); len(list) != 1 {
			t.Errorf("a Create whose answer was lost left %v", list)
		}
		mustCreate(t, f, b.Spec("a"))
		var ops []string
		for _, c := range b.Calls() {
			ops = append(ops, c.Op+" "+c.Ref.Name+" "+string(provider.KindOf(c.Err)))
		}
		want := []string{"Create a NoCapacity", "List  ", "Create a Unavailable", "List  ", "Create a "}
		if diff := cmp.Diff(want, ops); diff != "" {
			t.Errorf("the recorded calls differ (-want +got):\n%s", diff)
		}
	})
}

func TestFakeStates(t *testing.T) {
	bubble(t, FakeOptions{}, func(t *testing.T, f *Fake) {
		b := f.Backend()
		stopped, failed := mustCreate(t, f, b.Spec("a")), mustCreate(t, f, b.Spec("b"))
		if err := b.Stop(t.Context(), "owner", stopped.Ref); err != nil {
			t.Fatal(err)
		}
		if err := b.Fail("owner", provider.Ref{Name: "b"}, provider.NoCapacity, provider.ReasonPreempted); err != nil {
			t.Fatal(err)
		}
		if s := stateOf(t, f, stopped.Ref); s != provider.Stopped {
			t.Errorf("the stopped one is %q", s)
		}
		got, err := f.Get(t.Context(), failed.Ref)
		if err != nil || got.State != provider.Failed || got.Failure != provider.NoCapacity || got.Reason != provider.ReasonPreempted {
			t.Errorf("the failed one is %+v: %v", got, err)
		}
		for _, err := range []error{b.Stop(t.Context(), "other", stopped.Ref), b.Fail("owner", provider.Ref{Name: "c"}, "", ""),
			b.Wreck(t.Context(), "owner", provider.Ref{Name: "a", ID: failed.ID}), b.Kill(nil)} {
			if err == nil {
				t.Error("something that there is not was changed")
			}
		}
	})
}

func TestFakeCloseEndsCalls(t *testing.T) {
	bubble(t, FakeOptions{Latency: time.Hour}, func(t *testing.T, f *Fake) {
		answer := make(chan error, 1)
		go func() {
			_, err := f.List(context.Background())
			answer <- err
		}()
		synctest.Wait()
		started := time.Now()
		if err := f.Close(); err != nil || time.Since(started) != 0 {
			t.Errorf("Close took %v: %v", time.Since(started), err)
		}
		if err := <-answer; !errors.Is(err, fs.ErrClosed) {
			t.Errorf("the call that was under way answers %v", err)
		}
	})
}

// TestFakeCompletesElsewhere has a process that claimed the name at a second
// place while the first was full: the lower claim stays.
func TestFakeCompletesElsewhere(t *testing.T) {
	places := []FakePlace{{Location: "x"}, {Location: "y"}}
	bubble(t, FakeOptions{Places: places}, func(t *testing.T, f *Fake) {
		spec := f.b.Spec("a")
		order := f.ranked("a")
		low := f.newClaim(spec, order[1])
		if _, err := f.b.claim(t.Context(), low); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		high := f.newClaim(spec, order[0])
		if _, err := f.b.claim(t.Context(), high); err != nil {
			t.Fatal(err)
		}
		stays, err := f.lookAgain(t.Context(), spec, high)
		if err != nil || stays.token != low.token {
			t.Errorf("%+v stays: %v", stays, err)
		}
		if list, err := f.List(t.Context()); err != nil || len(list) != 1 || list[0].State != provider.Incomplete {
			t.Errorf("List shows %v: %v", list, err)
		}
		if inst := mustCreate(t, f, spec); inst.ID != low.id() || inst.State != provider.Running {
			t.Errorf("Create completed %+v", inst)
		}
	})
}

func TestFakeLogsWithoutSecrets(t *testing.T) {
	var text strings.Builder
	opts := FakeOptions{Logger: slog.New(slog.NewTextHandler(&text, nil))}
	bubble(t, opts, func(t *testing.T, f *Fake) {
		spec := f.b.Spec("a")
		spec.Credentials = provider.Credentials{Username: "u", Password: "open-sesame"}
		mustCreate(t, f, spec)
		if strings.Contains(text.String(), "open-sesame") || !strings.Contains(text.String(), provider.Redacted) {
			t.Errorf("the log is %s", text.String())
		}
	})
}
