package proxyapi

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// Tokens of the tests, long as tokens are.
const (
	crawlerToken = "crawler-token-0123456789abcdef"
	otherToken   = "other-token-0123456789abcdef"
	apiToken     = "api-fleet-token-0123456789abcdef"
	adminToken   = "admin-token-0123456789abcdef"
)

// proxyPassword has what a URL needs to have encoded.
const proxyPassword = "p@ss/w:rd?#%"

// api is a Server on loopback with its pool.
type api struct {
	t      *testing.T
	pool   *lease.Pool
	server *Server
	url    string
	log    *logBuffer
}

// logBuffer collects what is logged.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// newAPI serves three proxies of fleet web and one of fleet api. The change
// functions adapt the options.
func newAPI(t *testing.T, pool *lease.Pool, changes ...func(*Options)) *api {
	t.Helper()
	a := &api{t: t, pool: pool, log: &logBuffer{}}
	pool.Replace(testProxies())
	opts := Options{
		Pool: pool,
		Tokens: []Token{
			token(t, "crawler", crawlerToken), token(t, "other", otherToken),
			token(t, "api-only", apiToken, "api"), token(t, "boss", adminToken),
		},
		Logger: slog.New(slog.NewTextHandler(a.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	opts.Tokens[3].Scope = ScopeAdmin
	for _, change := range changes {
		change(&opts)
	}
	server, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	a.server = server
	ts := httptest.NewUnstartedServer(nil)
	ts.Config = server.HTTPServer()
	ts.Start()
	t.Cleanup(ts.Close)
	a.url = ts.URL
	return a
}

func token(t *testing.T, name, secret string, fleets ...string) Token {
	t.Helper()
	hash, err := HashToken(provider.Secret(secret))
	if err != nil {
		t.Fatal(err)
	}
	return Token{Name: name, Hash: hash, Fleets: fleets}
}

func testProxies() []lease.Proxy {
	since := time.Date(2026, 1, 2, 15, 0, 0, 0, time.UTC)
	credentials := provider.Credentials{Username: "crawler", Password: proxyPassword}
	proxy := func(name, fleet, location string, state provider.State) lease.Proxy {
		return lease.Proxy{
			ID: "id-" + name, Name: name, Fleet: fleet, Provider: "local", Location: location, Scheme: "http",
			Endpoint: "192.0.2.1:3128", Egress: netip.MustParseAddr("203.0.113.7"), Labels: map[string]string{"fleet": fleet, "n": name},
			Credentials: credentials, State: state, Working: state == provider.Running, Since: since,
		}
	}
	stopped := proxy("web-2", "web", "host-2", provider.Stopped)
	stopped.Reason, stopped.Message = "GuestCrash", "the guest ended"
	return []lease.Proxy{
		proxy("api-0", "api", "host-1", provider.Running), proxy("web-0", "web", "host-1", provider.Running),
		proxy("web-1", "web", "host-2", provider.Running), stopped,
	}
}

// answer is an answer with its body read.
type answer struct {
	*http.Response
	body string
}

// call sends a request with a JSON body, unless it is empty, and checks what
// holds for every answer. The headers are name and value by turns.
func (a *api) call(method, path, secret, body string, headers ...string) answer {
	a.t.Helper()
	r, err := http.NewRequestWithContext(a.t.Context(), method, a.url+path, strings.NewReader(body))
	if err != nil {
		a.t.Fatal(err)
	}
	if secret != "" {
		r.Header.Set("Authorization", "Bearer "+secret)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for pair := range slices.Chunk(headers, 2) {
		r.Header.Set(pair[0], pair[1])
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(r)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		a.t.Fatalf("%s %s: %v", method, path, err)
	}
	got := answer{res, string(text)}
	a.check(method, path, got)
	return got
}

// check holds every answer to what docs/api.md says of all of them.
func (a *api) check(method, path string, got answer) {
	a.t.Helper()
	if cache := got.Header.Get("Cache-Control"); cache != "no-store" {
		a.t.Errorf("%s %s: Cache-Control is %q", method, path, cache)
	}
	if got.Header.Get("X-Request-Id") == "" {
		a.t.Errorf("%s %s: no X-Request-Id", method, path)
	}
	if got.StatusCode >= 400 && method != http.MethodHead {
		a.problem(got)
	}
}

// problem decodes a problem, strictly, and checks that it agrees with itself
// and with the answer.
func (a *api) problem(got answer) Problem {
	a.t.Helper()
	var p Problem
	d := json.NewDecoder(strings.NewReader(got.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&p); err != nil {
		a.t.Fatalf("the body of a %d is no problem: %v: %s", got.StatusCode, err, got.body)
	}
	mediaType, _, err := mime.ParseMediaType(got.Header.Get("Content-Type"))
	if err != nil || mediaType != "application/problem+json" {
		a.t.Errorf("the Content-Type of a %d is %q", got.StatusCode, got.Header.Get("Content-Type"))
	}
	if p.Type != "about:blank" || p.Status != got.StatusCode || p.Title != http.StatusText(got.StatusCode) ||
		p.Code == "" || p.Detail == "" || p.RequestID != got.Header.Get("X-Request-Id") {
		a.t.Errorf("the problem of a %d does not agree with it: %+v", got.StatusCode, p)
	}
	if p.Field != "" && !strings.HasPrefix(p.Detail, p.Field) {
		a.t.Errorf("the detail %q does not name the field %s", p.Detail, p.Field)
	}
	return p
}

// wantProblem fails unless the answer is that problem.
func (a *api) wantProblem(got answer, status int, code Code, field string) Problem {
	a.t.Helper()
	p := a.problem(got)
	if got.StatusCode != status || p.Code != code || p.Field != field {
		a.t.Errorf("got %d %q for field %q (%s); want %d %q for %q", got.StatusCode, p.Code, p.Field, p.Detail, status, code, field)
	}
	return p
}

// wantJSON decodes a successful answer, strictly.
func wantJSON[T any](a *api, got answer, status int) T {
	a.t.Helper()
	var v T
	if got.StatusCode != status || got.Header.Get("Content-Type") != "application/json" {
		a.t.Fatalf("got %d %s: %s; want %d and JSON", got.StatusCode, got.Header.Get("Content-Type"), got.body, status)
	}
	d := json.NewDecoder(strings.NewReader(got.body))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		a.t.Fatalf("%v: %s", err, got.body)
	}
	return v
}
