package proxycheck

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/guest"
)

var credentials = provider.Credentials{Username: "crawler", Password: "correct-horse-battery"}

// passwordHash is that of the password by bcrypt at its least cost: under -race
// one of the usual cost takes a second.
const passwordHash = "$2a$04$H3QTKUWzQcWv6PlA/FB0pOqIp2JbULdsnhTQp2X/WgwjfInNRNzr."

// answer is a target's handler that answers with a text.
func answer(code int, text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, text)
	}
}

// realProxy serves the reference guest for the credentials, with access to
// loopback on the ports given.
func realProxy(t *testing.T, ports ...uint16) string {
	t.Helper()
	doc := provider.Guest{
		Version: provider.GuestVersion, Port: 1,
		Users: []provider.GuestUser{{Name: credentials.Username, PasswordHash: passwordHash}},
	}
	if len(ports) > 0 {
		doc.Destinations.Allow = []provider.Destination{{Prefix: netip.MustParsePrefix("127.0.0.1/32"), Ports: ports}}
	}
	server, err := guest.New(doc, guest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, server.Serve)
}

// serve runs a server on a loopback port until the test ends.
func serve(t *testing.T, run func(context.Context, net.Listener) error) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = run(ctx, l) }()
	t.Cleanup(func() { cancel(); _ = l.Close(); <-done })
	return l.Addr().String()
}

// script is a proxy that answers each connection with the next text, whatever
// is asked.
func script(t *testing.T, answers ...string) string {
	return serve(t, func(_ context.Context, l net.Listener) error {
		for i := 0; ; i++ {
			conn, err := l.Accept()
			if err != nil {
				return err
			}
			_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
			_, _ = conn.Read(make([]byte, 4096))
			_, _ = io.WriteString(conn, answers[min(i, len(answers)-1)])
			_ = conn.Close()
		}
	})
}

func port(t *testing.T, u *url.URL) uint16 {
	t.Helper()
	addr, err := netip.ParseAddrPort(u.Host)
	if err != nil {
		t.Fatal(err)
	}
	return addr.Port()
}

func parse(t *testing.T, s string) *url.URL {
	t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestCheckOfARealProxy(t *testing.T) {
	wrong := provider.Credentials{Username: "crawler", Password: "wrong"}
	tests := []struct {
		name    string
		handler http.Handler
		creds   provider.Credentials
		closed  bool // the proxy does not let anybody reach the target
		want    string
		egress  string
	}{
		{"JSON", answer(200, `{"address":"192.0.2.7","more":1}`), credentials, false, "", "192.0.2.7"},
		{"text", answer(200, " 2001:db8::1\n"), credentials, false, "", "2001:db8::1"},
		{"mapped", answer(200, "::ffff:192.0.2.7"), credentials, false, "", "192.0.2.7"},
		{"prose", answer(200, "It works!"), credentials, false, "", ""},
		{"empty", answer(204, ""), credentials, false, "", ""},
		{"broken JSON", answer(200, `{"address":`), credentials, false, "", ""},
		{"redirect", http.RedirectHandler("/elsewhere", http.StatusFound), credentials, false, "", ""},
		{"long", answer(200, strings.Repeat("x", 3*maxAnswer)), credentials, false, "", ""},
		{"server error", answer(500, ""), credentials, false, "GET: was answered with 500", ""},
		{"not found", answer(404, ""), credentials, false, "GET: was answered with 404", ""},
		{"wrong password", answer(200, ""), wrong, false, "GET: the proxy refused its credentials (407)", ""},
		{"target refused", answer(200, ""), credentials, true, "GET: was answered with 403", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			target := httptest.NewServer(test.handler)
			defer target.Close()
			u := parse(t, target.URL+"/whoami")
			ports := []uint16{port(t, u)}
			if test.closed {
				ports = nil
			}
			c := &Checker{URL: u}
			result, err := c.Check(t.Context(), Proxy{Endpoint: realProxy(t, ports...), Credentials: test.creds})
			if got := text(err); got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
			if got := result.Egress; got.IsValid() != (test.egress != "") || got.IsValid() && got.String() != test.egress {
				t.Errorf("egress %v, want %s", got, test.egress)
			}
			if err == nil && result.Took <= 0 {
				t.Error("it took no time")
			}
		})
	}
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// A proxy that reaches nothing still shows that it is up and knows its user.
func TestCheckWithoutTarget(t *testing.T) {
	endpoint := realProxy(t)
	for _, test := range []struct {
		creds provider.Credentials
		want  string
	}{
		{credentials, ""},
		{provider.Credentials{Username: "crawler", Password: "wrong"}, "GET: the proxy refused its credentials (407)"},
	} {
		_, err := new(Checker).Check(t.Context(), Proxy{Endpoint: endpoint, Credentials: test.creds})
		if got := text(err); got != test.want {
			t.Errorf("error %q, want %q", got, test.want)
		}
	}
}

// With https the target's certificate is verified inside the tunnel.
func TestCheckVerifiesTheTarget(t *testing.T) {
	target := httptest.NewTLSServer(answer(200, `{"address":"192.0.2.7"}`))
	defer target.Close()
	u := parse(t, target.URL)
	endpoint := realProxy(t, port(t, u))
	roots := x509.NewCertPool()
	roots.AddCert(target.Certificate())

	c := &Checker{URL: u, TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}
	result, err := c.Check(t.Context(), Proxy{Endpoint: endpoint, Credentials: credentials})
	if err != nil || result.Egress.String() != "192.0.2.7" {
		t.Errorf("%v, %v", result.Egress, err)
	}
	c = &Checker{URL: u}
	_, err = c.Check(t.Context(), Proxy{Endpoint: endpoint, Credentials: credentials})
	if want := "CONNECT: TLS with the target: the certificate is not valid for this name, or its issuer is not trusted"; text(err) != want {
		t.Errorf("error %q, want %q", text(err), want)
	}
}

// A proxy that is reached with https.
func TestCheckOfASecureProxy(t *testing.T) {
	refuse := httptest.NewTLSServer(answer(http.StatusProxyAuthRequired, ""))
	defer refuse.Close()
	roots := x509.NewCertPool()
	roots.AddCert(refuse.Certificate())
	p := Proxy{Scheme: "https", Endpoint: parse(t, refuse.URL).Host, Credentials: credentials}
	_, err := (&Checker{TLS: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}).Check(t.Context(), p)
	if want := "GET: the proxy refused its credentials (407)"; text(err) != want {
		t.Errorf("error %q, want %q", text(err), want)
	}
	_, err = new(Checker).Check(t.Context(), p)
	if want := "GET without credentials: TLS with the proxy: the certificate is not valid for this name, or its issuer is not trusted"; text(err) != want {
		t.Errorf("error %q, want %q", text(err), want)
	}
}

func TestCheckOfABadProxy(t *testing.T) {
	const (
		refused = "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n"
		ok      = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"
	)
	tests := []struct {
		name    string
		answers []string
		want    string
	}{
		{"open to everybody", []string{ok}, "GET without credentials: was answered with 200 and not refused with 407; the proxy may be open to everybody"},
		{"open tunnels", []string{refused, ok, ok}, "CONNECT without credentials: was answered with 200 and not refused with 407; the proxy may be open to everybody"},
		{"no tunnels", []string{refused, ok, refused, "HTTP/1.1 405 No\r\n\r\n"}, "CONNECT: was answered with 405"},
		{"a tunnel to nowhere", []string{refused, ok, refused, "HTTP/1.1 200 OK\r\n\r\n"}, "CONNECT: reading the answer: the connection was closed"},
		{"silence", []string{""}, "GET without credentials: reading the answer: the connection was closed"},
		{"something else", []string{"SSH-2.0-OpenSSH_9.9\r\n"}, "GET without credentials: reading the answer: it is not the protocol that was expected"},
		{"interim answers", []string{"HTTP/1.1 102 Processing\r\n\r\n" + refused, ok, refused, "HTTP/1.1 103 x\r\n\r\nHTTP/1.1 502 x\r\n\r\n"}, "CONNECT: was answered with 502"},
		{"interim answers without end", []string{strings.Repeat("HTTP/1.1 102 Processing\r\n\r\n", 100)}, "GET without credentials: nothing but interim answers came"},
		{"a header without end", []string{"HTTP/1.1 407 x\r\n" + strings.Repeat("A: b\r\n", maxAnswer)}, "GET without credentials: reading the answer: the connection was closed"},
		{"half a body", []string{refused, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"}, "GET: reading the answer's body: the connection was closed"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := &Checker{URL: parse(t, "http://127.0.0.1:1/")}
			_, err := c.Check(t.Context(), Proxy{Endpoint: script(t, test.answers...), Credentials: credentials})
			if got := text(err); got != test.want {
				t.Errorf("error %q, want %q", got, test.want)
			}
		})
	}
}

// Whatever a proxy says back, none of it reaches the error.
func TestErrorsTellNoSecret(t *testing.T) {
	echo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		conn, _, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprintf(conn, "HTTP/1.1 %s %s\r\n\r\n", r.Header.Get("Proxy-Authorization"), string(credentials.Password))
	}))
	defer echo.Close()
	_, err := new(Checker).Check(t.Context(), Proxy{Endpoint: parse(t, echo.URL).Host, Credentials: credentials})
	if err == nil {
		t.Fatal("the check passed")
	}
	for _, secret := range []string{string(credentials.Password), "Basic", "Y3Jhd2xlcj"} {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q has %q", err, secret)
		}
	}
}

// A proxy that accepts and says nothing, and one that nobody listens for.
func TestCheckEndsInTime(t *testing.T) {
	silent := serve(t, func(ctx context.Context, l net.Listener) error {
		conn, err := l.Accept()
		if err != nil {
			return err
		}
		<-ctx.Done()
		return conn.Close()
	})
	c := &Checker{Timeout: 50 * time.Millisecond}
	_, err := c.Check(t.Context(), Proxy{Endpoint: silent, Credentials: credentials})
	if want := "GET without credentials: reading the answer: context deadline exceeded; it may take 50ms"; text(err) != want {
		t.Errorf("error %q, want %q", text(err), want)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := new(Checker).Check(ctx, Proxy{Endpoint: silent, Credentials: credentials}); err == nil {
		t.Error("a check under a context that has ended passed")
	}
	if _, err := new(Checker).Check(t.Context(), Proxy{}); text(err) != "the proxy has no endpoint yet" {
		t.Errorf("without an endpoint: %v", err)
	}
	_, err = new(Checker).Check(t.Context(), Proxy{Endpoint: closedPort(t)})
	if err == nil || !strings.Contains(err.Error(), "connecting to the proxy") {
		t.Errorf("where nobody listens: %v", err)
	}
}

func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// A proxy for known networks asks for no credentials, and none are sent.
func TestCheckWithoutCredentials(t *testing.T) {
	target := httptest.NewServer(answer(200, "192.0.2.7"))
	defer target.Close()
	u := parse(t, target.URL)
	doc := provider.Guest{Version: provider.GuestVersion, Port: 1, AllowFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	doc.Destinations.Allow = []provider.Destination{{Prefix: netip.MustParsePrefix("127.0.0.1/32"), Ports: []uint16{port(t, u)}}}
	server, err := guest.New(doc, guest.Options{})
	if err != nil {
		t.Fatal(err)
	}
	result, err := (&Checker{URL: u}).Check(t.Context(), Proxy{Endpoint: serve(t, server.Serve)})
	if err != nil || result.Egress.String() != "192.0.2.7" {
		t.Errorf("%v, %v", result.Egress, err)
	}
}

func TestHostport(t *testing.T) {
	for in, want := range map[string]string{
		"http://a/": "a:80", "https://a/": "a:443", "http://a:8080/": "a:8080", "http://[::1]/": "[::1]:80", "https://[::1]:8/": "[::1]:8",
	} {
		if got := hostport(parse(t, in)); got != want {
			t.Errorf("hostport(%s) = %s, want %s", in, got, want)
		}
	}
}
