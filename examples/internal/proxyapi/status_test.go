package proxyapi

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/google/go-cmp/cmp"
)

func TestListProviders(t *testing.T) {
	at := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	counts := map[provider.State]int{provider.Running: 3, provider.Unknown: 1, "Hibernating": 2}
	statuses := []ProviderStatus{
		{Name: "kvm-home", Kind: "kvm", Health: Unhealthy, Since: at, Instances: counts,
			LastError: &ProviderError{Kind: provider.Unavailable, Message: "host-2: no route to host", At: at}},
		{Name: "local", Kind: "local"},
	}
	a := newAPI(t, lease.NewPool(lease.Options{}), func(o *Options) {
		o.Providers = func() []ProviderStatus { return statuses }
	})
	const want = `{"providers":[` +
		`{"name":"kvm-home","kind":"kvm","health":"unhealthy","since":"2026-01-02T15:00:00Z",` +
		`"lastError":{"kind":"Unavailable","message":"host-2: no route to host","at":"2026-01-02T15:00:00Z"},` +
		`"instances":{"Running":3,"Unknown":3}},` +
		`{"name":"local","kind":"local","health":"unknown","instances":{}}]}`
	got := a.call("GET", "/v1/providers", crawlerToken, "")
	if diff := cmp.Diff(want, strings.TrimSpace(got.body)); got.StatusCode != 200 || diff != "" {
		t.Errorf("got %d (-want +got):\n%s", got.StatusCode, diff)
	}
	if len(counts) != 3 || statuses[1].Health != "" {
		t.Errorf("the program's own status was changed: %+v", statuses)
	}
	a = newAPI(t, lease.NewPool(lease.Options{}))
	if got := a.call("GET", "/v1/providers", crawlerToken, ""); got.body != "{\"providers\":[]}\n" {
		t.Errorf("without providers: %s", got.body)
	}
}

func TestHealthAndReadiness(t *testing.T) {
	unready := errors.New("the first round over the fleets is not done")
	a := newAPI(t, lease.NewPool(lease.Options{}), func(o *Options) { o.Ready = func() error { return unready } })
	if got := wantJSON[Status](a, a.call("GET", "/healthz", "", ""), 200); got.Status != "ok" {
		t.Errorf("healthz: %+v", got)
	}
	p := a.wantProblem(a.call("GET", "/readyz", "", ""), 503, CodeNotReady, "")
	if p.Detail != unready.Error() {
		t.Errorf("readyz does not say why: %q", p.Detail)
	}
	unready = nil
	if got := wantJSON[Status](a, a.call("GET", "/readyz", "", ""), 200); got.Status != "ok" {
		t.Errorf("readyz: %+v", got)
	}
	a = newAPI(t, lease.NewPool(lease.Options{}))
	wantJSON[Status](a, a.call("GET", "/readyz", "", ""), 200)
}

func TestWhoami(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	got := a.call("GET", "/v1/whoami", "", "", "X-Forwarded-For", "203.0.113.9", "X-Real-Ip", "203.0.113.9", "Forwarded", "for=203.0.113.9")
	if got.StatusCode != 200 || got.body != "{\"address\":\"127.0.0.1\"}\n" {
		t.Errorf("whoami answers %d %s", got.StatusCode, got.body)
	}
	for remote, want := range map[string]string{
		"[2001:db8::1]:5000":        `{"address":"2001:db8::1"}`,
		"[::ffff:203.0.113.7]:5000": `{"address":"203.0.113.7"}`,
		"[fe80::1%eth0]:5000":       `{"address":"fe80::1"}`,
	} {
		r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/whoami", nil)
		r.RemoteAddr = remote
		w := httptest.NewRecorder()
		a.server.Handler().ServeHTTP(w, r)
		if strings.TrimSpace(w.Body.String()) != want {
			t.Errorf("from %s: %s; want %s", remote, w.Body, want)
		}
	}
	// A connection without an address, such as a Unix socket's.
	r := httptest.NewRequestWithContext(t.Context(), "GET", "/v1/whoami", nil)
	r.RemoteAddr = "@"
	w := httptest.NewRecorder()
	a.server.Handler().ServeHTTP(w, r)
	if w.Code != http.StatusInternalServerError {
		t.Errorf("without an address: %d", w.Code)
	}
}
