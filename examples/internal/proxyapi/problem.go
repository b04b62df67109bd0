package proxyapi

import (
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// Code says what went wrong as a stable word for programs. The reasons of
// package lease are codes too.
type Code string

// The codes. docs/api.md says what a client does about each.
const (
	// CodeBadRequest: the body is not the JSON that the route takes.
	CodeBadRequest Code = "bad_request"
	// CodeInvalid: a field or a parameter cannot be used; Field names it.
	CodeInvalid Code = "invalid"
	// CodeUnauthenticated: there is no token, or not a known one.
	CodeUnauthenticated Code = "unauthenticated"
	// CodeForbidden: the token does not allow that.
	CodeForbidden Code = "forbidden"
	// CodeNoRoute: nothing is served at that path.
	CodeNoRoute Code = "no_route"
	// CodeMethod: the path is served with other methods.
	CodeMethod Code = "method_not_allowed"
	// CodeNoLease: there is no such lease of this token.
	CodeNoLease Code = "no_lease"
	// CodeTooLarge: the body is longer than [MaxBody].
	CodeTooLarge Code = "too_large"
	// CodeMediaType: the body is not announced as JSON.
	CodeMediaType Code = "unsupported_media_type"
	// CodeNotReady: the program has not looked at its fleet yet.
	CodeNotReady Code = "not_ready"
	// CodeInternal: a fault of the server.
	CodeInternal Code = "internal"
)

// Problem is the body of every answer that is not a success (RFC 9457). It is
// an error, which a handler returns.
type Problem struct {
	// Type is "about:blank": Code is what programs read.
	Type string `json:"type"`
	// Title is the text of the status.
	Title string `json:"title"`
	// Status is that of the answer.
	Status int `json:"status"`
	// Code says what went wrong.
	Code Code `json:"code"`
	// Detail says it for a person.
	Detail string `json:"detail"`
	// Field is the part of the request that it is about, if one is.
	Field string `json:"field,omitempty"`
	// Reason is why the lease's proxy went, as [lease.EndedError] has it.
	Reason string `json:"reason,omitempty"`
	// RequestID is the answer's X-Request-Id.
	RequestID string `json:"requestId"`
	// RetryAfter becomes the header of that name, in whole seconds. Zero sends
	// none.
	RetryAfter time.Duration `json:"-"`
}

// Error returns the code and the detail.
func (p Problem) Error() string { return string(p.Code) + ": " + p.Detail }

// writeProblem answers with p, whose Status, Code and Detail are set.
func writeProblem(w http.ResponseWriter, p Problem) {
	p.Type = "about:blank"
	p.Title = http.StatusText(p.Status)
	p.RequestID = w.Header().Get(requestIDHeader)
	if p.RetryAfter > 0 {
		// Rounded up, so that who waits as long is not early.
		w.Header().Set("Retry-After", strconv.FormatFloat(math.Ceil(p.RetryAfter.Seconds()), 'f', 0, 64))
	}
	writeBody(w, p.Status, "application/problem+json", p)
}

// writeJSON answers with a body.
func writeJSON(w http.ResponseWriter, status int, body any) error {
	writeBody(w, status, "application/json", body)
	return nil
}

// writeBody writes JSON. The bodies are structs of this package that always
// encode; that the client has gone is nobody's concern.
func writeBody(w http.ResponseWriter, status int, contentType string, body any) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	_ = e.Encode(body)
}

// problemOf turns the error of a handler into the problem to answer with.
func problemOf(err error) Problem {
	if p, ok := errors.AsType[Problem](err); ok {
		return p
	}
	if e, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return Problem{Status: http.StatusRequestEntityTooLarge, Code: CodeTooLarge,
			Detail: "the body has more than " + strconv.FormatInt(e.Limit, 10) + " bytes"}
	}
	if e, ok := errors.AsType[*lease.FieldError](err); ok {
		return Problem{Status: http.StatusBadRequest, Code: CodeInvalid, Field: e.Field, Detail: e.Error()}
	}
	if e, ok := errors.AsType[*lease.DeniedError](err); ok {
		status := http.StatusServiceUnavailable
		if e.Reason == lease.AtCap {
			status = http.StatusTooManyRequests
		}
		return Problem{Status: status, Code: Code(e.Reason), Detail: e.Error(), RetryAfter: e.RetryAfter}
	}
	if e, ok := errors.AsType[*lease.EndedError](err); ok {
		return Problem{Status: http.StatusGone, Code: Code(e.End), Detail: e.Error(), Reason: e.Reason}
	}
	if errors.Is(err, lease.ErrUnknown) {
		return Problem{Status: http.StatusNotFound, Code: CodeNoLease,
			Detail: "this token has no such lease, or it ended too long ago"}
	}
	return internal()
}

// internal says nothing of the fault, which may hold what is not the client's.
func internal() Problem {
	return Problem{Status: http.StatusInternalServerError, Code: CodeInternal,
		Detail: "the server failed; its log has more under the request ID"}
}
