package lease

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/google/go-cmp/cmp"
)

// clock is a clock that tests set.
type clock struct{ now time.Time }

func newClock() *clock { return &clock{now: time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)} }

func (c *clock) Now() time.Time          { return c.now }
func (c *clock) advance(d time.Duration) { c.now = c.now.Add(d) }

// working returns n working proxies of the fleet: web-0, web-1, ...
func working(fleet string, n int) []Proxy {
	proxies := make([]Proxy, n)
	for i := range n {
		name := fmt.Sprintf("%s-%d", fleet, i)
		proxies[i] = Proxy{
			ID: "id-" + name, Name: name, Fleet: fleet, Provider: "local",
			Endpoint: fmt.Sprintf("192.0.2.%d:3128", i%256), Working: true, State: provider.Running,
		}
	}
	return proxies
}

// names are those of the proxies of the leases, in their order.
func names(leases []Lease) []string {
	var names []string
	for _, l := range leases {
		names = append(names, l.Proxy.Name)
	}
	return names
}

// take takes leases, which must work.
func take(t *testing.T, p *Pool, r Request) []Lease {
	t.Helper()
	leases, err := p.Lease(r)
	if err != nil {
		t.Fatalf("Lease(%+v): %v", r, err)
	}
	return leases
}

// wantDenied fails unless err denies for the reason.
func wantDenied(t *testing.T, err error, want Reason) *DeniedError {
	t.Helper()
	denied, ok := errors.AsType[*DeniedError](err)
	if !ok || denied.Reason != want {
		t.Fatalf("got error %v; want denied with %q", err, want)
	}
	if denied.RetryAfter <= 0 {
		t.Fatalf("%s has RetryAfter %v; want more than zero", want, denied.RetryAfter)
	}
	return denied
}

func TestFewestInFlightThenLeastRecentlyUsed(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 3))
	first := take(t, p, Request{Holder: "a"})
	second := take(t, p, Request{Holder: "a"})
	third := take(t, p, Request{Holder: "a"})
	if got := names(slices.Concat(first, second, third)); !slices.Equal(got, []string{"web-0", "web-1", "web-2"}) {
		t.Fatalf("the first round went to %v; want each once", got)
	}
	// web-1 is the only idle one, although it was not used least recently.
	if err := p.Release(second[0].ID, "a"); err != nil {
		t.Fatal(err)
	}
	if got := names(take(t, p, Request{Holder: "a"})); got[0] != "web-1" {
		t.Errorf("with web-1 idle, the lease went to %s", got[0])
	}
	// All have one: web-0 was used least recently.
	if got := names(take(t, p, Request{Holder: "a"})); got[0] != "web-0" {
		t.Errorf("among equals, the lease went to %s; want web-0", got[0])
	}
}

func TestIdleProxiesTakeTurns(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 3))
	var got []string
	for range 6 {
		l := take(t, p, Request{Holder: "a"})
		got = append(got, l[0].Proxy.Name)
		if err := p.Release(l[0].ID, "a"); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"web-0", "web-1", "web-2", "web-0", "web-1", "web-2"}
	if !slices.Equal(got, want) {
		t.Errorf("leases released at once went to %v; want %v", got, want)
	}
}

func TestCountGivesDistinctProxies(t *testing.T) {
	p := NewPool(Options{Cap: 2})
	p.Replace(working("web", 3))
	busy := take(t, p, Request{Holder: "a"})
	got := names(take(t, p, Request{Holder: "a", Count: 2}))
	if !slices.Equal(got, []string{"web-1", "web-2"}) {
		t.Errorf("two leases went to %v; want the two idle ones", got)
	}
	got = names(take(t, p, Request{Holder: "a", Count: 100}))
	if slices.Sort(got); !slices.Equal(got, []string{"web-0", "web-1", "web-2"}) {
		t.Errorf("a hundred leases on three proxies went to %v; want each once", got)
	}
	_, err := p.Lease(Request{Holder: "a", Count: 2})
	wantDenied(t, err, AtCap)
	if err := p.Release(busy[0].ID, "a"); err != nil {
		t.Fatal(err)
	}
	if got := names(take(t, p, Request{Holder: "a", Count: 2})); !slices.Equal(got, []string{"web-0"}) {
		t.Errorf("with room on web-0 alone, two leases went to %v", got)
	}
}

func TestDenied(t *testing.T) {
	change := func(proxies []Proxy, f func(*Proxy)) []Proxy {
		for i := range proxies {
			f(&proxies[i])
		}
		return proxies
	}
	for _, tt := range []struct {
		name    string
		proxies []Proxy
		request Request
		want    Reason
	}{
		{"none at all", nil, Request{}, NoProxies},
		{"none at all, with a selector", nil, Request{Selector: Selector{Fleet: "web"}}, NoProxies},
		{"another fleet", working("web", 2), Request{Selector: Selector{Fleet: "api"}}, NoneMatch},
		{"another provider", working("web", 2), Request{Selector: Selector{Provider: "kvm"}}, NoneMatch},
		{"another location", working("web", 2), Request{Selector: Selector{Location: "host-1"}}, NoneMatch},
		{"a label that is not there", working("web", 2), Request{Selector: Selector{Labels: map[string]string{"tier": ""}}}, NoneMatch},
		{"a fleet that is not the holder's", working("web", 2), Request{Fleets: []string{"api"}}, NoneMatch},
		{"not working", change(working("web", 2), func(p *Proxy) { p.Working = false }), Request{}, NoneWorking},
		{"draining", change(working("web", 2), func(p *Proxy) { p.Draining = true }), Request{}, NoneWorking},
		{"without an endpoint", change(working("web", 2), func(p *Proxy) { p.Endpoint = "" }), Request{}, NoneWorking},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPool(Options{RetryAfter: 7 * time.Second})
			p.Replace(tt.proxies)
			leases, err := p.Lease(tt.request)
			denied := wantDenied(t, err, tt.want)
			if leases != nil || denied.RetryAfter != 7*time.Second {
				t.Errorf("got %d leases and RetryAfter %v; want none and 7s", len(leases), denied.RetryAfter)
			}
			if got := p.Stats().Denied[tt.want]; got != 1 {
				t.Errorf("Stats counts %d denied with %s; want 1", got, tt.want)
			}
		})
	}
}

func TestSelectorMatches(t *testing.T) {
	proxy := Proxy{Fleet: "web", Provider: "kvm", Location: "host-1", Labels: map[string]string{"tier": "a", "empty": ""}}
	for _, tt := range []struct {
		name     string
		selector Selector
		want     bool
	}{
		{"zero", Selector{}, true},
		{"all fields", Selector{Fleet: "web", Provider: "kvm", Location: "host-1", Labels: map[string]string{"tier": "a"}}, true},
		{"an empty value that is there", Selector{Labels: map[string]string{"empty": ""}}, true},
		{"fleet", Selector{Fleet: "we"}, false},
		{"provider", Selector{Provider: "KVM"}, false},
		{"location", Selector{Location: "host-2"}, false},
		{"one of two labels", Selector{Labels: map[string]string{"tier": "a", "zone": "b"}}, false},
		{"a label's value", Selector{Labels: map[string]string{"tier": "b"}}, false},
	} {
		if got := tt.selector.Match(&proxy); got != tt.want {
			t.Errorf("%s: Match = %v; want %v", tt.name, got, tt.want)
		}
	}
}

func TestRequestIsRefused(t *testing.T) {
	many := make(map[string]string)
	for i := range MaxSelectorLabels + 1 {
		many[fmt.Sprint("label-", i)] = "x"
	}
	long := strings.Repeat("x", MaxSelector+1)
	for _, tt := range []struct {
		name    string
		request Request
		field   string
	}{
		{"ttl under the least", Request{TTL: time.Millisecond}, "ttl"},
		{"ttl below zero", Request{TTL: -time.Minute}, "ttl"},
		{"ttl over the most", Request{TTL: time.Hour + 1}, "ttl"},
		{"count below zero", Request{Count: -1}, "count"},
		{"count over the most", Request{Count: MaxCount + 1}, "count"},
		{"count with session", Request{Count: 2, Session: "s"}, "count"},
		{"long session", Request{Session: strings.Repeat("s", MaxSession+1)}, "session"},
		{"session in bytes", Request{Session: "\xff"}, "session"},
		{"target", Request{Target: "exa mple"}, "target"},
		{"long fleet", Request{Selector: Selector{Fleet: long}}, "selector.fleet"},
		{"long provider", Request{Selector: Selector{Provider: long}}, "selector.provider"},
		{"long location", Request{Selector: Selector{Location: long}}, "selector.location"},
		{"long label", Request{Selector: Selector{Labels: map[string]string{"a": long}}}, "selector.labels"},
		{"long label key", Request{Selector: Selector{Labels: map[string]string{long: "a"}}}, "selector.labels"},
		{"many labels", Request{Selector: Selector{Labels: many}}, "selector.labels"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := NewPool(Options{})
			p.Replace(working("web", 1))
			_, err := p.Lease(tt.request)
			refused, ok := errors.AsType[*FieldError](err)
			if !ok || refused.Field != tt.field {
				t.Fatalf("got error %v; want one for the field %s", err, tt.field)
			}
			if !strings.HasPrefix(err.Error(), tt.field+": ") || errors.Unwrap(err) == nil {
				t.Errorf("the error %q does not begin with its field, or has no cause", err)
			}
			if s := p.Stats(); s.InFlight != 0 || s.Granted != 0 {
				t.Errorf("a refused request left %+v", s)
			}
		})
	}
}

func TestLeaseRecord(t *testing.T) {
	c := newClock()
	p := NewPool(Options{Now: c.Now})
	proxies := working("web", 1)
	proxies[0].Credentials = provider.Credentials{Username: "u:ser", Password: "p@ss/w%rd?"}
	p.Replace(proxies)
	got := take(t, p, Request{Holder: "a", Target: "https://EXAMPLE.com/x", Session: "s", TTL: time.Minute})[0]
	want := Lease{
		ID: got.ID, Holder: "a", Target: "example.com", Session: "s", Proxy: proxies[0],
		Granted: c.now, Expires: c.now.Add(time.Minute),
	}
	if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b Proxy) bool { return a.ID == b.ID && a.Credentials == b.Credentials })); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
	if len(got.ID) != 32 {
		t.Errorf("the ID %q has not 128 bits in hexadecimal", got.ID)
	}
	if u := got.Proxy.URL().String(); u != "http://u%3Aser:p%40ss%2Fw%25rd%3F@192.0.2.0:3128" {
		t.Errorf("URL = %s", u)
	}
	if again, err := p.Get(got.ID, "a"); err != nil || again.ID != got.ID {
		t.Errorf("Get = %v, %v", again.ID, err)
	}
	if u := (Proxy{Scheme: "https", Endpoint: "[2001:db8::1]:443"}).URL().String(); u != "https://[2001:db8::1]:443" {
		t.Errorf("URL without credentials = %s", u)
	}
}

func TestReleaseAndGet(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 1))
	l := take(t, p, Request{Holder: "a"})[0]
	if p.InUse("id-web-0") != 1 || p.InUse("id-web-1") != 0 {
		t.Errorf("InUse = %d and %d; want 1 and 0", p.InUse("id-web-0"), p.InUse("id-web-1"))
	}
	for _, id := range []string{l.ID, "nothing", ""} {
		if err := p.Release(id, "b"); !errors.Is(err, ErrUnknown) {
			t.Errorf("b releases %q: %v; want unknown", id, err)
		}
		if _, err := p.Get(id, "b"); !errors.Is(err, ErrUnknown) {
			t.Errorf("b gets %q: %v; want unknown", id, err)
		}
	}
	for range 2 {
		if err := p.Release(l.ID, "a"); err != nil {
			t.Errorf("a releases its lease: %v", err)
		}
	}
	if err := p.Release(l.ID, "b"); !errors.Is(err, ErrUnknown) {
		t.Errorf("b releases a's ended lease: %v; want unknown", err)
	}
	if _, err := p.Get(l.ID, "b"); !errors.Is(err, ErrUnknown) {
		t.Errorf("b gets a's ended lease: %v; want unknown", err)
	}
	_, err := p.Get(l.ID, "a")
	if e, ok := errors.AsType[*EndedError](err); !ok || e.End != Released {
		t.Errorf("Get after Release: %v; want released", err)
	}
	other := take(t, p, Request{Holder: "a"})[0]
	if _, err := p.Get(other.ID, ""); err != nil {
		t.Errorf("anybody's Get: %v", err)
	}
	if err := p.Release(other.ID, ""); err != nil {
		t.Errorf("anybody's Release: %v", err)
	}
	want := map[End]uint64{Released: 2, Expired: 0, Gone: 0}
	if s := p.Stats(); s.InFlight != 0 || s.Granted != 2 || !maps.Equal(s.Ended, want) {
		t.Errorf("Stats = %+v; want two granted and released", s)
	}
}

func TestReplace(t *testing.T) {
	p := NewPool(Options{})
	view := working("web", 2)
	p.Replace(view)
	stays := take(t, p, Request{Holder: "a"})[0]
	goes := take(t, p, Request{Holder: "a"})[0]

	view[0].Endpoint, view[1].Draining, view[1].Reason = "198.51.100.1:3128", true, "Preempted"
	p.Replace(view)
	if got := take(t, p, Request{Holder: "a"})[0]; got.Proxy.Endpoint != "198.51.100.1:3128" {
		t.Errorf("a new lease has the endpoint %s of the view before", got.Proxy.Endpoint)
	}
	if p.InUse("id-web-0") != 2 || p.InUse("id-web-1") != 1 {
		t.Errorf("InUse = %d and %d; draining and changes end no lease", p.InUse("id-web-0"), p.InUse("id-web-1"))
	}

	p.Replace(view[:1])
	_, err := p.Get(goes.ID, "a")
	ended, ok := errors.AsType[*EndedError](err)
	if !ok || ended.End != Gone || ended.Reason != "Preempted" {
		t.Errorf("the lease on a proxy that went: %v; want gone because of Preempted", err)
	}
	if err := p.Release(goes.ID, "a"); err != nil {
		t.Errorf("releasing it all the same: %v", err)
	}
	if _, err := p.Get(stays.ID, "a"); err != nil {
		t.Errorf("the lease on a proxy that stays: %v", err)
	}

	// A proxy that comes back begins anew.
	view[1].Draining = false
	p.Replace(view)
	if p.InUse("id-web-1") != 0 || take(t, p, Request{Holder: "a"})[0].Proxy.Name != "web-1" {
		t.Error("a proxy that came back is not idle")
	}
}

func TestReplaceTakesTheFirstOfTwoWithOneID(t *testing.T) {
	p := NewPool(Options{})
	view := working("web", 2)
	view[1].ID = view[0].ID
	p.Replace([]Proxy{view[1], view[0]})
	page, more := p.Page(Key{}, 10, func(*Proxy) bool { return true })
	if len(page) != 1 || page[0].Name != "web-0" || more {
		t.Errorf("the view has %d proxies, more %v; want web-0 alone", len(page), more)
	}
}

func TestReplaceKeepsTheRotation(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(working("web", 3))
	l := take(t, p, Request{Holder: "a"})[0]
	if err := p.Release(l.ID, "a"); err != nil {
		t.Fatal(err)
	}
	p.Replace(working("web", 3))
	if got := take(t, p, Request{Holder: "a"})[0].Proxy.Name; got != "web-1" {
		t.Errorf("after the same view again, the lease went to %s; want web-1", got)
	}
}

func TestFleetsBindTheHolder(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(slices.Concat(working("api", 2), working("web", 2)))
	got := names(take(t, p, Request{Holder: "a", Fleets: []string{"web"}, Count: 4}))
	if !slices.Equal(got, []string{"web-0", "web-1"}) {
		t.Errorf("a holder of web got %v", got)
	}
	got = names(take(t, p, Request{Holder: "a", Fleets: []string{"web", "api"}, Count: 4}))
	if !slices.Equal(got, []string{"api-0", "api-1", "web-0", "web-1"}) {
		t.Errorf("a holder of both got %v", got)
	}
}

func TestRequestKeysKeepPartsApart(t *testing.T) {
	requests := []Request{
		{}, {Selector: Selector{Fleet: "a"}}, {Selector: Selector{Provider: "a"}}, {Selector: Selector{Location: "a"}},
		{Fleets: []string{"a"}}, {Fleets: []string{"a", "b"}}, {Fleets: []string{"a b"}}, {Fleets: []string{`a" "b`}},
		{Selector: Selector{Labels: map[string]string{"a": "b"}}}, {Selector: Selector{Labels: map[string]string{"a=b": ""}}},
		{Selector: Selector{Labels: map[string]string{"a": "b", "c": "d"}}}, {Selector: Selector{Labels: map[string]string{"a": `b" "c"="d`}}},
	}
	keys := make(map[string]int)
	for i, r := range requests {
		if other, twice := keys[r.key()]; twice {
			t.Errorf("requests %d and %d share the key %s", other, i, r.key())
		}
		keys[r.key()] = i
	}
	a, b := Request{Fleets: []string{"a", "b"}}, Request{Fleets: []string{"b", "a"}}
	if a.key() != b.key() {
		t.Error("the order of the fleets changes the key")
	}
	labels := make(map[string]string)
	for i := range 20 {
		labels[fmt.Sprint(i)] = "x"
	}
	one := Request{Selector: Selector{Labels: labels}}.key()
	for range 20 {
		if got := (Request{Selector: Selector{Labels: maps.Clone(labels)}}).key(); got != one {
			t.Fatalf("one selector has the keys %s and %s", one, got)
		}
	}
}

func TestTheSelectorsInUseKeepTheirViews(t *testing.T) {
	p := NewPool(Options{Cap: 1000})
	p.Replace(working("web", 3))
	often := Request{Selector: Selector{Fleet: "web"}}
	for i := range 5 * maxViews {
		take(t, p, Request{Fleets: []string{"web", fmt.Sprint(i)}})
		built := p.views[often.key()]
		take(t, p, often)
		if i > 0 && p.views[often.key()] != built {
			t.Fatal("a selector in use lost its view to one that was used once")
		}
	}
	if len(p.views) != maxViews {
		t.Errorf("there are %d views; want %d", len(p.views), maxViews)
	}
}
