package proxyapi

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/google/go-cmp/cmp"
)

func proxyNames(list ProxyList) []string {
	var names []string
	for _, p := range list.Proxies {
		names = append(names, p.Name)
	}
	return names
}

func TestListProxies(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"selector": {"fleet": "api"}}`), 201)
	got := a.call("GET", "/v1/proxies", crawlerToken, "")
	list := wantJSON[ProxyList](a, got, 200)
	since := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	want := Proxy{
		ID: "id-api-0", Name: "api-0", Fleet: "api", Provider: "local", Location: "host-1", Scheme: "http",
		Endpoint: "192.0.2.1:3128", Egress: "203.0.113.7", Labels: map[string]string{"fleet": "api", "n": "api-0"},
		State: "Running", Working: true, Since: since, Leases: 1,
	}
	if diff := cmp.Diff(want, list.Proxies[0]); diff != "" {
		t.Errorf("proxy (-want +got):\n%s", diff)
	}
	last := list.Proxies[3]
	if last.State != "Stopped" || last.Working || last.Reason != "GuestCrash" || last.Message != "the guest ended" {
		t.Errorf("the stopped proxy is listed as %+v", last)
	}
	if list.Next != "" || strings.Contains(got.body, "p@ss") {
		t.Errorf("the list has a next page or a password: %s", got.body)
	}
	a.pool.Replace(nil)
	if got := a.call("GET", "/v1/proxies", crawlerToken, ""); got.body != "{\"proxies\":[]}\n" {
		t.Errorf("the empty list is %s", got.body)
	}
	a.pool.Replace([]lease.Proxy{{ID: "new", Name: "new", Fleet: "web", Provider: "local"}})
	const bare = `{"proxies":[{"id":"new","name":"new","fleet":"web","provider":"local","state":"Unknown","working":false,"draining":false,"leases":0}]}`
	if got := a.call("GET", "/v1/proxies", crawlerToken, ""); strings.TrimSpace(got.body) != bare {
		t.Errorf("a proxy that nothing is known of is listed as %s", got.body)
	}
}

func TestProxyFilters(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	view := testProxies()
	view[2].State = provider.State("Hibernating") // of a later version
	a.pool.Replace(view)
	for _, tt := range []struct {
		query string
		want  []string
	}{
		{"", []string{"api-0", "web-0", "web-1", "web-2"}},
		{"fleet=web", []string{"web-0", "web-1", "web-2"}},
		{"fleet=", []string{"api-0", "web-0", "web-1", "web-2"}},
		{"provider=local", []string{"api-0", "web-0", "web-1", "web-2"}},
		{"provider=kvm", nil},
		{"location=host-1", []string{"api-0", "web-0"}},
		{"state=Running", []string{"api-0", "web-0"}},
		{"state=Stopped", []string{"web-2"}},
		{"state=Unknown", []string{"web-1"}},
		{"working=true", []string{"api-0", "web-0", "web-1"}},
		{"working=false", []string{"web-2"}},
		{"label=n%3Dweb-0", []string{"web-0"}},
		{"label=n=web-0&label=fleet=web", []string{"web-0"}},
		{"label=n=web-0&label=fleet=api", nil},
		{"label=other=", nil},
		{"fleet=web&working=true&location=host-2", []string{"web-1"}},
		{"limit=2", []string{"api-0", "web-0"}},
	} {
		list := wantJSON[ProxyList](a, a.call("GET", "/v1/proxies?"+tt.query, crawlerToken, ""), 200)
		if got := proxyNames(list); !slices.Equal(got, tt.want) {
			t.Errorf("%q: got %v; want %v", tt.query, got, tt.want)
		}
	}
}

func TestProxyParametersAreRefused(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct {
		query, field string
		code         Code
	}{
		{"flete=web", "flete", CodeInvalid},
		{"Fleet=web", "Fleet", CodeInvalid},
		{"fleet=web&fleet=api", "fleet", CodeInvalid},
		{"state=running", "state", CodeInvalid},
		{"state=", "state", CodeInvalid},
		{"working=yes", "working", CodeInvalid},
		{"label=tier", "label", CodeInvalid},
		{"label=n=a&label=n=b", "label", CodeInvalid},
		{"limit=0", "limit", CodeInvalid},
		{"limit=1001", "limit", CodeInvalid},
		{"limit=ten", "limit", CodeInvalid},
		{"cursor=", "cursor", CodeInvalid},
		{"cursor=%21", "cursor", CodeInvalid},
		{"cursor=e30", "cursor", CodeInvalid},          // {}
		{"cursor=WyJhIiwiYiJd", "cursor", CodeInvalid}, // ["a","b"]
		{"a;b", "", CodeBadRequest},
		{"%zz=1", "", CodeBadRequest},
	} {
		got := a.call("GET", "/v1/proxies?"+tt.query, crawlerToken, "")
		if got.StatusCode != 400 {
			t.Errorf("%q: got %d", tt.query, got.StatusCode)
			continue
		}
		a.wantProblem(got, 400, tt.code, tt.field)
	}
}

// pages reads all pages; between says what happens after each.
func pages(a *api, query url.Values, between func(page int)) []string {
	a.t.Helper()
	var names []string
	for page := 0; ; page++ {
		list := wantJSON[ProxyList](a, a.call("GET", "/v1/proxies?"+query.Encode(), crawlerToken, ""), 200)
		names = append(names, proxyNames(list)...)
		if list.Next == "" {
			return names
		}
		if page > 1000 {
			a.t.Fatal("the pages do not end")
		}
		query.Set("cursor", list.Next)
		between(page)
	}
}

func TestPaging(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	var view []lease.Proxy
	var want []string
	for i := range 250 {
		name := fmt.Sprintf("web-%03d", i)
		view = append(view, lease.Proxy{ID: "id-" + name, Name: name, Fleet: "web", Working: i%2 == 0})
		want = append(want, name)
	}
	a.pool.Replace(view)
	still := func(int) {}
	for _, limit := range []string{"", "1", "7", "249", "250", "1000"} {
		query := url.Values{}
		if limit != "" {
			query.Set("limit", limit)
		}
		if got := pages(a, query, still); !slices.Equal(got, want) {
			t.Errorf("with limit %q the pages have %d proxies", limit, len(got))
		}
	}
	if got := pages(a, url.Values{"working": {"true"}, "limit": {"10"}}, still); len(got) != 125 {
		t.Errorf("the pages of those that work have %d proxies; want 125", len(got))
	}
}

// Whoever is there all the while is seen once, whatever comes and goes.
func TestPagingUnderChange(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	stay := make([]lease.Proxy, 0, 100)
	for i := range 100 {
		name := fmt.Sprintf("stay-%03d", i)
		stay = append(stay, lease.Proxy{ID: "id-" + name, Name: name, Fleet: "web"})
	}
	churn := func(round int) []lease.Proxy {
		view := slices.Clone(stay)
		for i := range 50 {
			// In front, behind and between, others each time.
			name := fmt.Sprintf("%s-%03d-%d", []string{"early", "stay", "tail"}[i%3], (i*7+round*13)%100, round)
			view = append(view, lease.Proxy{ID: "id-" + name, Name: name, Fleet: "web"})
		}
		return view
	}
	a.pool.Replace(churn(0))
	seen := make(map[string]int)
	for _, name := range pages(a, url.Values{"limit": {"9"}}, func(page int) { a.pool.Replace(churn(page + 1)) }) {
		seen[name]++
	}
	for _, p := range stay {
		if seen[p.Name] != 1 {
			t.Errorf("%s was seen %d times; want once", p.Name, seen[p.Name])
		}
	}
}

func FuzzProxyQuery(f *testing.F) {
	for _, seed := range []string{"", "fleet=web&limit=3", "label=a=b&label=c=", "cursor=WyJhIiwiYiIsImMiXQ", "state=Unknown&working=true", "%zz", "a=b;c=d"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		q, err := parseProxyQuery(&url.URL{RawQuery: raw})
		if err != nil {
			if p := problemOf(err); p.Status != 400 {
				t.Fatalf("%q: %+v; want a 400", raw, p)
			}
			return
		}
		if q.limit < 1 || q.limit > MaxLimit {
			t.Fatalf("%q: limit %d", raw, q.limit)
		}
		q.match(&lease.Proxy{})
		if again, ok := keyOf(cursorOf(q.after)); q.after != (lease.Key{}) && (!ok || cursorOf(again) != cursorOf(q.after)) {
			t.Fatalf("%q: the cursor of %+v reads as %+v", raw, q.after, again)
		}
	})
}
