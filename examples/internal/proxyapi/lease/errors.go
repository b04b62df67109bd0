package lease

import (
	"errors"
	"fmt"
	"time"
)

// ErrUnknown is the error for a lease that the Pool does not know, or that
// belongs to another holder: the two look alike on purpose.
var ErrUnknown = errors.New("no such lease")

// FieldError says which part of a request cannot be used.
type FieldError struct {
	// Field is the path of the part in the client API's words: "ttl",
	// "selector.labels".
	Field string
	// Err says what is wrong with it and what it should be.
	Err error
}

// Error returns "field: cause".
func (e *FieldError) Error() string { return e.Field + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *FieldError) Unwrap() error { return e.Err }

func fieldError(field, format string, args ...any) error {
	return &FieldError{Field: field, Err: fmt.Errorf(format, args...)}
}

// Reason is why no proxy was handed out: a stable word for programs.
type Reason string

// The reasons, from the most general to the most particular. The last is the
// demand's, the others are the supply's.
const (
	// NoProxies: there are none at all.
	NoProxies Reason = "no_proxies"
	// NoneMatch: there are some, and the selector takes none of them.
	NoneMatch Reason = "none_match"
	// NoneWorking: some match, and none of those works or all of them drain.
	NoneWorking Reason = "none_working"
	// AtCap: some are eligible, and each has as many leases as it may have.
	AtCap Reason = "at_cap"
)

// Reasons returns every reason.
func Reasons() []Reason { return []Reason{NoProxies, NoneMatch, NoneWorking, AtCap} }

// DeniedError is the error of [Pool.Lease] when no proxy is eligible.
type DeniedError struct {
	// Reason says why.
	Reason Reason
	// RetryAfter is how long it takes at most until the answer may change: for
	// AtCap until the first lease on a matching proxy expires, otherwise
	// [Options.RetryAfter]. It is greater than zero.
	RetryAfter time.Duration
}

// Error says why in a sentence for a person.
func (e *DeniedError) Error() string {
	switch e.Reason {
	case NoProxies:
		return "there are no proxies"
	case NoneMatch:
		return "no proxy matches the selector"
	case NoneWorking:
		return "no proxy that matches is working"
	}
	return "every proxy that matches has as many leases as it may have"
}

// End is how a lease ended: a stable word for programs.
type End string

// The ends.
const (
	// Released: its holder gave it back.
	Released End = "released"
	// Expired: its time was over.
	Expired End = "expired"
	// Gone: its proxy is not there any more.
	Gone End = "proxy_gone"
)

// Ends returns every end.
func Ends() []End { return []End{Released, Expired, Gone} }

// EndedError is the error for a lease that was there and has ended.
type EndedError struct {
	// End says how.
	End End
	// Reason is the last [Proxy.Reason] of the proxy, for Gone; it may be empty.
	Reason string
	// At is when it ended.
	At time.Time
}

// Error says how it ended in a sentence for a person.
func (e *EndedError) Error() string {
	switch {
	case e.End == Released:
		return "the lease was released"
	case e.End == Expired:
		return "the lease has expired"
	case e.Reason == "":
		return "the lease ended because its proxy is gone"
	}
	return "the lease ended because its proxy is gone: " + e.Reason
}
