package lease

import (
	"fmt"
	"testing"
	"time"
)

// bound takes a lease of the session and returns the name of its proxy.
func bound(t *testing.T, p *Pool, r Request) string {
	t.Helper()
	l := take(t, p, r)[0]
	if err := p.Release(l.ID, r.Holder); err != nil {
		t.Fatal(err)
	}
	return l.Proxy.Name
}

func TestSessionSticks(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 3))
	r := Request{Holder: "a", Session: "s"}
	first := bound(t, p, r)
	for range 3 {
		if got := bound(t, p, Request{Holder: "a"}); got == first {
			break
		}
	}
	for range 5 {
		if got := bound(t, p, r); got != first {
			t.Errorf("the session moved from %s to %s", first, got)
		}
	}
}

func TestSessionsOfHoldersAreApart(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 2))
	a := bound(t, p, Request{Holder: "a", Session: "s"})
	b := bound(t, p, Request{Holder: "b", Session: "s"})
	if a == b {
		t.Errorf("two holders' sessions of one key share %s although another was less recently used", a)
	}
	if again := bound(t, p, Request{Holder: "a", Session: "s"}); again != a {
		t.Errorf("the session of a moved from %s to %s", a, again)
	}
}

func TestSessionRebinds(t *testing.T) {
	for _, tt := range []struct {
		name   string
		change func(p *Pool, view []Proxy)
		next   Request
	}{
		{"does not work", func(p *Pool, view []Proxy) { view[0].Working = false; p.Replace(view) }, Request{}},
		{"drains", func(p *Pool, view []Proxy) { view[0].Draining = true; p.Replace(view) }, Request{}},
		{"gone", func(p *Pool, view []Proxy) { p.Replace(view[1:]) }, Request{}},
		{"another incarnation", func(p *Pool, view []Proxy) { view[0].ID, view[0].Name = "new", "web-0b"; p.Replace(view) }, Request{}},
		{"does not match", func(*Pool, []Proxy) {}, Request{Selector: Selector{Labels: map[string]string{"n": "1"}}}},
		{"not the holder's fleet any more", func(p *Pool, view []Proxy) { view[1].Fleet = "api"; p.Replace(view) }, Request{Fleets: []string{"api"}}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPool(Options{})
			view := working("web", 2)
			view[1].Labels = map[string]string{"n": "1"}
			p.Replace(view)
			r := Request{Holder: "a", Session: "s"}
			if got := bound(t, p, r); got != "web-0" {
				t.Fatalf("the session began with %s", got)
			}
			tt.change(p, view)
			next := tt.next
			next.Holder, next.Session = "a", "s"
			moved := bound(t, p, next)
			if moved == "web-0" {
				t.Fatal("the session kept a proxy that it may not have")
			}
			// It stays with the new one, also when the old one is back.
			p.Replace(working("web", 2))
			if tt.name != "another incarnation" {
				if got := bound(t, p, r); got != moved {
					t.Errorf("the session went on to %s; want %s", got, moved)
				}
			}
		})
	}
}

func TestSessionRebindsAtCap(t *testing.T) {
	p := NewPool(Options{Cap: 1})
	p.Replace(working("web", 2))
	r := Request{Holder: "a", Session: "s"}
	first := take(t, p, r)[0]
	second := take(t, p, r)[0]
	if first.Proxy.Name == second.Proxy.Name {
		t.Error("the session went over the cap")
	}
	_, err := p.Lease(r)
	wantDenied(t, err, AtCap)
	for _, l := range []Lease{first, second} {
		if err := p.Release(l.ID, "a"); err != nil {
			t.Fatal(err)
		}
	}
	if got := bound(t, p, r); got != second.Proxy.Name {
		t.Errorf("the session returned to %s; want %s, which it had last", got, second.Proxy.Name)
	}
}

func TestSessionsAreForgotten(t *testing.T) {
	c := newClock()
	p := NewPool(Options{Now: c.Now, MaxTTL: time.Minute, SessionIdle: time.Hour})
	p.Replace(working("web", 2))
	bound(t, p, Request{Holder: "a", Session: "s"})
	c.advance(59 * time.Minute)
	if got := bound(t, p, Request{Holder: "a", Session: "s"}); got != "web-0" {
		t.Errorf("after 59 minutes the session has %s", got)
	}
	c.advance(time.Hour + 1)
	p.InUse("")
	if len(p.sessions) != 0 {
		t.Errorf("%d holders' sessions are kept after they were idle for an hour", len(p.sessions))
	}
	if got := bound(t, p, Request{Holder: "a", Session: "s"}); got != "web-1" {
		t.Errorf("a forgotten session got %s; want web-1, the least recently used", got)
	}
}

func TestSessionOutlivesItsLease(t *testing.T) {
	c := newClock()
	p := NewPool(Options{Now: c.Now, MaxTTL: 3 * time.Hour, SessionIdle: time.Minute})
	p.Replace(working("web", 2))
	take(t, p, Request{Holder: "a", Session: "s", TTL: 3 * time.Hour})
	c.advance(2 * time.Hour)
	if got := take(t, p, Request{Holder: "a", Session: "s"})[0].Proxy.Name; got != "web-0" {
		t.Errorf("the session lost its proxy to %s while it had a lease on it", got)
	}
}

func TestOneHoldersSessionsArePressedOutByItsOwn(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 2))
	b := bound(t, p, Request{Holder: "b", Session: "s"})
	for i := range maxSessions + 1 {
		bound(t, p, Request{Holder: "a", Session: fmt.Sprint(i)})
		if i == maxSessions-1 {
			bound(t, p, Request{Holder: "a", Session: "0"})
		}
	}
	if got := p.sessions["a"].used.Len(); got != maxSessions || len(p.sessions["a"].byKey) != maxSessions {
		t.Errorf("a has %d sessions; want at most %d", got, maxSessions)
	}
	if p.sessions["a"].proxy("1") != "" || p.sessions["a"].proxy("0") == "" {
		t.Error("not the least recently used session was forgotten")
	}
	if got := bound(t, p, Request{Holder: "b", Session: "s"}); got != b {
		t.Errorf("b's session moved from %s to %s", b, got)
	}
}
