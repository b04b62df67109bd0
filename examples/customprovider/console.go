//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/crawlfleet/provider"
)

// followPause is between two looks at a log that is followed. A person reads
// along, and watching the file would take another dependency.
const followPause = 200 * time.Millisecond

// Console implements [provider.Console]: the log is what the guest prints. A
// run before the last restart is Unsupported, because nothing restarts a guest.
func (p *Provider) Console(ctx context.Context, ref provider.Ref, w io.Writer, opts provider.ConsoleOptions) error {
	return p.call(ctx, "Console", ref, func(ctx context.Context) error {
		if opts.Previous {
			return &provider.Error{Kind: provider.Unsupported, Field: "Previous",
				Err: errors.New("a local guest is never restarted, so there is no run before this one")}
		}
		inst, err := p.get(ref)
		if err != nil {
			return err
		}
		// The name alone may mean another incarnation by now.
		token, err := parseID(inst.ID)
		if err != nil {
			return err
		}
		return p.copyLog(ctx, p.dir(incarnation{record: record{Name: inst.Name, Token: token}}), w, opts)
	})
}

// copyLog copies the log in dir from the offset on.
func (p *Provider) copyLog(ctx context.Context, dir string, w io.Writer, opts provider.ConsoleOptions) error {
	f, err := os.Open(filepath.Join(dir, "log"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it was not started, or is gone since: there is no more
	}
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(max(0, opts.Offset), io.SeekStart); err != nil {
		return err
	}
	for {
		// Asked before the copy: what it printed last is copied as well.
		lives, err := alive(dir)
		if err == nil {
			_, err = io.Copy(w, untilEnded{ctx, f})
		}
		if err == nil && opts.Follow && lives {
			err = sleep(ctx, followPause)
		}
		switch {
		case opts.Follow && ctx.Err() != nil && errors.Is(err, ctx.Err()) && !errors.Is(err, fs.ErrClosed):
			return nil // a good end of Follow
		case err != nil:
			return fmt.Errorf("copy the log: %w", err)
		case !opts.Follow || !lives:
			return nil
		}
	}
}

// untilEnded reads until the context of the call ends.
type untilEnded struct {
	ctx context.Context
	r   io.Reader
}

func (u untilEnded) Read(b []byte) (int, error) {
	if err := ended(u.ctx); err != nil {
		return 0, err
	}
	return u.r.Read(b)
}
