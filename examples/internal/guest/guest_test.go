package guest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

func TestHealth(t *testing.T) {
	doc := document(t)
	doc.AllowFrom = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")} // not from here
	w := serve(t, doc, Limits{})
	for _, test := range []struct{ request, status, body string }{
		{"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "200", "ok\n"},
		{"GET /healthz?x HTTP/1.0\r\n\r\n", "200", "ok\n"},
		{"HEAD /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "200", ""},
		{"POST /healthz HTTP/1.1\r\nHost: x\r\n\r\n", "403", "this proxy does not serve your address\n"},
		{"GET /healthz/ HTTP/1.1\r\nHost: x\r\n\r\n", "403", "this proxy does not serve your address\n"},
		{"GET http://host.example/healthz HTTP/1.1\r\nHost: x\r\n" + credentials() + "\r\n", "403", "this proxy does not serve your address\n"},
		{"GET http:///healthz HTTP/1.1\r\nHost: x\r\n\r\n", "403", "this proxy does not serve your address\n"},
		{connectLine + credentials() + "\r\n", "403", "this proxy does not serve your address\n"},
	} {
		// The connection of who is not a client is closed behind the answer.
		head, body, _ := strings.Cut(w.raw(t, test.request), "\r\n\r\n")
		if !strings.Contains(head, " "+test.status+" ") || body != test.body {
			t.Errorf("%q: %q %q", test.request, head, body)
		}
	}
}

// A guest that is full says so, and is healthy all the same.
func TestFull(t *testing.T) {
	w := serve(t, document(t), Limits{Connections: 1})
	w.talker(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	first, _ := w.tunnelTo(t, "")
	answer := w.raw(t, connectLine+credentials()+"\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 503 ") || !strings.Contains(answer, "\r\nRetry-After: 1\r\n") {
		t.Error(answer)
	}
	if answer := w.raw(t, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"); !strings.HasPrefix(answer, "HTTP/1.1 200 ") {
		t.Error(answer)
	}
	_ = first.CloseWrite()
	if _, err := io.Copy(io.Discard, first); err != nil { // until the tunnel is over
		t.Error(err)
	}
	_ = first.Close()
	if err := w.end(); err != nil {
		t.Error(err)
	}
}

func TestHeaderLimits(t *testing.T) {
	w := serve(t, document(t), Limits{HeaderBytes: 8 << 10})
	w.target(t, "host.example", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for size, status := range map[int]string{4 << 10: "200", 16 << 10: "431"} {
		answer := w.raw(t, "GET http://host.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+credentials()+
			"X: "+strings.Repeat("x", size)+"\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 "+status) {
			t.Errorf("%d bytes: %.40q; want %s", size, answer, status)
		}
	}
	answer := w.raw(t, "GET http://host.example/"+strings.Repeat("x", 16<<10)+" HTTP/1.1\r\nHost: x\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 431") {
		t.Errorf("a long line: %.40q", answer)
	}
}

// Neither passwords nor hashes, nor what a URL carries, reach the log or an
// answer.
func TestNoSecretLeaks(t *testing.T) {
	doc := document(t)
	w := serve(t, doc, Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	header := credentials()
	encoded := strings.TrimSpace(strings.TrimPrefix(header, "Proxy-Authorization: Basic "))
	var answers strings.Builder
	for _, request := range []string{
		"GET http://host.example/path-secret?query-secret HTTP/1.1\r\n" + header,
		"GET http://127.0.0.1/path-secret?query-secret HTTP/1.1\r\n" + header,
		"GET http://unknown.example/path-secret HTTP/1.1\r\n" + header,
		"GET http://u:" + testPassword + "@host.example/path-secret HTTP/1.1\r\n" + header,
		"GET http://host.example/path-secret HTTP/1.1\r\nProxy-Authorization: Basic " + encoded + "x\r\n",
		"GET http://host.example/path-secret HTTP/1.1\r\nProxy-Authorization: " + encoded + "\r\n",
		"GET http://host.example/path-secret HTTP/1.1\r\nAuthorization: Basic " + encoded + "\r\n",
		"CONNECT u:" + testPassword + "@host.example:443 HTTP/1.1\r\n" + header,
		"CONNECT 10.0.0.1:443 HTTP/1.1\r\n" + header,
		"CONNECT 10.0.0.1:443 HTTP/1.1\r\nProxy-Authorization: Basic bWFsbG9yeTpzM2NyZXQtUGE1NXdvcmQ=\r\n",
	} {
		answers.WriteString(w.raw(t, request+"Host: x\r\nConnection: close\r\n\r\n"))
	}
	if err := w.end(); err != nil {
		t.Error(err)
	}
	shown := w.logs.String() + answers.String()
	for _, secret := range []string{testPassword, encoded, doc.Users[0].PasswordHash, "bWFsbG9yeTpzM2NyZXQtUGE1NXdvcmQ", "path-secret", "query-secret"} {
		if strings.Contains(shown, secret) {
			t.Errorf("%q is shown in:\n%s", secret, shown)
		}
	}
	if n := strings.Count(w.logs.String(), "msg=refused"); n != 9 {
		t.Errorf("%d refusals in the log; want 9:\n%s", n, w.logs)
	}
}

func TestLogLine(t *testing.T) {
	w := serve(t, document(t), Limits{})
	c := w.connect(t)
	fmt.Fprint(c, "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+credentials()+"\r\n")
	if _, err := io.ReadAll(c); err != nil {
		t.Fatal(err)
	}
	want := fmt.Sprintf(`level=INFO msg=refused client=%s method=CONNECT target=10.0.0.1:443 status=403 error=destination_ip_prohibited reason="the destination is not a public address"`, c.LocalAddr())
	if !strings.Contains(w.logs.String(), want+"\n") {
		t.Errorf("%s\nhas no %s", w.logs, want)
	}
	long := w.raw(t, "GET http://"+strings.Repeat("x", 2000)+"/ HTTP/1.1\r\nHost: x\r\n"+credentials()+"\r\n")
	if !strings.HasPrefix(long, "HTTP/1.1 400") || strings.Contains(w.logs.String(), strings.Repeat("x", 300)) {
		t.Errorf("a client writes what it likes into the log: %.40q", long)
	}
}

func TestServeReportsItsListener(t *testing.T) {
	s, err := New(document(t), Options{})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	_ = l.Close()
	if err := s.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "accepting") {
		t.Errorf("Serve on a closed listener: %v", err)
	}
	if err := s.Serve(t.Context(), l); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("the second Serve: %v", err)
	}
}

func TestNewRefusesBadDocuments(t *testing.T) {
	for field, change := range map[string]func(*provider.Guest){
		"version":              func(g *provider.Guest) { g.Version = 2 },
		"port":                 func(g *provider.Guest) { g.Port = 0 },
		"users":                func(g *provider.Guest) { g.Users, g.AllowFrom = nil, nil },
		"users[0].name":        func(g *provider.Guest) { g.Users[0].Name = "a:b" },
		"destinations.deny[0]": func(g *provider.Guest) { g.Destinations.Deny = make([]netip.Prefix, 1) },
	} {
		doc := document(t)
		change(&doc)
		if s, err := New(doc, Options{}); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), field+":") || s != nil {
			t.Errorf("%s: %v", field, err)
		}
	}
}

// What goes on when the end comes may finish; nothing new begins.
func TestGracefulEnd(t *testing.T) {
	w := serve(t, document(t), Limits{})
	asked, answer := make(chan struct{}), make(chan struct{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		close(asked)
		<-answer
		_, _ = io.WriteString(w, "finished")
	}))
	w.talker(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	tunnel, lines := w.tunnelTo(t, "")
	body := make(chan string, 1)
	go func() {
		_, text := get(t, w.client(t), "http://host.example/")
		body <- text
	}()
	<-asked
	ended := make(chan error, 1)
	go func() { ended <- w.end() }()
	for { // until it takes no connection
		c, err := net.Dial("tcp", w.addr)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	fmt.Fprintln(tunnel, "still open")
	if line, err := lines.ReadString('\n'); line != "still open\n" {
		t.Errorf("the tunnel says %q, %v", line, err)
	}
	close(answer)
	if text := <-body; text != "finished" {
		t.Errorf("the request got %q", text)
	}
	_ = tunnel.CloseWrite()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	if _, err := lines.ReadByte(); err != io.EOF {
		t.Errorf("the tunnel ends with %v", err)
	}
}

// A client keeps its connection through refusals of targets, and loses it when
// it does not say who it is.
func TestKeepAlive(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	c := w.connect(t)
	r := bufio.NewReader(c)
	for _, url := range []string{"http://host.example/", "http://127.0.0.1/", "http://unknown.example/", "http://host.example/"} {
		fmt.Fprint(c, "GET "+url+" HTTP/1.1\r\nHost: x\r\n"+credentials()+"\r\n")
		res, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Fatalf("%s: %v", url, err)
		}
		if _, err := io.Copy(io.Discard, res.Body); err != nil || res.Close {
			t.Errorf("%s: closes: %v, %v", url, res.Close, err)
		}
	}
	fmt.Fprint(c, "GET http://host.example/ HTTP/1.1\r\nHost: x\r\n\r\n")
	if res, err := http.ReadResponse(r, nil); err != nil || res.StatusCode != 407 || !res.Close {
		t.Errorf("without credentials: %+v, %v", res, err)
	}
}
