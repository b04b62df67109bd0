package fleet

import (
	"errors"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

func kindError(kind provider.Kind, after time.Duration) error {
	return &provider.Error{Kind: kind, RetryAfter: after, Err: errors.New("as told")}
}

// Pauses after failures of Create, by kind: where they are kept, and how long
// the first, the third and the twentieth are.
func TestPauses(t *testing.T) {
	tests := []struct {
		kind                 provider.Kind
		gate                 string // "-" is the member's own
		first, third, lasted time.Duration
	}{
		{provider.InProgress, "-", time.Second, 4 * time.Second, 15 * time.Second},
		{provider.Unavailable, "-", 2 * time.Second, 8 * time.Second, 2 * time.Minute},
		{"Melted", "-", 2 * time.Second, 8 * time.Second, 2 * time.Minute},
		{provider.NotFound, "-", 2 * time.Second, 8 * time.Second, 2 * time.Minute},
		{provider.Canceled, "-", time.Second, time.Second, time.Second},
		{provider.Conflict, "-", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{provider.RateLimited, "", 5 * time.Second, 20 * time.Second, 5 * time.Minute},
		{provider.NoCapacity, "web", 30 * time.Second, 2 * time.Minute, 10 * time.Minute},
		{provider.QuotaExceeded, "web", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{provider.Unauthenticated, "web", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{provider.PermissionDenied, "web", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{provider.Invalid, "web", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
		{provider.Unsupported, "web", 5 * time.Minute, 5 * time.Minute, 5 * time.Minute},
	}
	for _, test := range tests {
		t.Run(string(test.kind), func(t *testing.T) {
			m := NewMemory(nil)
			a := Action{Op: Create, Fleet: "web", Ref: provider.Ref{Name: "web-0"}}
			for i := range 20 {
				m.Begin(a, now)
				m.Finish(a, provider.Instance{}, kindError(test.kind, 0), now)
				r := &m.Names["web-0"].Retry
				if test.gate != "-" {
					r = m.Gates[test.gate]
				}
				want := map[int]time.Duration{0: test.first, 2: test.third, 19: test.lasted}[i]
				if got := r.After.Sub(now); want != 0 && got != want {
					t.Errorf("pause %d is %v, want %v", i, got, want)
				}
			}
			if m.Names["web-0"].Busy != "" {
				t.Error("still busy")
			}
			b := Action{Op: Create, Fleet: "web", Ref: provider.Ref{Name: "web-1"}}
			m.Begin(b, now) // at the time of the refusals
			m.Finish(b, provider.Instance{Ref: provider.Ref{Name: "web-1", ID: "b"}}, nil, now.Add(time.Minute))
			if _, left := m.Gates[test.gate]; left != (test.gate != "-") {
				t.Error("a success that began before the refusal opened the gate")
			}
			m.Begin(a, now.Add(time.Minute))
			m.Finish(a, provider.Instance{Ref: provider.Ref{Name: "web-0", ID: "a"}}, nil, now.Add(time.Minute))
			if n := m.Names["web-0"]; n.Retry != (Retry{}) || len(m.Gates) != 0 {
				t.Errorf("a success leaves %+v, %v", n.Retry, m.Gates)
			}
		})
	}
}

func TestPauseHonoursRetryAfter(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 80 * time.Second, 1: 90 * time.Second} {
		m := NewMemory(func() float64 { return jitter })
		var r Retry
		m.pause(&r, kindError(provider.NoCapacity, 80*time.Second), now)
		if got := r.After.Sub(now); got != want {
			t.Errorf("jitter %v: %v, want %v", jitter, got, want)
		}
		m.pause(&r, kindError(provider.NoCapacity, 1000*time.Hour), now)
		if got := r.After.Sub(now); got < longest || got > longest*9/8 {
			t.Errorf("jitter %v: an absurd RetryAfter gives %v", jitter, got)
		}
	}
}

func TestPauseVaries(t *testing.T) {
	for jitter, want := range map[float64]time.Duration{0: 1750 * time.Millisecond, 1: 2250 * time.Millisecond} {
		m := NewMemory(func() float64 { return jitter })
		var r Retry
		m.pause(&r, kindError(provider.Unavailable, 0), now)
		if got := r.After.Sub(now); got != want {
			t.Errorf("jitter %v: %v, want %v", jitter, got, want)
		}
	}
}

// A name whose instances keep going without having been of use waits longer
// and longer for the next; one that lasted starts again at once.
func TestChurn(t *testing.T) {
	m := NewMemory(nil)
	round := func(lasts time.Duration, why Why) time.Duration {
		ref := provider.Ref{Name: "web-0", ID: "a"}
		m.Listed([]provider.Instance{{Ref: ref}}, nil, m.Mark(), now)
		m.Checked(ref, "", 1, now)
		a := Action{Op: Delete, Fleet: "web", Ref: ref, Why: why}
		then := now.Add(lasts)
		m.Begin(a, then)
		m.Finish(a, provider.Instance{}, nil, then)
		if wait := m.Names["web-0"].Retry.After.Sub(then); wait > 0 {
			return wait
		}
		return 0
	}
	for i, want := range []time.Duration{0, 5 * time.Second, 10 * time.Second, 20 * time.Second} {
		if got := round(time.Minute, Stopped); got != want {
			t.Errorf("after %d short lives it waits %v, want %v", i+1, got, want)
		}
	}
	if got := round(stable, Stopped); got != 0 {
		t.Errorf("after a long life it waits %v", got)
	}
	for range 3 {
		m.Names["web-0"].Retry = Retry{} // as a Create does
		if got := round(time.Minute, Drifted); got != 0 {
			t.Errorf("after a replacement by choice it waits %v", got)
		}
	}
}

func TestChecked(t *testing.T) {
	m := NewMemory(nil)
	ref := provider.Ref{Name: "web-0", ID: "a"}
	if m.Checked(ref, "", 1, now) {
		t.Error("a check of something unknown changed something")
	}
	m.Listed([]provider.Instance{{Ref: ref}}, nil, m.Mark(), now)
	m.Names["web-0"] = &Name{Replacing: now}
	steps := []struct {
		reason                   string
		working, worked, changed bool
		passes, failures         int
	}{
		{"refused", false, false, false, 0, 1},
		{"", false, false, false, 1, 0},
		{"", true, true, true, 2, 0},
		{"", true, true, false, 3, 0},
		{"refused", false, true, true, 0, 1},
		{"refused", false, true, false, 0, 2},
	}
	for i, step := range steps {
		at := now.Add(time.Duration(i) * time.Second)
		changed := m.Checked(ref, step.reason, 2, at)
		c := m.Members[ref].Check
		if changed != step.changed || c.Working != step.working || c.Worked != step.worked ||
			c.Passes != step.passes || c.Failures != step.failures || !c.At.Equal(at) {
			t.Errorf("step %d: changed %v, %+v", i, changed, c)
		}
		if step.changed && !c.Since.Equal(at) {
			t.Errorf("step %d: since %v", i, c.Since)
		}
		if replacing := !m.Names["web-0"].Replacing.IsZero(); replacing == step.worked {
			t.Errorf("step %d: replacing %v", i, replacing)
		}
	}
}

func TestGetDecidesWhatAnAbsenceMeans(t *testing.T) {
	ref := provider.Ref{Name: "web-0", ID: "a"}
	tests := []struct {
		name  string
		err   error
		known bool
		pause bool
	}{
		{"there", nil, true, true},
		{"gone", kindError(provider.NotFound, 0), false, false},
		{"cannot say", kindError(provider.Unavailable, 0), true, true},
		{"foreign ID", kindError(provider.Invalid, 0), true, true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := NewMemory(nil)
			m.Listed([]provider.Instance{{Ref: ref}}, nil, m.Mark(), now)
			m.Listed(nil, nil, m.Mark(), now)
			a := Action{Op: Get, Fleet: "web", Ref: ref}
			m.Begin(a, now)
			m.Finish(a, provider.Instance{Ref: ref}, test.err, now)
			member, known := m.Members[ref]
			if known != test.known {
				t.Fatalf("known %v, want %v", known, test.known)
			}
			if known && member.Retry.After.After(now) != test.pause {
				t.Errorf("pause until %v", member.Retry.After)
			}
		})
	}
}

func TestListed(t *testing.T) {
	a, b := provider.Ref{Name: "web-0", ID: "a"}, provider.Ref{Name: "web-1", ID: "b"}
	partial := &provider.PartialError{Missing: []provider.Place{{Location: "x", Err: errors.New("down")}}}
	tests := []struct {
		name  string
		list  []provider.Instance
		err   error
		want  Listing
		shown [2]bool
	}{
		{"complete", []provider.Instance{{Ref: a}}, nil, ListComplete, [2]bool{true, false}},
		{"partial", []provider.Instance{{Ref: a}}, &provider.Error{Err: partial}, ListPartial, [2]bool{true, false}},
		{"failed", nil, errors.New("down"), ListFailed, [2]bool{true, true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := NewMemory(nil)
			m.Listed([]provider.Instance{{Ref: a}, {Ref: b}}, nil, m.Mark(), now)
			m.Listed(test.list, test.err, m.Mark(), now)
			if m.Listing != test.want {
				t.Errorf("listing %q, want %q", m.Listing, test.want)
			}
			if shown := [2]bool{m.Members[a].Shown, m.Members[b].Shown}; shown != test.shown {
				t.Errorf("shown %v, want %v", shown, test.shown)
			}
		})
	}
}

func TestReset(t *testing.T) {
	m := NewMemory(nil)
	ref := provider.Ref{Name: "web-0", ID: "a"}
	m.Listed([]provider.Instance{{Ref: ref}}, nil, m.Mark(), now)
	m.Members[ref].Retry = Retry{Failures: 1}
	m.Gates["web"] = &Retry{Failures: 1}
	m.Names["web-0"] = &Name{Retry: Retry{Failures: 1}}
	m.Names["busy-0"] = &Name{Busy: Create}
	m.Names["kept-0"] = &Name{Churn: 3}
	m.Names["gone-0"] = &Name{}
	m.Reset(func(name string) bool { return name == "kept-0" })
	if len(m.Gates) != 0 || m.Members[ref].Retry != (Retry{}) || m.Names["web-0"].Retry != (Retry{}) || m.Names["kept-0"].Churn != 0 {
		t.Error("a pause is left")
	}
	if _, left := m.Names["gone-0"]; left || len(m.Names) != 3 {
		t.Errorf("names left: %v", m.Names)
	}
}
