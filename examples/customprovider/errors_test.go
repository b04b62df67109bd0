//go:build linux

package customprovider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/crawlfleet/provider"
)

func TestKinds(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want provider.Kind
	}{
		{&net.OpError{Op: "listen", Err: os.NewSyscallError("bind", syscall.EADDRINUSE)}, provider.NoCapacity},
		{&fs.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}, provider.NoCapacity},
		{syscall.EDQUOT, provider.QuotaExceeded},
		{syscall.EAGAIN, provider.NoCapacity},
		{syscall.ENOMEM, provider.NoCapacity},
		{&fs.PathError{Op: "open", Path: "x", Err: syscall.EACCES}, provider.PermissionDenied},
		{syscall.EPERM, provider.PermissionDenied},
		{syscall.EROFS, provider.Unavailable},
		{syscall.EIO, provider.Unavailable},
		{fs.ErrClosed, provider.Unavailable},
		// A file that is missing is no promise that the instance is.
		{fs.ErrNotExist, provider.Unavailable},
		{context.Canceled, provider.Canceled},
		{context.DeadlineExceeded, provider.Unavailable},
		{errors.New("anything"), provider.Unavailable},
	} {
		p := &Provider{config: Config{Name: "test"}}
		ref := provider.Ref{Name: "a"}
		err := p.failed("Get", ref, fmt.Errorf("step: %w", tt.err))
		e := wantKind(t, tt.err.Error(), err, tt.want)
		if e.Op != "Get" || e.Provider != "test" || e.Ref != ref || !errors.Is(err, tt.err) {
			t.Errorf("%v became %#v", tt.err, e)
		}
		if (e.Location != "") != (tt.want == provider.NoCapacity) {
			t.Errorf("%v has the Location %q", tt.err, e.Location)
		}
	}
}

func TestFailedKeepsWhatIsKnown(t *testing.T) {
	p := &Provider{config: Config{Name: "test"}}
	if err := p.failed("Get", provider.Ref{}, nil); err != nil {
		t.Errorf("no error became %v", err)
	}
	err := p.failed("Create", provider.Ref{Name: "a"}, invalid("Image", "is unknown"))
	if got, want := err.Error(), "test: Create a: Invalid: Image: is unknown"; got != want {
		t.Errorf("the text is %q, want %q", got, want)
	}
	err = p.failed("Create", provider.Ref{Name: "a"}, inProgress("wait"))
	if provider.RetryAfter(err) != again {
		t.Errorf("RetryAfter is %v", provider.RetryAfter(err))
	}
}
