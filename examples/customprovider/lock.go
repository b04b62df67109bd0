//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"

	"github.com/crawlfleet/provider"
)

// Waiting for the lock of a name.
const (
	// lockPatience bounds the wait, so that a program that was stopped while
	// it held the lock answers its callers InProgress and not never. What is
	// done under a lock takes milliseconds.
	lockPatience = 10 * time.Second
	// lockPause is between two tries: flock(2) cannot wait for a context.
	lockPause = 5 * time.Millisecond
)

// lock waits until this call alone may change what has the name, among all
// programs, and returns the function that ends that. The lock file is removed
// with the lock, so that no file stays for a name that is gone.
func (p *Provider) lock(ctx context.Context, name string) (unlock func(), err error) {
	path := p.path("locks", filepath.Base(p.claimPath(name)))
	for deadline := time.Now().Add(lockPatience); ; {
		f, err := tryLock(path)
		if err != nil {
			return nil, err
		}
		if f != nil {
			return func() {
				// Removed first: whoever waits sees that its file is gone.
				_ = os.Remove(path)
				_ = f.Close()
			}, nil
		}
		if time.Now().After(deadline) {
			return nil, &provider.Error{Kind: provider.InProgress, RetryAfter: time.Second,
				Err: fmt.Errorf("another program is at work on it and holds %s", path)}
		}
		if err := sleep(ctx, lockPause); err != nil {
			return nil, err
		}
	}
}

// tryLock takes the lock at path and returns its file, or nil while another
// has it.
func tryLock(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	err = flock(f, unix.LOCK_EX)
	if err == nil && !current(f, path) {
		err = unix.EWOULDBLOCK // the last holder removed this file
	}
	if err == nil {
		return f, nil
	}
	_ = f.Close()
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, nil
	}
	return nil, fmt.Errorf("lock %s: %w", path, err)
}

// current reports whether path still leads to the open file.
func current(f *os.File, path string) bool {
	open, openErr := f.Stat()
	there, err := os.Lstat(path)
	return openErr == nil && err == nil && os.SameFile(open, there)
}

// sweepLocks removes the lock files of programs that died while they held one.
// What cannot be removed is in nobody's way.
func (p *Provider) sweepLocks() {
	entries, _ := os.ReadDir(p.path("locks"))
	for _, e := range entries {
		path := p.path("locks", e.Name())
		if f, err := tryLock(path); err == nil && f != nil {
			_ = os.Remove(path)
			_ = f.Close()
		}
	}
}

// held reports whether somebody has the lock on the file at path, without
// getting in the way: nobody waits for that lock.
func held(path string) (bool, error) {
	f, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer f.Close()
	err = flock(f, unix.LOCK_SH)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return true, nil
	}
	return false, err
}

// flock locks the open file without waiting. The lock belongs to the open file
// and its copies in other processes, and ends with the last of them.
func flock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}
