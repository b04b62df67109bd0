package proxyapi

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// requestIDHeader carries an ID that the client may choose; it comes back, and
// is in the log and in problems.
const requestIDHeader = "X-Request-Id"

// maxRequestID bounds what a client writes into the log.
const maxRequestID = 64

// frame is around all routes: the request's ID, headers of every answer,
// metrics, the log, and panics.
func (s *Server) frame(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began := time.Now()
		id := r.Header.Get(requestIDHeader)
		if !goodRequestID(id) {
			id = rand.Text()
		}
		w.Header().Set(requestIDHeader, id)
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		out := &statusWriter{ResponseWriter: w}
		defer func() { s.finish(out, r, id, time.Since(began), recover()) }()
		next.ServeHTTP(out, r)
	})
}

// finish counts and logs an answer. After a panic it answers, when nothing of
// an answer is written yet, and otherwise cuts the connection: half an answer
// must not look like a whole one.
func (s *Server) finish(out *statusWriter, r *http.Request, id string, took time.Duration, fault any) {
	if fault != nil && fault != http.ErrAbortHandler {
		s.opts.Logger.Error("a request panicked", "request", id, "panic", fault, "stack", string(debug.Stack()))
		if out.status == 0 {
			writeProblem(out, internal())
			fault = nil
		}
	}
	// The mux has written the pattern into the request. The path is not logged,
	// because it has the IDs of leases in it.
	s.metrics.observe(r.Pattern, out.code(), took)
	s.opts.Logger.LogAttrs(r.Context(), slog.LevelDebug, "request", slog.String("request", id),
		slog.String("route", routeLabel(r.Pattern)), slog.Int("status", out.code()), slog.Duration("took", took))
	if fault != nil {
		panic(http.ErrAbortHandler)
	}
}

// goodRequestID reports whether a client's ID can be logged and sent back as
// it is.
func goodRequestID(id string) bool {
	return id != "" && len(id) <= maxRequestID && !strings.ContainsFunc(id, func(r rune) bool {
		return !('a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune("-_.", r))
	})
}

// statusWriter remembers the status of an answer; zero is none yet.
type statusWriter struct {
	http.ResponseWriter
	status int
}

// code is the status that the client gets.
func (w *statusWriter) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// WriteHeader remembers the code.
func (w *statusWriter) WriteHeader(code int) {
	if w.status == 0 {
		w.status = code
	}
	w.ResponseWriter.WriteHeader(code)
}

// Write remembers that the code is 200, unless it was another.
func (w *statusWriter) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }
