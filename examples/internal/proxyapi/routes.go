package proxyapi

import (
	"net/http"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// Access says who may call a route.
type Access string

// The levels of access.
const (
	// Open: everybody who reaches the port.
	Open Access = "open"
	// WithToken: every token.
	WithToken Access = "token"
)

// Route is one route of the API.
type Route struct {
	// Pattern is that of http.ServeMux: "GET /v1/proxies". Metrics are by it.
	Pattern string
	// Access says who may call it.
	Access  Access
	handler handler
}

// handler answers a request, or returns the error to answer with. The caller
// is the zero Token on an open route.
type handler func(w http.ResponseWriter, r *http.Request, caller Token) error

// Routes returns all that the Server serves. Others are answered with 404, and
// other methods on these paths with 405. A pattern with GET serves HEAD too.
func (s *Server) Routes() []Route {
	// One collector that fails does not hide the metrics of the others.
	metrics := promhttp.HandlerFor(s.opts.Registry, promhttp.HandlerOpts{
		ErrorHandling: promhttp.ContinueOnError,
	})
	return []Route{
		{"GET /v1/proxies", WithToken, s.listProxies},
		{"POST /v1/leases", WithToken, s.createLeases},
		{"GET /v1/leases/{id}", WithToken, s.getLease},
		{"DELETE /v1/leases/{id}", WithToken, s.deleteLease},
		{"GET /v1/providers", WithToken, s.listProviders},
		{"GET /v1/whoami", Open, whoami},
		{"GET /healthz", Open, healthz},
		{"GET /readyz", Open, s.readyz},
		{"GET /metrics", Open, func(w http.ResponseWriter, r *http.Request, _ Token) error {
			metrics.ServeHTTP(w, r)
			return nil
		}},
	}
}

// build wires the routes up.
func (s *Server) build() http.Handler {
	mux := http.NewServeMux()
	for _, route := range s.Routes() {
		mux.Handle(route.Pattern, s.serve(route))
	}
	return s.frame(problems(mux))
}

// serve answers one route: it checks the token where one is asked for, bounds
// the body, and turns an error into a problem.
func (s *Server) serve(route Route) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var caller Token
		if route.Access == WithToken {
			var ok bool
			if caller, ok = s.authenticate(r); !ok {
				w.Header().Set("WWW-Authenticate", `Bearer realm="proxies"`)
				writeProblem(w, Problem{Status: http.StatusUnauthorized, Code: CodeUnauthenticated,
					Detail: "the request has no token that is known here; send Authorization: Bearer TOKEN"})
				return
			}
		}
		r.Body = http.MaxBytesReader(w, r.Body, MaxBody)
		if err := route.handler(w, r, caller); err != nil {
			p := problemOf(err)
			if p.Code == CodeInternal {
				s.opts.Logger.Error("a request failed", "request", w.Header().Get(requestIDHeader), "error", err)
			}
			writeProblem(w, p)
		}
	})
}

// problems answers what no route of the mux takes, which the mux itself would
// answer in plain text.
func problems(mux *http.ServeMux) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h, pattern := mux.Handler(r)
		if pattern != "" {
			mux.ServeHTTP(w, r)
			return
		}
		// The mux tells of the methods only in the answer that it would give.
		dry := &dryWriter{header: make(http.Header)}
		h.ServeHTTP(dry, r)
		if allow := dry.header.Get("Allow"); allow != "" {
			w.Header().Set("Allow", allow)
			writeProblem(w, Problem{Status: http.StatusMethodNotAllowed, Code: CodeMethod,
				Detail: "the path is served with the methods " + allow})
			return
		}
		writeProblem(w, Problem{Status: http.StatusNotFound, Code: CodeNoRoute, Detail: "there is nothing at this path"})
	})
}

// dryWriter keeps the header of an answer and drops the rest.
type dryWriter struct{ header http.Header }

// Header returns what is kept.
func (d *dryWriter) Header() http.Header { return d.header }

// Write drops b.
func (d *dryWriter) Write(b []byte) (int, error) { return len(b), nil }

// WriteHeader drops the code.
func (d *dryWriter) WriteHeader(int) {}
