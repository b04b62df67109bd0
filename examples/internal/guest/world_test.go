package guest

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/crawlfleet/provider"
	"golang.org/x/crypto/bcrypt"
)

const (
	testUser     = "alice"
	testPassword = "s3cret-Pa55word"
	// publicIP is an address that the rules allow; the dialer leads it to a
	// loopback server.
	publicIP = "93.184.216.34"
)

func quickHash(tb testing.TB, password string) string {
	tb.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		tb.Fatal(err)
	}
	return string(hash)
}

// document is one with a user, for clients on loopback.
func document(tb testing.TB) provider.Guest {
	return provider.Guest{
		Version: provider.GuestVersion, Port: 3128,
		Users:     []provider.GuestUser{{Name: testUser, PasswordHash: quickHash(tb, testPassword)}},
		AllowFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
	}
}

// open is document for clients without credentials.
func open(tb testing.TB) provider.Guest {
	doc := document(tb)
	doc.Users = nil
	return doc
}

// fakeResolver answers each name with its lists of addresses in turn, the last
// of them for ever.
type fakeResolver struct {
	mu      sync.Mutex
	answers map[string][]string
	calls   int
}

func (r *fakeResolver) LookupNetIP(_ context.Context, _, host string) ([]netip.Addr, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls++
	host = strings.ToLower(host)
	answers := r.answers[host]
	if len(answers) == 0 {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	if len(answers) > 1 {
		r.answers[host] = answers[1:]
	}
	var addrs []netip.Addr
	for text := range strings.FieldsSeq(answers[0]) {
		addrs = append(addrs, netip.MustParseAddr(text))
	}
	return addrs, nil
}

// fakeDialer leads addresses to others and keeps what it was asked for. What
// it does not know refuses the connection.
type fakeDialer struct {
	mu     sync.Mutex
	routes map[string]string
	dialed []string
}

func (d *fakeDialer) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	d.dialed = append(d.dialed, address)
	to, ok := d.routes[address]
	d.mu.Unlock()
	if !ok {
		return nil, &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

func (d *fakeDialer) calls() []string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.dialed)
}

// logBuffer is a log that goroutines share.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func (l *logBuffer) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// world is a guest on a loopback port with its surroundings.
type world struct {
	*Server
	addr     string
	dialer   *fakeDialer
	resolver *fakeResolver
	logs     *logBuffer
	// end asks for the end, and returns what Serve returned.
	end func() error
}

// serve starts a guest and ends it with the test.
func serve(tb testing.TB, doc provider.Guest, limits Limits) *world {
	tb.Helper()
	w := &world{
		dialer:   &fakeDialer{routes: map[string]string{}},
		resolver: &fakeResolver{answers: map[string][]string{}},
		logs:     &logBuffer{},
	}
	var err error
	w.Server, err = New(doc, Options{
		Logger: w.logs.logger(), Resolver: w.resolver, Dialer: w.dialer, Limits: limits,
		Addresses: func() ([]net.Addr, error) { return nil, nil },
	})
	if err != nil {
		tb.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	w.addr = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() { served <- w.Serve(ctx, l) }()
	w.end = sync.OnceValue(func() error {
		cancel()
		return <-served
	})
	tb.Cleanup(func() {
		if err := w.end(); err != nil {
			tb.Errorf("Serve: %v", err)
		}
	})
	return w
}

// target starts a server that clients reach as http://host, which resolves to
// publicIP.
func (w *world) target(tb testing.TB, host string, h http.Handler) *httptest.Server {
	tb.Helper()
	s := httptest.NewServer(h)
	tb.Cleanup(s.Close)
	w.resolver.answers[host] = []string{publicIP}
	w.dialer.routes[publicIP+":80"] = s.Listener.Addr().String()
	return s
}

// client is an HTTP client that uses the guest, with its credentials.
func (w *world) client(tb testing.TB) *http.Client {
	return w.clientAs(tb, url.UserPassword(testUser, testPassword))
}

func (w *world) clientAs(tb testing.TB, user *url.Userinfo) *http.Client {
	t := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: w.addr, User: user})}
	tb.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// raw sends bytes to the guest and returns all that comes back until it
// closes the connection.
func (w *world) raw(tb testing.TB, request string) string {
	tb.Helper()
	c := w.connect(tb)
	if _, err := io.WriteString(c, request); err != nil {
		tb.Fatal(err)
	}
	answer, err := io.ReadAll(c)
	if err != nil {
		tb.Fatalf("after %q: %v", answer, err)
	}
	return string(answer)
}

func (w *world) connect(tb testing.TB) *net.TCPConn {
	tb.Helper()
	c, err := net.Dial("tcp", w.addr)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	return c.(*net.TCPConn)
}

// get returns the status and the body of a GET.
func get(tb testing.TB, c *http.Client, url string) (*http.Response, string) {
	tb.Helper()
	res, err := c.Get(url)
	if err != nil {
		tb.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		tb.Fatal(err)
	}
	return res, string(body)
}
