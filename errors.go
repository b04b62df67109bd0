package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Kind says what a caller does about an error. Kinds are strings because they
// reach status fields; one that a reader does not know it reads as Unavailable.
type Kind string

// The kinds. The sentence after each is what the caller does.
const (
	// NotFound: the backend is sure that it does not exist. Rebuild it, or be
	// done with deleting it.
	NotFound Kind = "NotFound"
	// Conflict: the backend's name is held by something that is not ours.
	// Retry slowly and show it.
	Conflict Kind = "Conflict"
	// InProgress: accepted or going on, and not finished. Call again after
	// RetryAfter.
	InProgress Kind = "InProgress"
	// Invalid: this spec, ID or configuration cannot work; Field says which
	// part. Retry slowly, because configuration changes unseen, and show it.
	Invalid Kind = "Invalid"
	// Unsupported: this provider cannot do that. As Invalid.
	Unsupported Kind = "Unsupported"
	// Unauthenticated: the credentials were refused. Retry slowly and alert.
	Unauthenticated Kind = "Unauthenticated"
	// PermissionDenied: the credentials do not allow that. Retry slowly and alert.
	PermissionDenied Kind = "PermissionDenied"
	// QuotaExceeded: the account's limit is reached. Retry slowly and alert.
	QuotaExceeded Kind = "QuotaExceeded"
	// NoCapacity: there is none at Location now. Go elsewhere, or come later.
	NoCapacity Kind = "NoCapacity"
	// RateLimited: asked too often. Call again after RetryAfter.
	RateLimited Kind = "RateLimited"
	// Canceled: the caller's context ended it. Nothing.
	Canceled Kind = "Canceled"
	// Unavailable: unreachable, failing, timed out or unclassified. Back off.
	Unavailable Kind = "Unavailable"
)

// conclusive orders the kinds from the least conclusive to the most: of two
// branches of a join, the one that leaves more open decides. A NotFound at one
// host beside an Unavailable at another must not look like a missing machine.
var conclusive = []Kind{
	Unavailable, Canceled, RateLimited, InProgress, NoCapacity, QuotaExceeded,
	Unauthenticated, PermissionDenied, Unsupported, Invalid, Conflict, NotFound,
}

// Kinds returns every kind, from the least conclusive to the most.
func Kinds() []Kind { return slices.Clone(conclusive) }

// Error is the error of every method of a [Provider].
//
// There are no values for errors.Is, on purpose: an Invalid that wraps a
// NotFound would match both, and its caller would rebuild what is there.
type Error struct {
	// Kind says what to do. When it is empty, the Kind of Err counts.
	Kind Kind
	// Op is the method in the contract's words: "Create", "Get".
	Op string
	// Provider is Info.Name.
	Provider string
	// Field names the part of a spec, ref or configuration that is Invalid or
	// Unsupported, in Go's words: "Size.MemoryBytes", "AllowFrom[2]", "ID".
	Field string
	// Location is the place that it is about. NoCapacity has one.
	Location string
	// Ref is the instance that it is about, as far as it is known.
	Ref Ref
	// RetryAfter is how long the backend wants to be left alone. Zero when it
	// did not say.
	RetryAfter time.Duration
	// Err is the cause: the backend's own error, or a text that names the way
	// out. It must not contain a credential.
	Err error
}

// Error returns "provider: Op name at location: Kind: Field: cause". What an
// [*Error] directly below says again is left out.
func (e *Error) Error() string {
	kind := e.kind()
	if kind == "" {
		kind = Unavailable
	}
	return e.text(Error{}, kind)
}

// text is the error's own text below what has been said already, without the
// kind where that is empty.
func (e *Error) text(said Error, kind Kind) string {
	var subject, parts []string
	add := func(list *[]string, said *string, prefix, s string) {
		if s != "" && s != *said {
			*list = append(*list, prefix+s)
			*said = s
		}
	}
	add(&parts, &said.Provider, "", e.Provider)
	add(&subject, &said.Op, "", e.Op)
	if e.Ref != (Ref{}) && e.Ref != said.Ref && e.Ref != (Ref{Name: said.Ref.Name}) {
		subject = append(subject, e.Ref.String())
		said.Ref = e.Ref
	}
	add(&subject, &said.Location, "at ", e.Location)
	if len(subject) > 0 {
		parts = append(parts, strings.Join(subject, " "))
	}
	if kind != "" {
		parts = append(parts, string(kind))
	}
	add(&parts, &said.Field, "", e.Field)
	if inner, ok := e.Err.(*Error); ok {
		kind := inner.kind()
		if kind == e.kind() {
			kind = ""
		}
		parts = append(parts, inner.text(said, kind))
	} else if e.Err != nil {
		parts = append(parts, e.Err.Error())
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ": ")
}

// kind is the error's own Kind, or that of its cause.
func (e *Error) kind() Kind {
	if e.Kind != "" {
		return e.Kind
	}
	k, _ := kindOf(e.Err)
	return k
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// KindOf returns the Kind of err: that of the outermost error in its chain
// that has one. In a join, the least conclusive of its branches counts. The
// error of a context is Canceled or, after a deadline, Unavailable, and
// whatever else has no Kind is Unavailable. KindOf(nil) is empty.
func KindOf(err error) Kind {
	if err == nil {
		return ""
	}
	if k, ok := kindOf(err); ok {
		return k
	}
	return Unavailable
}

// kindOf reports the Kind of err, and whether anything in it has one.
func kindOf(err error) (Kind, bool) {
	for err != nil {
		switch e := err.(type) {
		case *Error:
			if e.Kind != "" {
				return known(e.Kind), true
			}
		case *PartialError:
			return Unavailable, true
		case interface{ Unwrap() []error }:
			return kindOfJoin(e.Unwrap())
		}
		switch err {
		case context.Canceled:
			return Canceled, true
		case context.DeadlineExceeded:
			return Unavailable, true
		}
		err = errors.Unwrap(err)
	}
	return "", false
}

func kindOfJoin(errs []error) (Kind, bool) {
	least, any := Kind(""), false
	for _, err := range errs {
		if err == nil {
			continue
		}
		k := KindOf(err)
		if !any || rank(k) < rank(least) {
			least, any = k, true
		}
	}
	return least, any
}

func known(k Kind) Kind {
	if slices.Contains(conclusive, k) {
		return k
	}
	return Unavailable
}

func rank(k Kind) int { return slices.Index(conclusive, k) }

// RetryAfter returns how long the backend asked to be left alone: the
// outermost such time in the chain of err, and in a join the longest. Zero
// means that the caller backs off by its own rule.
func RetryAfter(err error) time.Duration {
	for err != nil {
		if e, ok := err.(*Error); ok && e.RetryAfter > 0 {
			return e.RetryAfter
		}
		if join, ok := err.(interface{ Unwrap() []error }); ok {
			var longest time.Duration
			for _, err := range join.Unwrap() {
				longest = max(longest, RetryAfter(err))
			}
			return longest
		}
		err = errors.Unwrap(err)
	}
	return 0
}

// IsPermanent reports whether err stays until somebody changes the spec, the
// configuration or the backend: Conflict, Invalid or Unsupported. A caller
// retries all the same, but slowly, because it cannot see that change.
func IsPermanent(err error) bool {
	switch KindOf(err) {
	case Conflict, Invalid, Unsupported:
		return true
	}
	return false
}

// PartialError is the error of a List that could not ask every place. Its Kind
// is Unavailable. The items returned beside it are valid; an absence among
// them says nothing.
type PartialError struct {
	// Missing are the places that the list does not cover, at least one.
	Missing []Place
}

// Place is a location that could not be asked.
type Place struct {
	// Location is its name in the words of Info.Locations.
	Location string
	// Err is why.
	Err error
}

// Error names the places in alphabetical order, each with its cause.
func (e *PartialError) Error() string {
	missing := slices.SortedStableFunc(slices.Values(e.Missing), func(a, b Place) int {
		return cmp.Compare(a.Location, b.Location)
	})
	var b strings.Builder
	b.WriteString("the list does not cover ")
	for i, p := range missing {
		if i > 0 {
			b.WriteString("; ")
		}
		fmt.Fprintf(&b, "%s: %v", cmp.Or(p.Location, "the only place"), p.Err)
	}
	return b.String()
}

// Unwrap returns the causes, so that RetryAfter and errors.As see them.
func (e *PartialError) Unwrap() []error {
	errs := make([]error, 0, len(e.Missing))
	for _, p := range e.Missing {
		if p.Err != nil {
			errs = append(errs, p.Err)
		}
	}
	return errs
}
