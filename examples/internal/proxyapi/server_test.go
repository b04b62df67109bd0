package proxyapi

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/prometheus/client_golang/prometheus"
)

func TestNoRouteAndMethod(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct {
		method, path string
		code         Code
		allow        string
	}{
		{"GET", "/", CodeNoRoute, ""},
		{"GET", "/v1", CodeNoRoute, ""},
		{"GET", "/v2/proxies", CodeNoRoute, ""},
		{"GET", "/v1/proxies/", CodeNoRoute, ""},
		{"GET", "/v1/proxies/web-0", CodeNoRoute, ""},
		{"POST", "/v1/leases/x/unknown", CodeNoRoute, ""},
		{"GET", "/debug/pprof/", CodeNoRoute, ""},
		{"POST", "/v1/proxies", CodeMethod, "GET, HEAD"},
		{"PUT", "/v1/leases", CodeMethod, "POST"},
		{"GET", "/v1/leases", CodeMethod, "POST"},
		{"POST", "/v1/leases/x", CodeMethod, "DELETE, GET, HEAD"},
		{"OPTIONS", "/v1/leases", CodeMethod, "POST"},
		{"DELETE", "/healthz", CodeMethod, "GET, HEAD"},
		{"BREW", "/metrics", CodeMethod, "GET, HEAD"},
	} {
		got := a.call(tt.method, tt.path, "", "")
		status := map[Code]int{CodeNoRoute: 404, CodeMethod: 405}[tt.code]
		a.wantProblem(got, status, tt.code, "")
		if allow := got.Header.Get("Allow"); allow != tt.allow {
			t.Errorf("%s %s: Allow = %q; want %q", tt.method, tt.path, allow, tt.allow)
		}
	}
}

func TestAuthentication(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct {
		name, header string
		status       int
	}{
		{"right", "Bearer " + crawlerToken, 200},
		{"the scheme in another case", "bearer " + crawlerToken, 200},
		{"more spaces", "Bearer   " + crawlerToken, 200},
		{"none", "", 401},
		{"empty", "Bearer ", 401},
		{"the scheme alone", "Bearer", 401},
		{"no scheme", crawlerToken, 401},
		{"another scheme", "Basic " + crawlerToken, 401},
		{"cut off", "Bearer " + crawlerToken[:len(crawlerToken)-1], 401},
		{"longer", "Bearer " + crawlerToken + "0", 401},
		{"another case", "Bearer " + strings.ToUpper(crawlerToken), 401},
		{"two", "Bearer " + crawlerToken + " " + otherToken, 401},
	} {
		var headers []string
		if tt.header != "" {
			headers = []string{"Authorization", tt.header}
		}
		got := a.call("GET", "/v1/proxies", "", "", headers...)
		if got.StatusCode != tt.status {
			t.Errorf("%s: got %d; want %d", tt.name, got.StatusCode, tt.status)
			continue
		}
		challenge := got.Header.Get("WWW-Authenticate")
		if tt.status == 401 {
			a.wantProblem(got, 401, CodeUnauthenticated, "")
		}
		if (challenge == `Bearer realm="proxies"`) != (tt.status == 401) {
			t.Errorf("%s: WWW-Authenticate = %q", tt.name, challenge)
		}
	}
	// The hash is what is stored, and does not open anything.
	hash, err := token(t, "crawler", crawlerToken).Hash.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{string(hash), strings.TrimPrefix(string(hash), hashPrefix)} {
		a.wantProblem(a.call("GET", "/v1/proxies", secret, ""), 401, CodeUnauthenticated, "")
	}
}

// Every route that asks for a token asks before it does anything.
func TestRoutesAskForTheToken(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, route := range a.server.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		path = strings.ReplaceAll(path, "{id}", "x")
		got := a.call(method, path, "", "{")
		if want := route.Access == WithToken; (got.StatusCode == 401) != want {
			t.Errorf("%s without a token answers %d; access is %s", route.Pattern, got.StatusCode, route.Access)
		}
	}
}

func TestHeadAnswersWithoutABody(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for path, status := range map[string]int{"/healthz": 200, "/v1/proxies": 401, "/nothing": 404} {
		if got := a.call("HEAD", path, "", ""); got.StatusCode != status || got.body != "" {
			t.Errorf("HEAD %s answers %d with %q; want %d", path, got.StatusCode, got.body, status)
		}
	}
}

func TestUncleanPathsAreNotServedWithoutAToken(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, path := range []string{"//v1/proxies", "/v1/../v1/proxies", "/v1/./proxies", "/healthz/../v1/proxies"} {
		got := a.call("GET", path, "", "")
		if got.StatusCode == 200 || strings.Contains(got.body, "web-0") {
			t.Errorf("GET %s without a token answers %d: %s", path, got.StatusCode, got.body)
		}
	}
}

func TestRequestIDs(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	if got := a.call("GET", "/nothing", "", "", "X-Request-Id", "job-17_a.B"); got.Header.Get("X-Request-Id") != "job-17_a.B" {
		t.Errorf("the client's ID came back as %q", got.Header.Get("X-Request-Id"))
	}
	if !strings.Contains(a.log.String(), "request=job-17_a.B") {
		t.Errorf("the log does not have the ID: %s", a.log)
	}
	seen := make(map[string]bool)
	for _, id := range []string{"", "a b", "a\"b", "é", strings.Repeat("a", maxRequestID+1)} {
		got := a.call("GET", "/healthz", "", "", "X-Request-Id", id).Header.Get("X-Request-Id")
		if got == id || len(got) < 20 || seen[got] {
			t.Errorf("for the ID %q the server made %q", id, got)
		}
		seen[got] = true
	}
}

func TestPanics(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}), func(o *Options) {
		o.Providers = func() []ProviderStatus { panic("the secret reason") }
	})
	got := a.call("GET", "/v1/providers", crawlerToken, "")
	p := a.wantProblem(got, 500, CodeInternal, "")
	if strings.Contains(got.body, "secret reason") {
		t.Errorf("the answer tells what happened: %s", got.body)
	}
	if log := a.log.String(); !strings.Contains(log, "the secret reason") || !strings.Contains(log, p.RequestID) || !strings.Contains(log, "server_test.go") {
		t.Errorf("the log does not tell what happened, where and in which request: %s", log)
	}
	if got := a.call("GET", "/healthz", "", ""); got.StatusCode != 200 {
		t.Errorf("after a panic, /healthz answers %d", got.StatusCode)
	}
}

// Half an answer must end as a broken connection and not as a whole answer.
func TestPanicInTheMiddleOfAnAnswer(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, fault := range []any{"fault", http.ErrAbortHandler} {
		h := a.server.frame(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, strings.Repeat("x", 1<<16))
			panic(fault)
		}))
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		server := &http.Server{Handler: h, ErrorLog: a.server.HTTPServer().ErrorLog}
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		res, err := http.Get("http://" + l.Addr().String())
		if err == nil {
			_, err = io.ReadAll(res.Body)
			_ = res.Body.Close()
		}
		if err == nil {
			t.Errorf("a panic with %v in the middle of an answer looks like its end", fault)
		}
		if err := server.Close(); err != nil {
			t.Error(err)
		}
		if err := <-done; !errors.Is(err, http.ErrServerClosed) {
			t.Error(err)
		}
	}
}

func TestUnclassifiedErrorsShowNothing(t *testing.T) {
	p := problemOf(fmt.Errorf("reading /etc/secret: %w", io.ErrUnexpectedEOF))
	if p.Status != 500 || p.Code != CodeInternal || strings.Contains(p.Detail, "secret") {
		t.Errorf("an unclassified error is %+v", p)
	}
	if got := (Problem{Code: CodeNoLease, Detail: "d"}).Error(); got != "no_lease: d" {
		t.Errorf("Error = %q", got)
	}
}

func TestHTTPServerLimits(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	s := a.server.HTTPServer()
	if s.ReadHeaderTimeout <= 0 || s.ReadTimeout < s.ReadHeaderTimeout || s.WriteTimeout <= 0 || s.IdleTimeout <= 0 {
		t.Errorf("a slow client is not bounded: %+v", s)
	}
	conn, err := net.Dial("tcp", strings.TrimPrefix(a.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	// net/http allows some more than MaxHeaderBytes.
	if _, err := fmt.Fprintf(conn, "GET /healthz HTTP/1.1\r\nHost: a\r\nX-Long: %s\r\n\r\n", strings.Repeat("x", 2*maxHeader)); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge {
		t.Errorf("a header of %d bytes is answered with %d", 2*maxHeader, res.StatusCode)
	}
}

func TestNewRefuses(t *testing.T) {
	pool := lease.NewPool(lease.Options{})
	registry := prometheus.NewRegistry()
	if _, err := New(Options{Pool: pool, Registry: registry}); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name string
		opts Options
		want string
	}{
		{"no pool", Options{}, "Options.Pool"},
		{"a registry twice", Options{Pool: pool, Registry: registry}, "Options.Registry"},
		{"a token without a name", Options{Pool: pool, Tokens: []Token{{Hash: TokenHash{1}}}}, "tokens[0].name"},
	} {
		if _, err := New(tt.opts); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v; want one that names %s", tt.name, err, tt.want)
		}
	}
}

// Nothing but a lease shows a proxy's password, and nothing at all a token.
func TestNoSecretsAnywhere(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{Cap: 1}))
	var bodies []string
	for _, route := range a.server.Routes() {
		method, path, _ := strings.Cut(route.Pattern, " ")
		if method == "POST" {
			continue
		}
		for _, secret := range []string{crawlerToken, crawlerToken[1:]} {
			bodies = append(bodies, a.call(method, strings.ReplaceAll(path, "{id}", "x"), secret, "").body)
		}
	}
	lease := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"target": "https://u:hunter2@example.com/", "count": 9}`), 201)
	bodies = append(bodies,
		a.call("POST", "/v1/leases", crawlerToken, "").body,
		a.call("POST", "/v1/leases", crawlerToken, `{"target": "https://u:hunter2@/"}`).body,
		a.call("GET", "/v1/proxies", crawlerToken, "").body,
		a.call("GET", "/metrics", "", "").body,
		a.call("DELETE", "/v1/leases/"+lease.Leases[0].ID, crawlerToken, "").body,
		a.call("GET", "/v1/leases/"+lease.Leases[0].ID, crawlerToken, "").body,
		a.log.String(),
	)
	if len(a.log.String()) == 0 {
		t.Fatal("nothing was logged, so that the test proves little")
	}
	for _, secret := range []string{proxyPassword, "p%40ss", "p@ss", "hunter2", crawlerToken, crawlerToken[1:]} {
		for _, body := range bodies {
			if strings.Contains(body, secret) {
				t.Errorf("%q is shown in %s", secret, body)
			}
		}
	}
}
