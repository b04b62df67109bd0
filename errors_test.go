package provider_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

func kind(k provider.Kind, cause error) error { return &provider.Error{Kind: k, Err: cause} }

func TestKindOf(t *testing.T) {
	notFound := kind(provider.NotFound, nil)
	invalid := kind(provider.Invalid, notFound)
	tests := []struct {
		name string
		err  error
		want provider.Kind
	}{
		{"nil", nil, ""},
		{"unclassified", io.EOF, provider.Unavailable},
		{"classified", notFound, provider.NotFound},
		{"wrapped", fmt.Errorf("x: %w", notFound), provider.NotFound},
		{"outermost wins", invalid, provider.Invalid},
		{"outermost wins, wrapped", fmt.Errorf("x: %w", kind(provider.Unavailable, invalid)), provider.Unavailable},
		{"no kind of its own", kind("", invalid), provider.Invalid},
		{"no kind at all", kind("", io.EOF), provider.Unavailable},
		{"nothing at all", &provider.Error{}, provider.Unavailable},
		{"a kind of the future", kind("Frobnicated", notFound), provider.Unavailable},
		{"canceled", fmt.Errorf("x: %w", context.Canceled), provider.Canceled},
		{"deadline", kind("", context.DeadlineExceeded), provider.Unavailable},
		{"join of sure and unsure", errors.Join(notFound, kind(provider.Unavailable, nil)), provider.Unavailable},
		{"join of sure and unclassified", errors.Join(notFound, io.EOF), provider.Unavailable},
		{"join of two", errors.Join(notFound, invalid), provider.Invalid},
		{"join of one", errors.Join(nil, notFound), provider.NotFound},
		{"two %w", fmt.Errorf("%w and %w", kind(provider.RateLimited, nil), notFound), provider.RateLimited},
		{"kind above a join", kind(provider.NotFound, errors.Join(io.EOF, invalid)), provider.NotFound},
		{"join in a join", errors.Join(errors.Join(notFound, kind(provider.Conflict, nil)), notFound), provider.Conflict},
		{"partial list", &provider.PartialError{Missing: []provider.Place{{Err: notFound}}}, provider.Unavailable},
		{"wrapped partial list", kind("", &provider.PartialError{Missing: []provider.Place{{Err: notFound}}}), provider.Unavailable},
	}
	for _, tt := range tests {
		if got := provider.KindOf(tt.err); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// TestKindOfJoinIsLeastConclusive goes over every pair: the order does not
// count, and the answer is the one that Kinds lists first.
func TestKindOfJoinIsLeastConclusive(t *testing.T) {
	kinds := provider.Kinds()
	if len(kinds) != 12 {
		t.Fatalf("%d kinds, want 12", len(kinds))
	}
	for i, a := range kinds {
		for j, b := range kinds {
			got := provider.KindOf(errors.Join(kind(a, nil), kind(b, nil)))
			if want := kinds[min(i, j)]; got != want {
				t.Errorf("%s and %s: got %s, want %s", a, b, got, want)
			}
		}
	}
	kinds[0] = "changed"
	if provider.Kinds()[0] == "changed" {
		t.Error("Kinds returns its own slice")
	}
}

func TestRetryAfter(t *testing.T) {
	after := func(d time.Duration, cause error) error { return &provider.Error{RetryAfter: d, Err: cause} }
	tests := []struct {
		name string
		err  error
		want time.Duration
	}{
		{"nil", nil, 0},
		{"not said", kind(provider.InProgress, nil), 0},
		{"said", after(time.Second, nil), time.Second},
		{"outermost", after(time.Second, after(time.Minute, nil)), time.Second},
		{"inner, where the outer does not say", fmt.Errorf("x: %w", after(0, after(time.Minute, nil))), time.Minute},
		{"longest of a join", errors.Join(after(time.Second, nil), after(time.Minute, nil), io.EOF), time.Minute},
		{"through a partial list", &provider.PartialError{Missing: []provider.Place{{Err: after(time.Hour, nil)}, {}}}, time.Hour},
		{"negative", after(-time.Second, after(time.Minute, nil)), time.Minute},
	}
	for _, tt := range tests {
		if got := provider.RetryAfter(tt.err); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestIsPermanent(t *testing.T) {
	permanent := map[provider.Kind]bool{provider.Conflict: true, provider.Invalid: true, provider.Unsupported: true}
	for _, k := range provider.Kinds() {
		if got := provider.IsPermanent(kind(k, nil)); got != permanent[k] {
			t.Errorf("%s: %v", k, got)
		}
	}
	if provider.IsPermanent(nil) {
		t.Error("nil is permanent")
	}
}

func TestErrorText(t *testing.T) {
	ref := provider.Ref{Name: "web-1", ID: "1/a/t"}
	full := provider.Error{Kind: provider.NoCapacity, Op: "Create", Provider: "kvm-home", Location: "host-a",
		Ref: provider.Ref{Name: "web-1"}, Err: errors.New("pool is full")}
	again := full
	again.Err = &full
	deeper := again
	deeper.Err = &provider.Error{Kind: provider.Unavailable, Op: "Create", Provider: "kvm-home", Location: "host-b",
		Ref: provider.Ref{Name: "web-1"}, Err: io.EOF}
	tests := []struct {
		err  error
		want string
	}{
		{&provider.Error{}, "Unavailable"},
		{&full, "kvm-home: Create web-1 at host-a: NoCapacity: pool is full"},
		{&again, "kvm-home: Create web-1 at host-a: NoCapacity: pool is full"},
		{&deeper, "kvm-home: Create web-1 at host-a: NoCapacity: at host-b: Unavailable: EOF"},
		{&provider.Error{Op: "Get", Ref: ref, Err: &provider.Error{Kind: provider.NotFound}}, "Get web-1 (1/a/t): NotFound"},
		{&provider.Error{Op: "Get", Ref: ref, Err: &provider.Error{Kind: provider.Invalid, Field: "ID", Ref: provider.Ref{Name: "web-1"},
			Err: errors.New("is foreign")}}, "Get web-1 (1/a/t): Invalid: ID: is foreign"},
		{&provider.Error{Op: "Sweep", Provider: "p", Err: &provider.Error{Op: "List", Provider: "p", Kind: provider.Unauthenticated,
			Err: errors.New("bad key")}}, "p: Sweep: Unauthenticated: List: bad key"},
		{&provider.Error{Provider: "p", Err: &provider.Error{Op: "Get", Err: &provider.Error{Kind: provider.NotFound, Provider: "p", Op: "Get"}}},
			"p: NotFound: Get"},
		{&provider.Error{Op: "Sweep", Err: &provider.Error{Op: "Sweep", Err: &provider.Error{Kind: provider.NotFound, Location: "a"}}},
			"Sweep: NotFound: at a"},
		{&provider.Error{Kind: provider.Invalid, Field: "Name", Err: errors.New("is empty")}, "Invalid: Name: is empty"},
		{&provider.Error{Op: "List", Err: context.Canceled}, "List: Canceled: context canceled"},
		{&provider.PartialError{Missing: []provider.Place{{Location: "b", Err: io.EOF}, {Location: "a", Err: io.ErrNoProgress}}},
			"the list does not cover a: multiple Read calls return no data or error; b: EOF"},
		{&provider.PartialError{Missing: []provider.Place{{Err: io.EOF}}}, "the list does not cover the only place: EOF"},
	}
	for _, tt := range tests {
		for range 2 { // stable: the same text twice
			if got := tt.err.Error(); got != tt.want {
				t.Errorf("got  %s\nwant %s", got, tt.want)
			}
		}
	}
}

func TestErrorMatchesItsCause(t *testing.T) {
	err := fmt.Errorf("x: %w", &provider.Error{Op: "Get", Err: fs.ErrClosed})
	if !errors.Is(err, fs.ErrClosed) {
		t.Error("the cause is not matched")
	}
	partial := &provider.PartialError{Missing: []provider.Place{{Err: fs.ErrPermission}}}
	if !errors.Is(partial, fs.ErrPermission) {
		t.Error("the cause of a place is not matched")
	}
}

func TestStateKnown(t *testing.T) {
	for _, s := range []provider.State{provider.Pending, provider.Running, provider.Stopped, provider.Failed, provider.Deleting, provider.Incomplete} {
		if s.Known() != s {
			t.Errorf("%s is not known", s)
		}
	}
	if got := provider.State("Hibernating").Known(); got != provider.Unknown {
		t.Errorf("a state of the future is read as %q", got)
	}
}

func TestInstanceString(t *testing.T) {
	tests := []struct {
		inst provider.Instance
		want string
	}{
		{provider.Instance{}, " Unknown"},
		{instance("web-1", "x", provider.Running), "web-1 (x) Running, 127.0.0.1:1"},
		{provider.Instance{Ref: provider.Ref{Name: "web-1"}, State: provider.Failed, Reason: provider.ReasonImagePull, Location: "host-a"},
			"web-1 Failed (ImagePull) at host-a"},
	}
	for _, tt := range tests {
		if got := fmt.Sprint(tt.inst); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
