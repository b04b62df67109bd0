package lease

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"
)

// The clock of these tests is time.Now within a bubble, which is the default.
func TestExpiry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Cap: 1})
		p.Replace(working("web", 2))
		short := take(t, p, Request{Holder: "a", TTL: 90 * time.Second})[0]
		long := take(t, p, Request{Holder: "a", TTL: 10 * time.Minute})[0]

		time.Sleep(30 * time.Second)
		_, err := p.Lease(Request{Holder: "b"})
		if denied := wantDenied(t, err, AtCap); denied.RetryAfter != time.Minute {
			t.Errorf("RetryAfter = %v; want 1m, when the first lease expires", denied.RetryAfter)
		}
		time.Sleep(time.Minute - 1)
		if p.InUse(short.Proxy.ID) != 1 {
			t.Error("the lease ended before its time")
		}
		time.Sleep(time.Nanosecond)
		if p.InUse(short.Proxy.ID) != 0 || p.InUse(long.Proxy.ID) != 1 {
			t.Errorf("InUse = %d and %d; want the short lease ended and the long one not",
				p.InUse(short.Proxy.ID), p.InUse(long.Proxy.ID))
		}
		_, err = p.Get(short.ID, "a")
		if e, ok := errors.AsType[*EndedError](err); !ok || e.End != Expired || !e.At.Equal(short.Expires) {
			t.Errorf("Get of an expired lease: %v; want expired at %v", err, short.Expires)
		}
		if got := take(t, p, Request{Holder: "b"})[0].Proxy.ID; got != short.Proxy.ID {
			t.Errorf("the freed proxy was not handed out, but %s", got)
		}
	})
}

func TestDefaultTTL(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options Options
		want    time.Duration
	}{
		{"none", Options{}, DefaultTTL},
		{"given", Options{DefaultTTL: time.Minute}, time.Minute},
		{"over the most", Options{MaxTTL: time.Minute}, time.Minute},
		{"under the least", Options{MinTTL: 20 * time.Minute}, 20 * time.Minute},
		{"the most under the least", Options{MinTTL: 2 * time.Hour}, 2 * time.Hour},
		{"negative", Options{DefaultTTL: -1, MinTTL: -1, MaxTTL: -1, Cap: -1}, DefaultTTL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := NewPool(tt.options)
				p.Replace(working("web", 1))
				l := take(t, p, Request{})[0]
				if got := l.Expires.Sub(l.Granted); got != tt.want || !l.Granted.Equal(time.Now()) {
					t.Errorf("the lease lasts %v from %v; want %v from now", got, l.Granted, tt.want)
				}
			})
		})
	}
}

func TestRetryAfterFollowsTheSelector(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{Cap: 1})
		p.Replace(append(working("api", 1), working("web", 2)...))
		api, web := Request{Selector: Selector{Fleet: "api"}}, Request{Selector: Selector{Fleet: "web"}}
		for _, step := range []struct {
			request Request
			ttl     time.Duration
		}{{api, time.Minute}, {web, 2 * time.Minute}, {web, 5 * time.Minute}} {
			step.request.TTL = step.ttl
			take(t, p, step.request)
		}
		for _, step := range []struct {
			after     time.Duration
			api, web  time.Duration
			granted   bool
			whichever string
		}{
			{after: 0, api: time.Minute, web: 2 * time.Minute},
			{after: 30 * time.Second, api: 30 * time.Second, web: 90 * time.Second},
		} {
			time.Sleep(step.after)
			// Twice, because the second answer is remembered.
			for range 2 {
				_, err := p.Lease(api)
				if got := wantDenied(t, err, AtCap).RetryAfter; got != step.api {
					t.Errorf("api: RetryAfter = %v; want %v", got, step.api)
				}
				_, err = p.Lease(web)
				if got := wantDenied(t, err, AtCap).RetryAfter; got != step.web {
					t.Errorf("web: RetryAfter = %v; want %v", got, step.web)
				}
			}
		}
		// The first of web expires and is taken again for long: what was
		// remembered does not hold any more.
		time.Sleep(90 * time.Second)
		web.TTL = time.Hour
		take(t, p, web)
		_, err := p.Lease(web)
		if got := wantDenied(t, err, AtCap).RetryAfter; got != 3*time.Minute {
			t.Errorf("web: RetryAfter = %v; want 3m, the lease of 5m", got)
		}
	})
}

func TestEndedLeasesAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := NewPool(Options{})
		p.Replace(working("web", 1))
		l := take(t, p, Request{Holder: "a"})[0]
		if err := p.Release(l.ID, "a"); err != nil {
			t.Fatal(err)
		}
		time.Sleep(DefaultRemember)
		if err := p.Release(l.ID, "a"); err != nil {
			t.Errorf("after %v the lease is not remembered: %v", DefaultRemember, err)
		}
		time.Sleep(time.Nanosecond)
		if err := p.Release(l.ID, "a"); !errors.Is(err, ErrUnknown) {
			t.Errorf("after more than %v: %v; want unknown", DefaultRemember, err)
		}
	})
}

func TestEndedLeasesAreBounded(t *testing.T) {
	var g graveyard
	for i := range maxEnded + 10 {
		g.add(&ended{id: fmt.Sprint(i)})
	}
	if len(g.queue) != maxEnded || len(g.byID) != maxEnded {
		t.Errorf("%d and %d are remembered; want %d", len(g.queue), len(g.byID), maxEnded)
	}
	if g.byID["9"] != nil || g.byID["10"] == nil {
		t.Error("not the oldest were forgotten")
	}
}

func TestErrorTexts(t *testing.T) {
	texts := make(map[string]bool)
	for _, r := range Reasons() {
		texts[(&DeniedError{Reason: r}).Error()] = true
	}
	for _, e := range Ends() {
		texts[(&EndedError{End: e}).Error()] = true
	}
	texts[(&EndedError{End: Gone, Reason: "Preempted"}).Error()] = true
	if want := len(Reasons()) + len(Ends()) + 1; len(texts) != want || texts[""] {
		t.Errorf("got %d texts, some empty or alike: %v; want %d", len(texts), texts, want)
	}
}
