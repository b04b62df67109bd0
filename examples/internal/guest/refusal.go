package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"syscall"
)

// refusal is an answer of the guest's own. A client tells it from an answer of
// the target by the Proxy-Status header, which the guest strips from targets.
type refusal struct {
	status int
	// token is the error type of RFC 9209, section 2.3.
	token string
	// reason is for a person. It shows no address that a name resolved to.
	reason string
	err    error
}

// Error returns the reason, with the cause where there is one.
func (r *refusal) Error() string {
	if r.err == nil {
		return r.reason
	}
	return fmt.Sprintf("%s: %v", r.reason, r.err)
}

// Unwrap returns the cause.
func (r *refusal) Unwrap() error { return r.err }

// refuseDestination is for an address that the rules do not open.
func refuseDestination(reason string) *refusal {
	return &refusal{status: http.StatusForbidden, token: "destination_ip_prohibited", reason: reason}
}

// refuseLoop is for the guest as its own target.
func refuseLoop() *refusal {
	return &refusal{status: http.StatusForbidden, token: "proxy_loop_detected", reason: "the destination is this proxy itself"}
}

// refuseTarget is for an answer of a target that must not reach a client.
func refuseTarget(reason string) *refusal {
	return &refusal{status: http.StatusBadGateway, token: "http_protocol_error", reason: reason}
}

// refuseRequest is for what a client should not have sent. The error's text is
// the answer, so that it holds nothing that the client does not know.
func refuseRequest(err error) *refusal {
	return &refusal{status: http.StatusBadRequest, token: "http_request_error", reason: err.Error()}
}

// Causes of a request that the watchdog ended.
var (
	errIdle  = errors.New("nothing moved for too long")
	errTotal = errors.New("it took longer than a request may")
)

// refusalOf is the one table that turns an error of reaching a target into an
// answer.
func refusalOf(err error) *refusal {
	var dns *net.DNSError
	var timeout interface{ Timeout() bool }
	if r := (*refusal)(nil); errors.As(err, &r) {
		return r
	}
	answer := func(status int, token, reason string) *refusal {
		return &refusal{status: status, token: token, reason: reason, err: err}
	}
	switch {
	case errors.Is(err, errIdle), errors.Is(err, errTotal):
		return answer(http.StatusGatewayTimeout, "http_response_timeout", "the target did not answer in time")
	case errors.As(err, &dns) && dns.IsTimeout:
		return answer(http.StatusGatewayTimeout, "dns_timeout", "the host's name could not be resolved in time")
	case errors.As(err, &dns):
		return answer(http.StatusBadGateway, "dns_error", "the host's name does not resolve")
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded),
		errors.As(err, &timeout) && timeout.Timeout():
		return answer(http.StatusGatewayTimeout, "connection_timeout", "the target could not be reached in time")
	case errors.Is(err, syscall.ECONNREFUSED):
		return answer(http.StatusBadGateway, "connection_refused", "the target refused the connection")
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return answer(http.StatusBadGateway, "destination_ip_unroutable", "there is no route to the target")
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, syscall.ECONNRESET):
		return answer(http.StatusBadGateway, "connection_terminated", "the target ended the connection")
	}
	return answer(http.StatusBadGateway, "destination_unavailable", "the target could not be reached")
}

// write answers with the refusal.
func (r *refusal) write(w http.ResponseWriter) {
	body := r.reason + "\n"
	h := w.Header()
	h.Set("Content-Type", "text/plain; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Proxy-Status", "guest; error="+r.token)
	switch r.status {
	case http.StatusProxyAuthRequired:
		h.Set("Proxy-Authenticate", `Basic realm="proxy", charset="UTF-8"`)
	case http.StatusServiceUnavailable:
		h.Set("Retry-After", "1")
	}
	// Only who may use the proxy keeps a connection, and only one on which
	// nothing odd was sent.
	if r.status != http.StatusForbidden && r.status != http.StatusBadGateway {
		h.Set("Connection", "close")
	}
	w.WriteHeader(r.status)
	_, _ = io.WriteString(w, body) // the client may have left
}
