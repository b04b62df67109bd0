package guest

import (
	"bufio"
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
)

// credentials is the header line for testUser.
func credentials() string {
	return "Proxy-Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte(testUser+":"+testPassword)) + "\r\n"
}

func TestForward(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Answer", "yes")
		w.WriteHeader(http.StatusTeapot)
		fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.URL, body)
	}))
	c := w.client(t)
	res, err := c.Post("http://host.example/a/b?c=d", "text/plain", strings.NewReader("the body"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	if want := "POST host.example /a/b?c=d the body"; string(body) != want || res.StatusCode != http.StatusTeapot || res.Header.Get("X-Answer") != "yes" {
		t.Errorf("%s %v %q; want %q", res.Status, res.Header, body, want)
	}
}

// The target sees the request as the client made it and nothing of the client
// or the guest.
func TestHeadersToTarget(t *testing.T) {
	w := serve(t, document(t), Limits{})
	seen := make(chan *http.Request, 1)
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen <- r }))
	answer := w.raw(t, "GET http://HOST.example:80/%7Ea%2fb|c;d?x=1;y=%zz&é HTTP/1.1\r\n"+
		"Host: other.example\r\n"+credentials()+
		"Proxy-Connection: keep-alive\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\nKeep-Alive: timeout=5\r\nTE: trailers, gzip\r\n"+
		"Upgrade: websocket\r\nForwarded: for=10.0.0.1\r\nX-Forwarded-For: 10.0.0.1\r\n"+
		"X-End: 1\r\nAuthorization: Basic dGFyZ2V0\r\nCookie: a=b\r\n\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 200 OK\r\n") {
		t.Fatal(answer)
	}
	r := <-seen
	if r.Host != "HOST.example:80" || r.RequestURI != "/%7Ea%2fb|c;d?x=1;y=%zz&é" {
		t.Errorf("the target got %s of %s", r.RequestURI, r.Host)
	}
	want := []string{"Authorization", "Cookie", "Te", "X-End"}
	if got := slices.Sorted(maps.Keys(r.Header)); !slices.Equal(got, want) || r.Header.Get("Te") != "trailers" {
		t.Errorf("the target got the headers %v; want %v", r.Header, want)
	}
}

func TestPathsToTarget(t *testing.T) {
	w := serve(t, document(t), Limits{})
	seen := make(chan string, 1)
	w.target(t, "host.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen <- r.RequestURI }))
	for path, want := range map[string]string{
		"": "/", "/": "/", "/?": "/?", "?q=/x": "/?q=/x", "//x": "//x", "//x//y": "//x//y", "/a//b": "/a//b",
		"/http://other.example/": "/http://other.example/", "/../a/./b": "/../a/./b", "/a:b@c": "/a:b@c", "/%2e%2E/%zz": "",
	} {
		answer := w.raw(t, "GET http://host.example"+path+" HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"+credentials()+"\r\n")
		if want == "" {
			if !strings.HasPrefix(answer, "HTTP/1.1 400") {
				t.Errorf("%s: %q", path, answer)
			}
			continue
		}
		if got := <-seen; got != want {
			t.Errorf("%s arrives as %s; want %s", path, got, want)
		}
	}
}

func TestHeadersToClient(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		h := w.Header()
		h.Set("Connection", "X-Hop")
		h.Set("X-Hop", "1")
		h.Set("Keep-Alive", "timeout=5")
		h.Set("Proxy-Authenticate", "Basic")
		h.Set("Proxy-Status", "guest; error=dns_error")
		h.Set("X-End", "1")
		h["Content-Type"] = nil
		_, _ = io.WriteString(w, "<html>")
	}))
	res, _ := get(t, w.client(t), "http://host.example/")
	want := []string{"Content-Length", "Date", "X-End"}
	if got := slices.Sorted(maps.Keys(res.Header)); !slices.Equal(got, want) {
		t.Errorf("the client got the headers %v; want %v", res.Header, want)
	}
}

func TestEncodingIsLeftAlone(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Encoding", "gzip")
		fmt.Fprintf(w, "not gzip, %q", r.Header["Accept-Encoding"])
	}))
	c := w.client(t)
	c.Transport.(*http.Transport).DisableCompression = true
	if res, body := get(t, c, "http://host.example/"); body != "not gzip, []" || res.Header.Get("Content-Encoding") != "gzip" {
		t.Errorf("%v %q", res.Header, body)
	}
}

// Bodies pass while they are being made, in both directions.
func TestRequestsStream(t *testing.T) {
	w := serve(t, document(t), Limits{})
	arrived := make(chan string)
	w.target(t, "host.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for lines := bufio.NewScanner(r.Body); lines.Scan(); {
			arrived <- lines.Text()
		}
	}))
	reader, writer := io.Pipe()
	go func() {
		for _, line := range []string{"one", "two"} {
			fmt.Fprintln(writer, line)
			if got := <-arrived; got != line { // only now does the client go on
				t.Errorf("%q arrived; want %q", got, line)
			}
		}
		_ = writer.Close()
	}()
	res, err := w.client(t).Post("http://host.example/", "text/plain", reader)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
}

func TestAnswersStream(t *testing.T) {
	w := serve(t, document(t), Limits{})
	next := make(chan struct{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Length", "8")
		w.Header().Set("Trailer", "X-Sum")
		for range 2 {
			_, _ = io.WriteString(w, "part")
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	}))
	res, err := w.client(t).Get("http://host.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for range 2 {
		part := make([]byte, 4)
		if _, err := io.ReadFull(res.Body, part); err != nil || string(part) != "part" {
			t.Fatalf("%q, %v", part, err)
		}
		next <- struct{}{} // only now does the target go on
	}
}

func TestTrailersAndEarlyHints(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Link", "</style.css>")
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Set("Trailer", "X-Sum")
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Sum", "42")
	}))
	answer := w.raw(t, "GET http://host.example/ HTTP/1.1\r\nHost: host.example\r\nConnection: close\r\n"+credentials()+"\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 103 Early Hints\r\n") || !strings.Contains(answer, "\r\nX-Sum: 42\r\n") {
		t.Error(answer)
	}
}

func TestExpectContinue(t *testing.T) {
	w := serve(t, document(t), Limits{})
	var read atomic.Bool
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/refused" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		body, _ := io.ReadAll(r.Body)
		read.Store(string(body) == "body")
	}))
	request := func(path string) *bufio.Reader {
		c := w.connect(t)
		_, _ = io.WriteString(c, "POST http://host.example"+path+" HTTP/1.1\r\nHost: host.example\r\nExpect: 100-continue\r\n"+
			"Content-Length: 4\r\n"+credentials()+"\r\n")
		lines := bufio.NewReader(c)
		if path == "/" {
			if line, err := lines.ReadString('\n'); line != "HTTP/1.1 100 Continue\r\n" {
				t.Fatalf("%q, %v", line, err)
			}
			_, _ = lines.ReadString('\n')
			_, _ = io.WriteString(c, "body")
		}
		return lines
	}
	lines := request("/")
	line, err := lines.ReadString('\n')
	if line == "HTTP/1.1 100 Continue\r\n" {
		// The target's own may follow that of reading the body; a client reads
		// any number of them (RFC 9110, 15.2).
		_, _ = lines.ReadString('\n')
		line, err = lines.ReadString('\n')
	}
	if line != "HTTP/1.1 200 OK\r\n" || !read.Load() {
		t.Errorf("%q, %v; the body was read: %v", line, err, read.Load())
	}
	if line, err := request("/refused").ReadString('\n'); line != "HTTP/1.1 403 Forbidden\r\n" {
		t.Errorf("%q, %v", line, err)
	}
}

// A request that two readers may frame in two ways reaches the target framed in
// one, and what is behind it is a request of its own, with its own credentials.
func TestSmuggling(t *testing.T) {
	w := serve(t, document(t), Limits{})
	var reached atomic.Int64
	w.target(t, "host.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		reached.Add(1)
		if r.URL.Path == "/hidden" || r.ContentLength >= 0 && len(r.TransferEncoding) > 0 {
			t.Errorf("the target got %s with %d %v", r.URL.Path, r.ContentLength, r.TransferEncoding)
		}
	}))
	const hidden = "GET http://host.example/hidden HTTP/1.1\r\nHost: host.example\r\nConnection: close\r\n\r\n"
	for _, test := range []struct {
		name, headers, body string
		answers             []string
		reaches             int64
	}{
		{"length and chunks", "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n" + hidden, []string{"200", "407"}, 1},
		{"two lengths", "Content-Length: 4\r\nContent-Length: 5\r\n", hidden, []string{"400"}, 0},
		{"a list of lengths", "Content-Length: 4, 5\r\n", hidden, []string{"400"}, 0},
		{"a signed length", "Content-Length: +4\r\n", hidden, []string{"400"}, 0},
		{"two encodings", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", hidden, []string{"501"}, 0},
		{"an unknown encoding", "Transfer-Encoding: xchunked\r\n", hidden, []string{"501"}, 0},
		{"space before the colon", "Content-Length : 4\r\n", hidden, []string{"400"}, 0},
		{"a folded header", "X-A: b\r\n\tContent-Length: 4\r\nConnection: close\r\n", "", []string{"200"}, 1},
		{"two hosts", "Host: other.example\r\n", hidden, []string{"400"}, 0},
		{"chunk size with a sign", "Transfer-Encoding: chunked\r\n", "+4\r\nbody\r\n0\r\n\r\n" + hidden, []string{"400"}, 1},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := reached.Load()
			answer := w.raw(t, "POST http://host.example/ HTTP/1.1\r\nHost: host.example\r\n"+credentials()+test.headers+"\r\n"+test.body)
			var answers []string
			for _, part := range strings.Split(answer, "HTTP/1.1 ")[1:] {
				answers = append(answers, part[:3])
			}
			if !slices.Equal(answers, test.answers) {
				t.Errorf("answers %v; want %v", answers, test.answers)
			}
			if n := reached.Load() - before; n > test.reaches {
				t.Errorf("%d requests reached the target; want at most %d", n, test.reaches)
			}
		})
	}
}

func TestBadTargets(t *testing.T) {
	w := serve(t, document(t), Limits{})
	for _, test := range []struct{ line, status string }{
		{"GET https://host.example/", "400"},
		{"GET ftp://host.example/", "400"},
		{"GET HTTP://host.example:0/", "400"},
		{"GET http://user:secret@host.example/", "400"},
		{"GET http:///path", "400"},
		{"GET http://2130706433/", "400"},
		{"GET http://0x7f.1/", "400"},
		{"GET http://%31%32%37.1/", "400"},
		{"GET http://127.1/", "400"},
		{"GET http://[fe80::1%25eth0]/", "400"},
		{"GET /", "400"},
		{"GET //host.example/", "400"},
		{"POST /healthz", "400"},
		{"OPTIONS *", "400"},
		{"GET http://127.0.0.1/", "403"},
		{"GET http://%31%32%37.0.0.1/", "400"},
		{"GET http://[::ffff:127.0.0.1]/", "403"},
		{"GET http://169.254.169.254/latest/meta-data/", "403"},
		{"GET http://" + w.addr + "/healthz", "403"},
		{"GET http://unknown.example/", "502"},
		{"GET http://1.1.1.1/", "502"},
	} {
		answer := w.raw(t, test.line+" HTTP/1.1\r\nHost: host.example\r\nConnection: close\r\n"+credentials()+"\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 "+test.status) {
			t.Errorf("%s: %q; want %s", test.line, answer, test.status)
		}
	}
	if calls := w.dialer.calls(); !slices.Equal(calls, []string{"1.1.1.1:80"}) {
		t.Errorf("dialled %q", calls)
	}
	if strings.Contains(w.logs.String(), "secret") {
		t.Error("the log shows the password of a target")
	}
}

func TestTargetsThatMisbehave(t *testing.T) {
	w := serve(t, document(t), Limits{})
	answer := ""
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer c.Close()
		_, _ = io.WriteString(c, answer)
	}))
	for _, test := range []struct{ name, answer, token string }{
		{"asks for a proxy's credentials", "HTTP/1.1 407 No\r\nProxy-Authenticate: Basic\r\nContent-Length: 0\r\n\r\n", "http_protocol_error"},
		{"changes the protocol", "HTTP/1.1 101 Switching Protocols\r\n\r\n", "http_protocol_error"},
		{"changes it by name", "HTTP/1.1 101 Switching Protocols\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n", "http_protocol_error"},
		{"says nothing", "", "connection_terminated"},
		{"does not speak HTTP", "220 mail.example ESMTP\r\n", "destination_unavailable"},
		{"sends an endless header", "HTTP/1.1 200 OK\r\nX: " + strings.Repeat("x", maxTargetHeader+10000), "destination_unavailable"},
	} {
		answer = test.answer
		res, _ := get(t, w.client(t), "http://host.example/")
		if res.StatusCode != http.StatusBadGateway || res.Header.Get("Proxy-Status") != "guest; error="+test.token {
			t.Errorf("a target that %s: %s %v", test.name, res.Status, res.Header)
		}
	}
	answer = "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
	res, err := w.client(t).Get("http://host.example/")
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err == nil {
		t.Errorf("half an answer passes for a whole one: %q", body)
	}
}

// A connection that carries a login belongs to one client.
func TestConnectionLoginsAreNotShared(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, r.RemoteAddr) }))
	c := w.client(t)
	ask := func(authorization string) string {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host.example/", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", authorization)
		res, err := c.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		body, _ := io.ReadAll(res.Body)
		return string(body)
	}
	if first, second := ask("Basic x"), ask("Basic x"); first != second {
		t.Errorf("a connection is not kept: %s and %s", first, second)
	}
	if first, second := ask("NTLM x"), ask("Basic x"); first == second {
		t.Errorf("a connection with a login is kept: %s", first)
	}
}

func TestHTTP10(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Host)
		_ = http.NewResponseController(w).Flush() // no length: chunks, which HTTP/1.0 does not know
	}))
	answer := w.raw(t, "GET http://host.example/ HTTP/1.0\r\n"+credentials()+"\r\n")
	head, body, _ := strings.Cut(answer, "\r\n\r\n")
	if !strings.HasPrefix(head, "HTTP/1.0 200") || body != "host.example" {
		t.Error(answer)
	}
}

func TestLargeBodies(t *testing.T) {
	w := serve(t, document(t), Limits{})
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	w.target(t, "host.example", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.Copy(w, r.Body) }))
	res, err := w.client(t).Post("http://host.example/", "", bytes.NewReader(large))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if body, err := io.ReadAll(res.Body); err != nil || !bytes.Equal(body, large) {
		t.Errorf("%d bytes of %d came back, %v", len(body), len(large), err)
	}
}

// A client that leaves takes its request to the target along.
func TestClientLeaves(t *testing.T) {
	w := serve(t, document(t), Limits{})
	asked, left := make(chan struct{}), make(chan struct{})
	w.target(t, "host.example", http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done()
		close(left)
	}))
	ctx, cancel := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://host.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		<-asked
		cancel()
	}()
	if res, err := w.client(t).Do(r); err == nil {
		res.Body.Close()
		t.Error("the request was answered")
	}
	<-left
}

func TestCredentials(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.target(t, "host.example", http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
	for _, test := range []struct {
		user   *url.Userinfo
		status int
	}{
		{nil, 407},
		{url.UserPassword(testUser, "wrong"), 407},
		{url.UserPassword("mallory", testPassword), 407},
		{url.UserPassword(testUser, testPassword), 200},
	} {
		res, _ := get(t, w.clientAs(t, test.user), "http://host.example/")
		if res.StatusCode != test.status || (res.Header.Get("Proxy-Authenticate") != "") != (test.status == 407) {
			t.Errorf("%v: %s %v", test.user, res.Status, res.Header)
		}
	}
}
