//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package customprovider

// These systems have neither a handle of a process nor a cheap way to its
// start. What is weaker here: between the look at the guest's lock and the
// signal the guest may end and its process ID go to another process of this
// user, a matter of microseconds; Delete may return a moment before the
// process is out of the table; and a guest that an earlier provider of the
// same program started stays in the table until the program ends.

func startOf(int) string { return "" }

// confirmed reports whether the guest lives: then its ID is still its own.
func (g process) confirmed(dir string) bool {
	lives, err := alive(dir)
	return err == nil && lives
}

func (g process) lingers() bool { return false }
