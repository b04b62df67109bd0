//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package daemon

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"

	"github.com/crawlfleet/provider"
)

// lockName is the file in the state directory that a running daemon has
// locked. It stays there; the lock goes with the process, however that ends.
const lockName = "proxyd.lock"

// lock makes sure that no other daemon uses the state directory. The file has
// the process ID of the holder, for the error of whoever comes second.
func lock(dir string) (unlock func(), err error) {
	path := filepath.Join(dir, lockName)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, &provider.Error{Kind: provider.Invalid, Field: "stateDir", Err: fmt.Errorf("cannot be locked: %w", err)}
	}
	for {
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EINTR) {
			break
		}
	}
	if err == nil {
		if err = f.Truncate(0); err == nil {
			_, err = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
		}
		if err == nil {
			return func() { _ = f.Close() }, nil
		}
	}
	defer f.Close()
	if errors.Is(err, syscall.EWOULDBLOCK) {
		err = fmt.Errorf("%s is in use by %s; end that one, or name another directory with -state-dir", dir, holder(path))
	} else {
		err = fmt.Errorf("locking %s: %w", path, err)
	}
	return nil, &provider.Error{Kind: provider.Invalid, Field: "stateDir", Err: err}
}

// holder names who has the lock.
func holder(path string) string {
	text, err := os.ReadFile(path)
	pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || convErr != nil {
		return "another daemon"
	}
	return "the daemon with process ID " + strconv.Itoa(pid)
}
