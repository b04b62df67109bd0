package proxyapi

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/google/go-cmp/cmp"
)

// fixed is a clock that stands still.
func fixed() time.Time { return time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC) }

func TestCreateLease(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{Now: fixed}))
	got := a.call("POST", "/v1/leases", crawlerToken, `{
		"target": "https://Example.COM:443/x", "session": "s", "ttl": "90s", "count": 1,
		"selector": {"fleet": "web", "provider": "local", "location": "host-2", "labels": {"fleet": "web"}}}`)
	list := wantJSON[LeaseList](a, got, http.StatusCreated)
	if len(list.Leases) != 1 {
		t.Fatalf("got %d leases", len(list.Leases))
	}
	want := Lease{
		ID: list.Leases[0].ID, URL: "http://crawler:p%40ss%2Fw%3Ard%3F%23%25@192.0.2.1:3128", Proxy: "web-1", ProxyID: "id-web-1",
		Fleet: "web", Provider: "local", Location: "host-2", Egress: "203.0.113.7", Target: "example.com", Session: "s",
		Holder: "crawler", Granted: fixed(), Expires: fixed().Add(90 * time.Second),
	}
	if diff := cmp.Diff(want, list.Leases[0]); diff != "" {
		t.Errorf("lease (-want +got):\n%s", diff)
	}
	if a.pool.InUse("id-web-1") != 1 {
		t.Errorf("InUse = %d", a.pool.InUse("id-web-1"))
	}
	again := wantJSON[Lease](a, a.call("GET", "/v1/leases/"+want.ID, crawlerToken, ""), http.StatusOK)
	if diff := cmp.Diff(want, again); diff != "" {
		t.Errorf("the lease read again (-want +got):\n%s", diff)
	}
}

func TestCreateLeaseBodies(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct{ name, body string }{
		{"none", ""},
		{"empty object", "{}"},
		{"white space around", " \n{ }\n "},
		{"nulls", `{"target": null, "selector": null, "session": null, "ttl": null, "count": null}`},
		{"nulls below", `{"selector": {"fleet": null, "labels": null}}`},
		{"a null label", `{"selector": {"labels": {"nothing": null}}}`},
	} {
		got := a.call("POST", "/v1/leases", crawlerToken, tt.body)
		if list := wantJSON[LeaseList](a, got, http.StatusCreated); len(list.Leases) != 1 {
			t.Errorf("%s: got %d leases; want one", tt.name, len(list.Leases))
		}
	}
	list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"count": 50}`), http.StatusCreated)
	seen := make(map[string]bool)
	for _, l := range list.Leases {
		seen[l.ProxyID] = true
	}
	if len(list.Leases) != 3 || len(seen) != 3 {
		t.Errorf("fifty leases gave %d on %d proxies; want one on each of the three that work", len(list.Leases), len(seen))
	}
}

func TestCreateLeaseIsRefused(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct {
		name, body, field string
		status            int
		code              Code
	}{
		{"not JSON", "count=1", "", 400, CodeBadRequest},
		{"cut off", `{"count": 1`, "", 400, CodeBadRequest},
		{"cut off in a value", `{"count": `, "", 400, CodeBadRequest},
		{"cut off in a name", `{"cou`, "", 400, CodeBadRequest},
		{"an array", `[]`, "", 400, CodeBadRequest},
		{"a null", `null`, "", 400, CodeBadRequest},
		{"a string", `"count"`, "", 400, CodeBadRequest},
		{"two objects", `{} {}`, "", 400, CodeBadRequest},
		{"rubbish behind", `{}}`, "", 400, CodeBadRequest},
		{"a number as a name", `{1: 2}`, "", 400, CodeBadRequest},
		{"unknown field", `{"tagret": "example.com"}`, "tagret", 400, CodeInvalid},
		{"unknown field below", `{"selector": {"region": "eu"}}`, "selector.region", 400, CodeInvalid},
		{"another case", `{"TTL": "5m"}`, "TTL", 400, CodeInvalid},
		{"twice", `{"count": 1, "count": 2}`, "count", 400, CodeInvalid},
		{"twice below", `{"selector": {"labels": {"a": "1", "a": "2"}}}`, "selector.labels.a", 400, CodeInvalid},
		{"long unknown field", `{"` + strings.Repeat("é", 300) + `": 1}`, strings.Repeat("é", 100), 400, CodeInvalid},
		{"count as a string", `{"count": "1"}`, "count", 400, CodeInvalid},
		{"half a lease", `{"count": 1.5}`, "count", 400, CodeInvalid},
		{"more than an int", `{"count": 1e99}`, "count", 400, CodeInvalid},
		{"target as a number", `{"target": 1}`, "target", 400, CodeInvalid},
		{"ttl as a number", `{"ttl": 90}`, "ttl", 400, CodeInvalid},
		{"ttl without a unit", `{"ttl": "90"}`, "ttl", 400, CodeInvalid},
		{"selector as a string", `{"selector": "web"}`, "selector", 400, CodeInvalid},
		{"labels as an array", `{"selector": {"labels": ["a"]}}`, "selector.labels", 400, CodeInvalid},
		{"label as a number", `{"selector": {"labels": {"a": 1}}}`, "selector.labels.a", 400, CodeInvalid},
		{"ttl over the most", `{"ttl": "2h"}`, "ttl", 400, CodeInvalid},
		{"ttl below zero", `{"ttl": "-1s"}`, "ttl", 400, CodeInvalid},
		{"count over the most", `{"count": 101}`, "count", 400, CodeInvalid},
		{"session and count", `{"count": 2, "session": "s"}`, "count", 400, CodeInvalid},
		{"target", `{"target": "http://"}`, "target", 400, CodeInvalid},
		{"none matches", `{"selector": {"fleet": "nothing"}}`, "", 503, Code(lease.NoneMatch)},
		{"none works", `{"selector": {"labels": {"n": "web-2"}}}`, "", 503, Code(lease.NoneWorking)},
		{"too large", `{"session": "` + strings.Repeat("s", MaxBody) + `"}`, "", 413, CodeTooLarge},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a.t = t
			got := a.call("POST", "/v1/leases", crawlerToken, tt.body)
			a.wantProblem(got, tt.status, tt.code, tt.field)
			if retry := got.Header.Get("Retry-After"); (retry != "") != (tt.status == 503) {
				t.Errorf("Retry-After = %q with a %d", retry, tt.status)
			}
		})
	}
	if s := a.pool.Stats(); s.Granted != 0 {
		t.Errorf("refused requests were granted %d leases", s.Granted)
	}
}

func TestMediaTypes(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct {
		name    string
		headers []string
		status  int
	}{
		{"JSON", []string{"Content-Type", "application/json"}, 201},
		{"JSON in UTF-8", []string{"Content-Type", "application/json; charset=UTF-8"}, 201},
		{"capitals", []string{"Content-Type", "Application/JSON"}, 201},
		{"identity", []string{"Content-Encoding", "identity"}, 201},
		{"none", []string{"Content-Type", ""}, 415},
		{"what curl -d sends", []string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{"another JSON", []string{"Content-Type", "application/merge-patch+json"}, 415},
		{"another charset", []string{"Content-Type", "application/json; charset=latin1"}, 415},
		{"broken", []string{"Content-Type", "application/json; ="}, 415},
		{"compressed", []string{"Content-Encoding", "gzip"}, 415},
	} {
		got := a.call("POST", "/v1/leases", crawlerToken, "{}", tt.headers...)
		if got.StatusCode != tt.status {
			t.Errorf("%s: got %d; want %d", tt.name, got.StatusCode, tt.status)
		}
		if tt.status == 415 {
			a.wantProblem(got, 415, CodeMediaType, "")
		}
	}
}

func TestDeniedSaysWhenToComeAgain(t *testing.T) {
	clock := fixed()
	a := newAPI(t, lease.NewPool(lease.Options{Cap: 1, RetryAfter: 1500 * time.Millisecond, Now: func() time.Time { return clock }}))
	wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"count": 3, "ttl": "90s"}`), 201)
	got := a.call("POST", "/v1/leases", crawlerToken, "")
	a.wantProblem(got, 429, Code(lease.AtCap), "")
	if retry := got.Header.Get("Retry-After"); retry != "90" {
		t.Errorf("Retry-After = %q; want 90, when the leases expire", retry)
	}
	clock = clock.Add(88*time.Second + 1)
	if retry := a.call("POST", "/v1/leases", crawlerToken, "").Header.Get("Retry-After"); retry != "2" {
		t.Errorf("Retry-After = %q; want 2, rounded up", retry)
	}
	a.pool.Replace(nil)
	got = a.call("POST", "/v1/leases", crawlerToken, "")
	a.wantProblem(got, 503, Code(lease.NoProxies), "")
	if retry := got.Header.Get("Retry-After"); retry != "2" {
		t.Errorf("Retry-After = %q; want 2, of Options.RetryAfter", retry)
	}
}

func TestDeleteLease(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	take := func() string {
		return wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, ""), 201).Leases[0].ID
	}
	id := take()
	for _, path := range []string{"/v1/leases/" + id, "/v1/leases/nothing", "/v1/leases/%2e%2e"} {
		a.wantProblem(a.call("DELETE", path, otherToken, ""), 404, CodeNoLease, "")
		a.wantProblem(a.call("GET", path, otherToken, ""), 404, CodeNoLease, "")
	}
	for range 2 {
		if got := a.call("DELETE", "/v1/leases/"+id, crawlerToken, ""); got.StatusCode != 204 || got.body != "" {
			t.Errorf("DELETE answers %d with %q; want 204 and no body", got.StatusCode, got.body)
		}
	}
	a.wantProblem(a.call("GET", "/v1/leases/"+id, crawlerToken, ""), 410, Code(lease.Released), "")
	a.wantProblem(a.call("DELETE", "/v1/leases/"+id, otherToken, ""), 404, CodeNoLease, "")
	if s := a.pool.Stats(); s.InFlight != 0 {
		t.Errorf("%d leases are left", s.InFlight)
	}

	id = take()
	if got := wantJSON[Lease](a, a.call("GET", "/v1/leases/"+id, adminToken, ""), 200); got.Holder != "crawler" {
		t.Errorf("an admin sees the holder %q", got.Holder)
	}
	if got := a.call("DELETE", "/v1/leases/"+id, adminToken, ""); got.StatusCode != 204 {
		t.Errorf("an admin releases another token's lease: %d", got.StatusCode)
	}
}

func TestLeaseOnAProxyThatGoes(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"selector": {"fleet": "api"}}`), 201)
	view := testProxies()
	view[0].Draining, view[0].Reason = true, provider.ReasonPreempted
	a.pool.Replace(view)
	wantJSON[Lease](a, a.call("GET", "/v1/leases/"+list.Leases[0].ID, crawlerToken, ""), 200)
	a.pool.Replace(view[1:])
	p := a.wantProblem(a.call("GET", "/v1/leases/"+list.Leases[0].ID, crawlerToken, ""), 410, Code(lease.Gone), "")
	if p.Reason != provider.ReasonPreempted {
		t.Errorf("the reason is %q", p.Reason)
	}
	if got := a.call("DELETE", "/v1/leases/"+list.Leases[0].ID, crawlerToken, ""); got.StatusCode != 204 {
		t.Errorf("releasing it answers %d; want 204", got.StatusCode)
	}
}

func TestExpiredLease(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pool := lease.NewPool(lease.Options{})
		server, err := New(Options{Pool: pool, Tokens: []Token{token(t, "crawler", crawlerToken)}})
		if err != nil {
			t.Fatal(err)
		}
		pool.Replace(testProxies())
		leases, err := pool.Lease(lease.Request{Holder: "crawler", TTL: time.Minute})
		if err != nil {
			t.Fatal(err)
		}
		// Without a connection, which the bubble does not have.
		call := func(method string) *httptest.ResponseRecorder {
			r := httptest.NewRequestWithContext(t.Context(), method, "/v1/leases/"+leases[0].ID, nil)
			r.Header.Set("Authorization", "Bearer "+crawlerToken)
			w := httptest.NewRecorder()
			server.Handler().ServeHTTP(w, r)
			return w
		}
		time.Sleep(time.Minute - 1)
		if got := call("GET"); got.Code != 200 {
			t.Errorf("just before its end: %d", got.Code)
		}
		time.Sleep(time.Nanosecond)
		if got := call("GET"); got.Code != 410 || !strings.Contains(got.Body.String(), `"code":"expired"`) {
			t.Errorf("at its end: %d %s", got.Code, got.Body)
		}
		if got := call("DELETE"); got.Code != 204 {
			t.Errorf("released after its end: %d", got.Code)
		}
		time.Sleep(lease.DefaultRemember + 1)
		for _, method := range []string{"GET", "DELETE"} {
			if got := call(method); got.Code != 404 {
				t.Errorf("%s ten minutes later: %d", method, got.Code)
			}
		}
	})
}

func TestTokenBoundToFleets(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for range 3 {
		list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", apiToken, `{"count": 5}`), 201)
		if len(list.Leases) != 1 || list.Leases[0].Fleet != "api" {
			t.Errorf("a token of fleet api got %+v", list.Leases)
		}
	}
	a.wantProblem(a.call("POST", "/v1/leases", apiToken, `{"selector": {"fleet": "web"}}`), 403, CodeForbidden, "selector.fleet")
	// Whether the fleet exists makes no difference.
	a.wantProblem(a.call("POST", "/v1/leases", apiToken, `{"selector": {"fleet": "nothing"}}`), 403, CodeForbidden, "selector.fleet")
	a.wantProblem(a.call("POST", "/v1/leases", apiToken, `{"selector": {"labels": {"fleet": "web"}}}`), 503, Code(lease.NoneMatch), "")
	list := wantJSON[ProxyList](a, a.call("GET", "/v1/proxies", apiToken, ""), 200)
	if len(list.Proxies) != 1 || list.Proxies[0].Fleet != "api" {
		t.Errorf("a token of fleet api sees %+v", list.Proxies)
	}
}
