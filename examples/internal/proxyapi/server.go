package proxyapi

import (
	"errors"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
	"github.com/prometheus/client_golang/prometheus"
)

// Limits on a connection and a request. The handlers work in memory, so that
// only a slow client reaches the times.
const (
	// MaxBody is the most bytes of a request's body. A lease with the largest
	// selector fits well.
	MaxBody = 64 << 10
	// maxHeader is the most bytes of a request's header.
	maxHeader = 16 << 10
	// The times are those of http.Server.
	readHeaderTimeout = 5 * time.Second
	readTimeout       = 15 * time.Second
	writeTimeout      = 30 * time.Second
	idleTimeout       = 2 * time.Minute
)

// Options of a [Server].
type Options struct {
	// Pool is what it serves. Required.
	Pool *lease.Pool
	// Tokens are who may call it; [Server.SetTokens] changes them later. None
	// means that no route is open but those that ask for no token.
	Tokens []Token
	// Providers returns the status of each provider, for GET /v1/providers. It
	// is called for each request, from several goroutines, and does not block.
	// Nil answers an empty list.
	Providers func() []ProviderStatus
	// Ready returns nil once the program can hand out what there is, and
	// before that an error that says for everybody to read what is missing. It
	// is called as Providers is. Nil is always ready.
	Ready func() error
	// Registry gets the metrics of the Server, and /metrics serves it with
	// whatever else the caller registers in it. Nil makes one of its own. It
	// is never the global one.
	Registry *prometheus.Registry
	// Logger gets a line for each request at Debug and for each fault of the
	// Server at Error. Nil logs nothing.
	Logger *slog.Logger
}

// Server serves the client API. Its methods are safe for concurrent use.
type Server struct {
	opts Options
	// tokens is replaced as a whole, so that a request sees all of one
	// configuration.
	tokens  atomic.Pointer[[]Token]
	metrics *metrics
	handler http.Handler
}

// New returns a Server. Its error names the option that cannot be used.
func New(opts Options) (*Server, error) {
	if opts.Pool == nil {
		return nil, errors.New("proxyapi: Options.Pool is nil; make one with lease.NewPool")
	}
	if opts.Registry == nil {
		opts.Registry = prometheus.NewRegistry()
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Server{opts: opts}
	if err := s.SetTokens(opts.Tokens); err != nil {
		return nil, err
	}
	m, err := newMetrics(opts.Registry, opts.Pool)
	if err != nil {
		return nil, err
	}
	s.metrics = m
	s.handler = s.build()
	return s, nil
}

// Handler returns what serves the API.
func (s *Server) Handler() http.Handler { return s.handler }

// HTTPServer returns a server for the API with limits on time and size. The
// caller gives it a listener, and ends it.
func (s *Server) HTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ReadHeaderTimeout: readHeaderTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          slog.NewLogLogger(s.opts.Logger.Handler(), slog.LevelWarn),
	}
}
