package provider_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
)

// scripted is a provider whose answers a test sets, and whose calls it reads.
type scripted struct {
	create func() (provider.Instance, error)
	get    func(provider.Ref) (provider.Instance, error)
	list   func() ([]provider.Instance, error)
	delete func(context.Context, provider.Ref) error
	info   provider.Info
	calls  []string
	times  []time.Time
}

func (s *scripted) call(c string) {
	s.calls = append(s.calls, c)
	s.times = append(s.times, time.Now())
}

func (s *scripted) Info() provider.Info { return s.info }

func (s *scripted) Create(context.Context, provider.Spec) (provider.Instance, error) {
	s.call("create")
	return s.create()
}

func (s *scripted) Get(_ context.Context, ref provider.Ref) (provider.Instance, error) {
	s.call("get " + ref.ID)
	return s.get(ref)
}

func (s *scripted) List(context.Context) ([]provider.Instance, error) {
	s.call("list")
	return s.list()
}

func (s *scripted) Delete(ctx context.Context, ref provider.Ref) error {
	s.call("delete " + ref.String())
	return s.delete(ctx, ref)
}

func (s *scripted) Close() error { s.call("close"); return nil }

func instance(name, id string, state provider.State) provider.Instance {
	return provider.Instance{Ref: provider.Ref{Name: name, ID: id}, State: state, Endpoint: "127.0.0.1:1"}
}

func TestEnsure(t *testing.T) {
	made := instance("web-1", "new", provider.Pending)
	tests := []struct {
		name, id  string
		get       provider.Instance
		getErr    error
		createErr error
		calls     []string
		wantID    string
		wantKind  provider.Kind
	}{
		{name: "no ID", calls: []string{"create"}, wantID: "new"},
		{name: "found", id: "old", get: instance("web-1", "old", provider.Running), calls: []string{"get old"}, wantID: "old"},
		{name: "failed is the caller's", id: "old", get: instance("web-1", "old", provider.Failed), calls: []string{"get old"}, wantID: "old"},
		{name: "gone", id: "old", getErr: kind(provider.NotFound, nil), calls: []string{"get old", "create"}, wantID: "new"},
		{name: "half made", id: "old", get: instance("web-1", "old", provider.Incomplete), calls: []string{"get old", "create"}, wantID: "new"},
		{name: "not known", id: "old", getErr: io.EOF, calls: []string{"get old"}, wantKind: provider.Unavailable},
		{name: "misconfigured, over a NotFound", id: "old", getErr: kind(provider.Invalid, kind(provider.NotFound, nil)),
			calls: []string{"get old"}, wantKind: provider.Invalid},
		{name: "create fails", createErr: kind(provider.NoCapacity, nil), calls: []string{"create"}, wantKind: provider.NoCapacity},
		{name: "the record lacks the ID", id: "old", get: instance("web-1", "", provider.Running), calls: []string{"get old"}, wantKind: provider.Unavailable},
		{name: "the record is another's", id: "old", get: instance("web-2", "old", provider.Running), calls: []string{"get old"}, wantKind: provider.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := &scripted{
				create: func() (provider.Instance, error) { return made, tt.createErr },
				get:    func(provider.Ref) (provider.Instance, error) { return tt.get, tt.getErr },
			}
			inst, err := provider.Ensure(t.Context(), p, provider.Spec{Name: "web-1"}, tt.id)
			if inst.ID != tt.wantID || provider.KindOf(err) != tt.wantKind {
				t.Errorf("got %q, %v; want %q, kind %q", inst.ID, err, tt.wantID, tt.wantKind)
			}
			if !slices.Equal(p.calls, tt.calls) {
				t.Errorf("calls %q, want %q", p.calls, tt.calls)
			}
		})
	}
}

// errs returns a function that gives each error once, and then the last for ever.
func errs(list ...error) func(context.Context, provider.Ref) error {
	return func(context.Context, provider.Ref) error {
		err := list[0]
		if len(list) > 1 {
			list = list[1:]
		}
		return err
	}
}

func TestRemove(t *testing.T) {
	name, id := provider.Ref{Name: "web-1"}, provider.Ref{Name: "web-1", ID: "x"}
	foreign := &provider.Error{Kind: provider.Invalid, Field: "ID"}
	tests := []struct {
		name    string
		ref     provider.Ref
		answers []error
		calls   int
		last    string
		want    provider.Kind
	}{
		{"at once", id, []error{nil}, 1, "delete web-1 (x)", ""},
		{"in steps", id, []error{kind(provider.InProgress, nil), io.EOF, kind(provider.RateLimited, nil), nil}, 4, "delete web-1 (x)", ""},
		{"not there, said in the wrong way", id, []error{kind(provider.NotFound, nil)}, 1, "delete web-1 (x)", ""},
		{"foreign ID", id, []error{foreign, nil}, 2, "delete web-1", ""},
		{"foreign ID, field not said", id, []error{kind(provider.Invalid, nil), nil}, 2, "delete web-1", ""},
		{"foreign ID, deep", id, []error{&provider.Error{Op: "Delete", Err: foreign}, nil}, 2, "delete web-1", ""},
		{"misconfigured", id, []error{&provider.Error{Kind: provider.Invalid, Field: "Project"}}, 1, "delete web-1 (x)", provider.Invalid},
		{"invalid by name", name, []error{foreign}, 1, "delete web-1", provider.Invalid},
		{"not allowed", id, []error{kind(provider.PermissionDenied, nil)}, 1, "delete web-1 (x)", provider.PermissionDenied},
		{"closed", id, []error{&provider.Error{Err: fs.ErrClosed}}, 1, "delete web-1 (x)", provider.Unavailable},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := &scripted{delete: errs(tt.answers...)}
				err := provider.Remove(t.Context(), p, tt.ref)
				if provider.KindOf(err) != tt.want {
					t.Errorf("got %v, want kind %q", err, tt.want)
				}
				if len(p.calls) != tt.calls || p.calls[len(p.calls)-1] != tt.last {
					t.Errorf("calls %q, want %d that end in %q", p.calls, tt.calls, tt.last)
				}
			})
		})
	}
}

// TestRemovePauses holds the order and bounds of the pauses: what the backend
// asks for exactly, and otherwise twice as long each time up to the limit.
func TestRemovePauses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answers := []error{&provider.Error{Kind: provider.InProgress, RetryAfter: 40 * time.Second}}
		for range 10 {
			answers = append(answers, io.EOF)
		}
		p := &scripted{delete: errs(append(answers, nil)...)}
		if err := provider.Remove(t.Context(), p, provider.Ref{Name: "web-1"}); err != nil {
			t.Fatal(err)
		}
		if got := p.times[1].Sub(p.times[0]); got != 40*time.Second {
			t.Errorf("RetryAfter 40s: called again after %v", got)
		}
		pause := time.Second // the first was RetryAfter's, the second is twice 500 ms
		for i := 1; i < len(p.times)-1; i++ {
			got := p.times[i+1].Sub(p.times[i])
			if got < pause*7/8 || got > pause*9/8 {
				t.Errorf("pause %d is %v, want %v within an eighth", i, got, pause)
			}
			pause = min(2*pause, 15*time.Second)
		}
	})
}

func TestRemoveEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := &scripted{delete: errs(&provider.Error{Kind: provider.InProgress, Err: io.ErrNoProgress, RetryAfter: time.Hour})}
		start := time.Now()
		err := provider.Remove(ctx, p, provider.Ref{Name: "web-1"})
		if got := time.Since(start); got != time.Minute {
			t.Errorf("ended after %v, want one minute", got)
		}
		if provider.KindOf(err) != provider.Unavailable || !errors.Is(err, context.DeadlineExceeded) || !errors.Is(err, io.ErrNoProgress) {
			t.Errorf("got %v; want Unavailable that matches the deadline and the last error", err)
		}
	})
}

func TestWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		steps := []func() (provider.Instance, error){
			func() (provider.Instance, error) { return instance("web-1", "x", provider.Pending), nil },
			func() (provider.Instance, error) { return provider.Instance{}, io.EOF },
			func() (provider.Instance, error) {
				i := instance("web-1", "x", provider.Running)
				i.Endpoint = ""
				return i, nil
			},
			func() (provider.Instance, error) { return instance("web-1", "x", provider.Running), nil },
		}
		p := &scripted{get: func(provider.Ref) (provider.Instance, error) {
			step := steps[0]
			steps = steps[1:]
			return step()
		}}
		inst, err := provider.Wait(t.Context(), p, provider.Ref{Name: "web-1"}, nil)
		if err != nil || inst.State != provider.Running || len(steps) != 0 {
			t.Errorf("got %+v, %v with %d steps left", inst, err, len(steps))
		}
	})
}

func TestWaitGivesUp(t *testing.T) {
	pending := instance("web-1", "x", provider.Pending)
	failed := instance("web-1", "x", provider.Failed)
	failed.Failure, failed.Reason, failed.Message = provider.NoCapacity, provider.ReasonUnschedulable, "no node has room"
	stopped := instance("web-1", "x", provider.Stopped)
	tests := []struct {
		name string
		inst provider.Instance
		err  error
		want provider.Kind
		text string
	}{
		{"failed", failed, nil, provider.NoCapacity, "is Failed and will not become ready: Unschedulable: no node has room"},
		{"stopped", stopped, nil, provider.Unavailable, "is Stopped and will not become ready"},
		{"gone", provider.Instance{}, kind(provider.NotFound, nil), provider.NotFound, "NotFound"},
		{"closed", provider.Instance{}, &provider.Error{Err: fs.ErrClosed}, provider.Unavailable, "file already closed"},
	}
	for _, tt := range tests {
		synctest.Test(t, func(t *testing.T) {
			first := true
			p := &scripted{get: func(provider.Ref) (provider.Instance, error) {
				if first {
					first = false
					return pending, nil
				}
				return tt.inst, tt.err
			}}
			inst, err := provider.Wait(t.Context(), p, provider.Ref{Name: "web-1"}, nil)
			if provider.KindOf(err) != tt.want || !strings.HasSuffix(err.Error(), tt.text) {
				t.Errorf("%s: got %v, want %s %q", tt.name, err, tt.want, tt.text)
			}
			if inst.Name != "web-1" {
				t.Errorf("%s: the last instance seen is not returned: %+v", tt.name, inst)
			}
		})
	}
}

func TestWaitEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		p := &scripted{get: func(provider.Ref) (provider.Instance, error) { return instance("web-1", "x", provider.Pending), nil }}
		inst, err := provider.Wait(ctx, p, provider.Ref{Name: "web-1"}, nil)
		if inst.State != provider.Pending || !errors.Is(err, context.DeadlineExceeded) || provider.KindOf(err) != provider.Unavailable {
			t.Errorf("got %+v, %v", inst, err)
		}
	})
}

func TestWaitDone(t *testing.T) {
	p := &scripted{get: func(provider.Ref) (provider.Instance, error) { return instance("web-1", "x", provider.Failed), nil }}
	inst, err := provider.Wait(t.Context(), p, provider.Ref{Name: "web-1"}, func(provider.Instance) (bool, error) { return false, io.EOF })
	if err != io.EOF || inst.ID != "x" {
		t.Errorf("got %+v, %v; want done's own error", inst, err)
	}
}
