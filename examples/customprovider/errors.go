//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"errors"
	"fmt"
	"io/fs"
	"syscall"

	"github.com/crawlfleet/provider"
)

// kinds is the one place where the system's errors get their Kind. The first
// entry that matches counts. What is not here is Unavailable, which is what
// the rules ask for: a missing file in particular is not a missing instance
// (only [Provider.Get] says that, after it asked sure).
var kinds = []struct {
	native error
	kind   provider.Kind
}{
	// A port that somebody else listens on is free again later, and free
	// elsewhere. It is not Conflict: that is about the instance's name, and
	// lasts until a person acts.
	{syscall.EADDRINUSE, provider.NoCapacity},
	{syscall.ENOSPC, provider.NoCapacity},
	{syscall.EDQUOT, provider.QuotaExceeded},
	// fork(2): too many processes of this user, or no memory.
	{syscall.EAGAIN, provider.NoCapacity},
	{syscall.ENOMEM, provider.NoCapacity},
	{fs.ErrPermission, provider.PermissionDenied},
}

// failed returns err as an *Error in the caller's words: operation, provider
// and ref. An *Error of this package keeps its Kind, Field and RetryAfter.
func (p *Provider) failed(op string, ref provider.Ref, err error) error {
	if err == nil {
		return nil
	}
	e := &provider.Error{Err: err}
	if inner, ok := errors.AsType[*provider.Error](err); ok {
		*e = *inner
	} else {
		e.Kind = kindOf(err)
	}
	e.Op, e.Provider, e.Ref = op, p.config.Name, ref
	if e.Kind == provider.NoCapacity {
		e.Location = place
	}
	return e
}

// kindOf classifies what the system answered. The end of a context has no
// entry: provider.KindOf knows it.
func kindOf(err error) provider.Kind {
	for _, k := range kinds {
		if errors.Is(err, k.native) {
			return k.kind
		}
	}
	return provider.KindOf(err)
}

func invalid(field, format string, args ...any) error {
	return &provider.Error{Kind: provider.Invalid, Field: field, Err: fmt.Errorf(format, args...)}
}

// supported refuses what this provider cannot honour. The spec is valid.
func supported(spec provider.Spec) error {
	no := func(field, format string, args ...any) error {
		return &provider.Error{Kind: provider.Unsupported, Field: field, Err: fmt.Errorf(format, args...)}
	}
	switch {
	case spec.Image != "" && spec.Image != Image:
		return invalid("Image", "there is no image %q; leave it empty or write %q", spec.Image, Image)
	case spec.Location != "":
		return no("Location", "there is but one place; leave it empty")
	case spec.Size != provider.Size{}:
		return no("Size", "a process has no size of its own; leave it empty")
	case spec.Preemptible:
		return no("Preemptible", "nobody takes a local process back; leave it false")
	}
	return nil
}
