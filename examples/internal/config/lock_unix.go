//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package config

import (
	"fmt"
	"os"
	"syscall"
)

// lock takes the lock that the file at path stands for, waiting for whoever
// has it, and returns what gives it back. The system gives it back when the
// program dies.
func lock(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("opening the lock: %w", err)
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX)
		if err != syscall.EINTR {
			break
		}
	}
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { _ = f.Close() }, nil
}
