// Package guest is the forward proxy that runs inside a machine: it obeys the
// document [provider.Guest], whose contract is docs/guest.md.
//
// A connection is sorted when it is accepted (accept.go). A request on it is
// admitted by its credentials (auth.go) and then forwarded (forward.go) or
// tunnelled (tunnel.go); both reach their targets through one reacher
// (dial.go), which asks the rules (destination.go). A watchdog ends what stands
// still, and what the guest answers itself is a refusal (refusal.go).
package guest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// Limits bound what clients can take. Zero fields are the defaults.
type Limits struct {
	// Connections is how many clients may be connected at once: 1024.
	Connections int
	// HeaderBytes bounds the header of a request: 32 KiB.
	HeaderBytes int
	// Header is how long a client may take to send one: 10 s.
	Header time.Duration
	// KeepAlive is how long a connection may wait for its next request: 1 m.
	KeepAlive time.Duration
	// Dial bounds resolving a target and connecting to it: 15 s.
	Dial time.Duration
	// Idle ends a request or tunnel in which nothing moves: 2 m.
	Idle time.Duration
	// Total ends a request or tunnel whatever moves: 1 h.
	Total time.Duration
	// Drain is how long requests and tunnels may go on after the end was asked
	// for: 10 s.
	Drain time.Duration
	// Hashes is how many passwords are hashed at once: half of the processors.
	Hashes int
}

// withDefaults fills the zero fields.
func (l Limits) withDefaults() Limits {
	return Limits{
		Connections: cmp.Or(l.Connections, 1024),
		HeaderBytes: cmp.Or(l.HeaderBytes, 32<<10),
		Header:      cmp.Or(l.Header, 10*time.Second),
		KeepAlive:   cmp.Or(l.KeepAlive, time.Minute),
		Dial:        cmp.Or(l.Dial, 15*time.Second),
		Idle:        cmp.Or(l.Idle, 2*time.Minute),
		Total:       cmp.Or(l.Total, time.Hour),
		Drain:       cmp.Or(l.Drain, 10*time.Second),
		Hashes:      cmp.Or(l.Hashes, max(1, runtime.GOMAXPROCS(0)/2)),
	}
}

// Options are what a [Server] is given beside its document. The zero value
// works.
type Options struct {
	// Logger gets a line per refused request, without credentials, paths and
	// queries. Nil discards them.
	Logger *slog.Logger
	// Resolver resolves the names of targets; nil is the system's.
	Resolver Resolver
	// Dialer connects to targets; nil is the system's.
	Dialer Dialer
	// Addresses returns the addresses of this machine, which are refused as
	// targets; nil is net.InterfaceAddrs. Its result is kept for some seconds.
	Addresses func() ([]net.Addr, error)
	// Limits bound what clients can take.
	Limits Limits
}

// Server is a forward proxy. Make one with [New]. All methods are safe for
// concurrent use.
type Server struct {
	doc       provider.Guest
	limits    Limits
	log       *slog.Logger
	auth      *authenticator
	reach     *reacher
	transport *http.Transport
	forwarder *httputil.ReverseProxy
	buffers   *buffers
	// tunnels ends when the tunnels are to be closed. It is no request's
	// context, because tunnels outlive the drain's beginning.
	tunnels context.Context
	close   context.CancelCauseFunc
	once    sync.Once

	mu sync.Mutex
	// handlers are the requests and tunnels at work. None is added once ending
	// is set, under mu.
	handlers sync.WaitGroup
	ending   bool
}

// New returns a server that obeys doc. Its error is a [*provider.Error] of
// Kind Invalid whose Field is the JSON path, and shows no hash.
func New(doc provider.Guest, opts Options) (*Server, error) {
	if err := doc.Validate(); err != nil {
		return nil, err
	}
	limits := opts.Limits.withDefaults()
	auth, err := newAuthenticator(doc.Users, limits)
	if err != nil {
		return nil, err
	}
	s := &Server{doc: doc, limits: limits, auth: auth, log: opts.Logger, buffers: &buffers{}}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	if opts.Resolver == nil {
		opts.Resolver = net.DefaultResolver
	}
	if opts.Dialer == nil {
		opts.Dialer = &net.Dialer{}
	}
	if opts.Addresses == nil {
		opts.Addresses = net.InterfaceAddrs
	}
	s.tunnels, s.close = context.WithCancelCause(context.Background())
	s.reach = &reacher{
		rules:    newRules(doc.Destinations, doc.Port, ownAddresses(opts.Addresses)),
		resolver: opts.Resolver, dialer: opts.Dialer, timeout: limits.Dial, ends: s.tunnels,
	}
	s.transport = newTransport(s.reach)
	s.forwarder = newForwarder(s.transport, s.buffers, s.fail, s.log)
	return s, nil
}

// errDrained is why tunnels end when the server does.
var errDrained = errors.New("the proxy ends")

// Serve serves on l until ctx ends, and closes l. Then it takes no new
// connection, lets what is going on finish for [Limits.Drain], ends what is
// left, and returns nil once nothing of it runs. Otherwise it returns what was
// wrong with l. The document's port is not looked at: that of l counts.
// A Server serves once.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	first := false
	s.once.Do(func() { first = true })
	if !first {
		return errors.New("this guest has served already; make a new one")
	}
	if at, err := netip.ParseAddrPort(l.Addr().String()); err == nil {
		s.reach.rules.port = at.Port()
	}
	server := &http.Server{
		Handler:           s,
		ReadHeaderTimeout: s.limits.Header,
		IdleTimeout:       s.limits.KeepAlive,
		MaxHeaderBytes:    s.limits.HeaderBytes,
		ErrorLog:          slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
		ConnContext:       withClass,
		// OPTIONS * names no target and is refused like anything that names none.
		DisableGeneralOptionsHandler: true,
	}
	ended := make(chan error, 1)
	go func() {
		ended <- server.Serve(&listener{
			Listener: l, allowFrom: s.doc.AllowFrom,
			clients: make(chan struct{}, s.limits.Connections), spare: make(chan struct{}, spareConnections),
		})
	}()
	var err error
	select {
	case err = <-ended:
		err = fmt.Errorf("accepting connections: %w", err)
	case <-ctx.Done():
	}
	s.end(server)
	return err
}

// end drains the server and then ends what is left. Shutdown does not know of
// tunnels, which have taken their connections over; handlers counts them.
func (s *Server) end(server *http.Server) {
	s.log.Info("ending", "drain", s.limits.Drain)
	drain, cancel := context.WithTimeout(context.Background(), s.limits.Drain)
	defer cancel()
	_ = server.Shutdown(drain) // its error is that of drain
	s.mu.Lock()
	s.ending = true
	s.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		s.handlers.Wait()
		close(idle)
	}()
	select {
	case <-idle:
	case <-drain.Done():
	}
	s.close(errDrained)
	_ = server.Close()
	<-idle
	s.transport.CloseIdleConnections()
}

// healthPath answers in origin form, which no proxy client sends.
const healthPath = "/healthz"

// asksHealth leaves requests with a body to the refusal, which closes.
func asksHealth(r *http.Request) bool {
	return r.URL.Path == healthPath && r.ContentLength == 0 && (r.Method == http.MethodGet || r.Method == http.MethodHead)
}

// ServeHTTP serves one request: it is the http.Handler behind [Server.Serve].
// A request that comes another way is one of a stranger.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.enter() {
		return // the connection is being closed
	}
	defer s.handlers.Done()
	control := http.NewResponseController(w)
	// Answers do not wait for the rest of a body, and afterwards it is not
	// waited for long: its client may never send it.
	_ = control.EnableFullDuplex()
	defer func() { _ = control.SetReadDeadline(time.Now().Add(lastWords)) }()
	as, _ := r.Context().Value(classKey{}).(class)
	if as != client {
		w.Header().Set("Connection", "close") // others wait for its slot
	}
	origin := r.Method != http.MethodConnect && strings.HasPrefix(r.RequestURI, "/")
	if origin && asksHealth(r) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		_, _ = w.Write([]byte("ok\n"))
		return
	}
	refused := s.admit(as, r)
	if refused == nil && origin {
		refused = refuseRequest(errors.New("this is a proxy; send the whole URL, or CONNECT"))
	}
	switch {
	case refused != nil:
		s.refuse(w, r, refused)
	case r.Method == http.MethodConnect:
		s.connect(w, r)
	default:
		s.forward(w, r)
	}
}

// enter counts a request, unless the end has come.
func (s *Server) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.ending {
		s.handlers.Add(1)
	}
	return !s.ending
}

// admit checks who asks: the network first, so that strangers cost no hash.
func (s *Server) admit(as class, r *http.Request) *refusal {
	switch as {
	case client:
		return s.auth.check(r)
	case surplus:
		return &refusal{status: http.StatusServiceUnavailable, token: "connection_limit_reached",
			reason: "this proxy has no connection left"}
	}
	return &refusal{status: http.StatusForbidden, token: "http_request_denied",
		reason: "this proxy does not serve your address"}
}

// fail answers with what an error of reaching the target means.
func (s *Server) fail(w http.ResponseWriter, r *http.Request, err error) {
	s.refuse(w, r, refusalOf(err))
}

// refuse answers and logs. The line has no credentials, and of the target the
// host and port alone.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, refused *refusal) {
	level := slog.LevelInfo
	if refused.status == http.StatusProxyAuthRequired && refused.err == nil || errors.Is(refused, context.Canceled) {
		level = slog.LevelDebug // many clients ask without at first, or have left
	}
	attrs := []slog.Attr{
		slog.String("client", r.RemoteAddr), slog.String("method", clip(r.Method)), slog.String("target", clip(r.URL.Host)),
		slog.Int("status", refused.status), slog.String("error", refused.token), slog.String("reason", refused.reason),
	}
	if refused.err != nil {
		attrs = append(attrs, slog.String("cause", refused.err.Error()))
	}
	s.log.LogAttrs(r.Context(), level, "refused", attrs...)
	if r.ContentLength != 0 {
		w.Header().Set("Connection", "close") // what follows its body is not known
	}
	refused.write(w)
}

// clip bounds what a client can write into a log, at the longest host and port.
func clip(s string) string { return s[:min(len(s), maxHost+len(":65535"))] }
