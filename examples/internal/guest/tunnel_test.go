package guest

import (
	"bufio"
	"bytes"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

// talker starts a TCP server that clients reach as host.example:443, and that
// runs talk on each connection.
func (w *world) talker(tb testing.TB, talk func(c *net.TCPConn)) {
	tb.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = l.Close() })
	w.resolver.answers["host.example"] = []string{publicIP}
	w.dialer.routes[publicIP+":443"] = l.Addr().String()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				talk(c.(*net.TCPConn))
			}()
		}
	}()
}

const connectLine = "CONNECT host.example:443 HTTP/1.1\r\nHost: host.example:443\r\n"

// tunnelTo opens a tunnel and returns its connection and what reads from it.
func (w *world) tunnelTo(tb testing.TB, early string) (*net.TCPConn, *bufio.Reader) {
	tb.Helper()
	c := w.connect(tb)
	if _, err := io.WriteString(c, connectLine+credentials()+"\r\n"+early); err != nil {
		tb.Fatal(err)
	}
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil || res.StatusCode != http.StatusOK {
		tb.Fatalf("%v, %v", res, err)
	}
	return c, r
}

func TestConnectTLS(t *testing.T) {
	w := serve(t, document(t), Limits{})
	target := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Proxy-Authorization") != "" {
			t.Error("the target sees the credentials")
		}
		_, _ = io.WriteString(w, "through the tunnel")
	}))
	t.Cleanup(target.Close)
	w.resolver.answers["host.example"] = []string{publicIP}
	w.dialer.routes[publicIP+":443"] = target.Listener.Addr().String()
	c := w.client(t)
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{InsecureSkipVerify: true}
	if res, body := get(t, c, "https://host.example/"); body != "through the tunnel" {
		t.Errorf("%s %q", res.Status, body)
	}
}

// What a client sends before it has the answer is not lost.
func TestEarlyBytes(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.talker(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	early := strings.Repeat("early", 500)
	c, r := w.tunnelTo(t, early)
	_, _ = io.WriteString(c, "late")
	_ = c.CloseWrite()
	if got, err := io.ReadAll(r); err != nil || string(got) != early+"late" {
		t.Errorf("%d bytes came back, %v", len(got), err)
	}
}

// Either side may end its half and go on listening.
func TestHalfClose(t *testing.T) {
	t.Run("by the client", func(t *testing.T) {
		w := serve(t, document(t), Limits{})
		w.talker(t, func(c *net.TCPConn) {
			question, _ := io.ReadAll(c) // until the client's half ends
			_, _ = c.Write(bytes.ToUpper(question))
		})
		c, r := w.tunnelTo(t, "")
		_, _ = io.WriteString(c, "question")
		_ = c.CloseWrite()
		if got, err := io.ReadAll(r); err != nil || string(got) != "QUESTION" {
			t.Errorf("%q, %v", got, err)
		}
	})
	t.Run("by the target", func(t *testing.T) {
		w := serve(t, document(t), Limits{})
		rest := make(chan string, 1)
		w.talker(t, func(c *net.TCPConn) {
			_, _ = io.WriteString(c, "hello")
			_ = c.CloseWrite()
			all, _ := io.ReadAll(c)
			rest <- string(all)
		})
		c, r := w.tunnelTo(t, "")
		if got, err := io.ReadAll(r); err != nil || string(got) != "hello" {
			t.Errorf("%q, %v", got, err)
		}
		_, _ = io.WriteString(c, "still here")
		_ = c.CloseWrite()
		if got := <-rest; got != "still here" {
			t.Errorf("the target got %q", got)
		}
	})
}

// A side that breaks takes the other one along.
func TestBrokenTunnels(t *testing.T) {
	t.Run("the target", func(t *testing.T) {
		w := serve(t, document(t), Limits{})
		w.talker(t, func(c *net.TCPConn) {
			_, _ = c.Read(make([]byte, 1))
			_ = c.SetLinger(0) // a reset
		})
		_, r := w.tunnelTo(t, "x")
		if got, _ := io.ReadAll(r); len(got) > 0 {
			t.Errorf("%q came from nowhere", got)
		}
		w.handlers.Wait() // the client has not closed its side
	})
	t.Run("the client", func(t *testing.T) {
		w := serve(t, document(t), Limits{})
		ended := make(chan error, 1)
		w.talker(t, func(c *net.TCPConn) {
			_, err := io.ReadAll(c)
			ended <- err
		})
		c, _ := w.tunnelTo(t, "x")
		_ = c.SetLinger(0)
		_ = c.Close()
		<-ended
	})
}

func TestBadConnects(t *testing.T) {
	doc := document(t)
	doc.Destinations.Allow = []provider.Destination{{Prefix: netip.MustParsePrefix("0.0.0.0/0"), Ports: []uint16{8443}}}
	w := serve(t, doc, Limits{})
	w.talker(t, func(*net.TCPConn) {})
	for _, test := range []struct{ target, extra, status string }{
		{"host.example", "", "400"},
		{"host.example:", "", "400"},
		{"host.example:0", "", "400"},
		{"host.example:443/path", "", "400"},
		{"user@host.example:443", "", "400"},
		{"http://host.example:443", "", "400"},
		{"/healthz", "", "400"},
		{"2130706433:443", "", "400"},
		{"0x7f000001:443", "", "400"},
		{"host.example:443", "Content-Length: 4\r\n", "400"},
		{"host.example:443", "Transfer-Encoding: chunked\r\n", "400"},
		{"127.0.0.1:443", "", "403"},
		{"[::1]:443", "", "403"},
		{"[::ffff:7f00:1]:443", "", "403"},
		{"169.254.169.254:80", "", "403"},
		{"host.example:22", "", "403"},
		{"host.example:8080", "", "403"},
		{w.addr, "", "403"},
		{"unknown.example:443", "", "502"},
		{"host.example:8443", "", "502"}, // open, and refused by the dialer
	} {
		answer := w.raw(t, "CONNECT "+test.target+" HTTP/1.1\r\nHost: host.example\r\nConnection: close\r\n"+test.extra+credentials()+"\r\n0\r\n\r\n")
		if !strings.HasPrefix(answer, "HTTP/1.1 "+test.status) {
			t.Errorf("%s %s: %q; want %s", test.target, test.extra, answer, test.status)
		}
	}
	if calls := w.dialer.calls(); !slices.Equal(calls, []string{publicIP + ":8443"}) {
		t.Errorf("dialled %q", calls)
	}
}

func TestConnectFromHTTP10(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.talker(t, func(c *net.TCPConn) { _, _ = io.WriteString(c, "hello") })
	answer := w.raw(t, "CONNECT host.example:443 HTTP/1.0\r\n"+credentials()+"\r\n")
	if answer != "HTTP/1.1 200 Connection established\r\n\r\nhello" {
		t.Errorf("%q", answer)
	}
}

func TestConnectCredentials(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.talker(t, func(c *net.TCPConn) { t.Error("a client without credentials reaches the target") })
	answer := w.raw(t, connectLine+"\r\n")
	if !strings.HasPrefix(answer, "HTTP/1.1 407") || !strings.Contains(answer, "\r\nProxy-Authenticate: Basic ") {
		t.Error(answer)
	}
}

// Bytes pass unchanged when both sides send at once.
func TestBulkBothWays(t *testing.T) {
	w := serve(t, document(t), Limits{})
	w.talker(t, func(c *net.TCPConn) { _, _ = io.Copy(c, c) })
	c, r := w.tunnelTo(t, "")
	large := bytes.Repeat([]byte("0123456789abcdef"), 1<<18)
	go func() {
		_, _ = c.Write(large)
		_ = c.CloseWrite()
	}()
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes of %d came back, %v", len(got), len(large), err)
	}
}
