package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// bufferSize is how much is copied at once, per direction. Larger ones move
	// no more on a loopback link, and a tunnel holds two.
	bufferSize = 32 << 10
	// maxTargetHeader bounds the header of a target's answer, in bytes.
	maxTargetHeader = 256 << 10
	// Bounds of the connections to targets that are kept for the next request.
	maxIdleTargets       = 256
	maxIdleTargetsEach   = 32
	idleTargetExpiration = 30 * time.Second
	// lastWords is how long a client may take to read the answer that its time
	// is over, and to send what it owes of a body that nobody reads.
	lastWords = 5 * time.Second
)

// buffers is a httputil.BufferPool, shared with the tunnels.
type buffers struct{ pool sync.Pool }

// Get returns a buffer of bufferSize.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[]byte); ok {
		return *p
	}
	return make([]byte, bufferSize)
}

// Put takes a buffer back.
func (b *buffers) Put(p []byte) { b.pool.Put(&p) }

// newTransport is how plain requests reach their targets. It knows no proxy,
// because the environment must not send the clients' requests elsewhere, and
// hands bodies on as they are.
func newTransport(d *reacher) *http.Transport {
	return &http.Transport{
		DialContext: func(ctx context.Context, _, address string) (net.Conn, error) {
			to, err := parseAuthority(address, 0)
			if err != nil {
				return nil, refuseRequest(err)
			}
			return d.dial(ctx, to, false)
		},
		// Otherwise the transport would ask for gzip in the client's name.
		DisableCompression:     true,
		MaxIdleConns:           maxIdleTargets,
		MaxIdleConnsPerHost:    maxIdleTargetsEach,
		IdleConnTimeout:        idleTargetExpiration,
		ExpectContinueTimeout:  time.Second,
		MaxResponseHeaderBytes: maxTargetHeader,
	}
}

// newForwarder returns the handler of plain requests in absolute form. It
// removes what belongs to one hop alone, the credentials for this proxy among
// it, and adds nothing that tells of the client.
func newForwarder(transport http.RoundTripper, pool *buffers, fail func(http.ResponseWriter, *http.Request, error), log *slog.Logger) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:        rewrite,
		Transport:      watched{transport},
		ModifyResponse: checkResponse,
		ErrorHandler:   fail,
		FlushInterval:  -1, // at once: a body may trickle
		BufferPool:     pool,
		ErrorLog:       slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
}

// rewrite makes the request to the target. ReverseProxy has removed the headers
// of one hop and X-Forwarded-* by then, and has put Upgrade back.
func rewrite(r *httputil.ProxyRequest) {
	r.Out.Header.Del("Connection")
	r.Out.Header.Del("Upgrade") // other protocols go through CONNECT
	// As the client wrote them, which a signature may cover.
	r.Out.URL.RawQuery = r.In.URL.RawQuery
	r.Out.URL.Opaque = rawPath(r.In)
	// NTLM and Negotiate log in a connection and not a request; one that is
	// kept would carry the next client's request under this one's name.
	scheme, _, _ := strings.Cut(r.In.Header.Get("Authorization"), " ")
	if strings.EqualFold(scheme, "NTLM") || strings.EqualFold(scheme, "Negotiate") {
		r.Out.Close = true
	}
}

// rawPath returns the path in the bytes of the request line, or nothing where
// net/url may write it as it likes: where there is none, and where it begins
// with two slashes, which URL.Opaque cannot say.
func rawPath(r *http.Request) string {
	whole, _, _ := strings.Cut(r.RequestURI, "?")
	_, rest, _ := strings.Cut(whole, "://")
	_, path, found := strings.Cut(rest, "/")
	if !found || strings.HasPrefix(path, "/") {
		return ""
	}
	return "/" + path
}

// checkResponse refuses answers that a client would take for the guest's own,
// or that end HTTP.
func checkResponse(r *http.Response) error {
	switch r.StatusCode {
	case http.StatusSwitchingProtocols:
		return refuseTarget("the target changed the protocol unasked")
	case http.StatusProxyAuthRequired:
		return refuseTarget("the target asks for the credentials of a proxy")
	}
	r.Header.Del("Proxy-Status")
	return nil
}

// forward serves a plain request under a watchdog. It panics with
// http.ErrAbortHandler, which closes the connection, when an answer breaks off
// in the middle: the client must not take it for a whole one.
func (s *Server) forward(w http.ResponseWriter, r *http.Request) {
	if refused := checkForward(r.URL); refused != nil {
		s.refuse(w, r, refused)
		return
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	control := http.NewResponseController(w)
	dog := watch(s.limits.Idle, s.limits.Total, func(cause error) {
		cancel(cause)
		// Deadlines end the reads and writes that no context reaches.
		// The read comes first, so that the answer about the end can be written.
		_ = control.SetReadDeadline(time.Now())
		_ = control.SetWriteDeadline(time.Now().Add(lastWords))
	})
	defer func() {
		if !dog.stop() {
			_ = control.SetWriteDeadline(time.Time{})
		}
	}()
	w.Header()["Content-Type"] = nil // net/http guesses none where the target gives none
	r = r.WithContext(context.WithValue(ctx, watchdogKey{}, dog))
	if r.Body != http.NoBody { // which the transport knows by its identity
		r.Body = requestBody{&touching{r.Body, dog}}
	}
	s.forwarder.ServeHTTP(w, r)
}

// checkForward refuses what is not a plain request to a host. Where the host
// leads is looked at when it is dialled.
func checkForward(u *url.URL) *refusal {
	switch {
	case u.Scheme != "http":
		return refuseRequest(errors.New("only http is forwarded; use CONNECT for anything else"))
	case u.User != nil:
		return refuseRequest(errors.New("the target has a user name in it; send an Authorization header"))
	}
	if _, err := parseAuthority(u.Host, 80); err != nil {
		return refuseRequest(err)
	}
	return nil
}

type watchdogKey struct{}

// watched tells the watchdog of a request about what its target sends.
type watched struct{ http.RoundTripper }

// RoundTrip returns an error that tells the watchdog's end from the client's.
func (t watched) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		if cause := context.Cause(r.Context()); cause != nil {
			err = cause
		}
		return nil, err
	}
	if dog, ok := r.Context().Value(watchdogKey{}).(*watchdog); ok {
		dog.touch()
		res.Body = &touching{res.Body, dog}
	}
	return res, nil
}

// touching is a body that tells the watchdog when something is read from it.
type touching struct {
	io.ReadCloser
	dog *watchdog
}

// Read reads on and tells the watchdog.
func (t *touching) Read(p []byte) (int, error) {
	n, err := t.ReadCloser.Read(p)
	if n > 0 {
		t.dog.touch()
	}
	return n, err
}

// requestBody tells a client that breaks off from a target that does.
type requestBody struct{ io.ReadCloser }

// Read returns a *refusal for what is not the body's end.
func (b requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil && err != io.EOF {
		err = refuseRequest(fmt.Errorf("the body of the request is not complete: %w", err))
	}
	return n, err
}
