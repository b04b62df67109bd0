//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Descriptors of a guest, beside input, which is its document, and output and
// errors, which are its log.
const (
	aliveFD  = 3
	listenFD = 4
)

// documentPath is where a guest finds its input, on every one of the systems.
const documentPath = "/dev/stdin"

// guestPath is all of a guest's environment: what the program has in its own,
// tokens for instance, is no business of a guest.
const guestPath = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// handOver bounds how long a guest may take to read a document that is larger
// than a pipe holds.
const handOver = 5 * time.Second

// process is the content of process.json: which process the guest is.
type process struct {
	PID int `json:"pid"`
	// Start tells the process from every other that has had its ID or will
	// have it. Empty where the system does not say.
	Start string `json:"start,omitempty"`
}

// launch makes the directory of an incarnation and starts a guest in it that
// serves ln. The caller holds the name's lock and has claimed the name.
//
// The guest reads its document from a pipe, into which it is written only when
// process.json is there. When this program dies before that, the guest finds
// an empty document and ends: there is no guest that Delete could not find.
func (p *Provider) launch(ctx context.Context, i incarnation, ln *net.TCPListener, document []byte) error {
	dir := p.dir(i)
	if err := p.change(ctx, "make directory", func() error { return os.Mkdir(dir, 0o700) }); err != nil {
		return err
	}
	var files guestFiles
	defer files.close()
	err := p.change(ctx, "lock alive", func() error { return files.open(dir, ln) })
	if err != nil {
		return err
	}
	var g process
	err = p.change(ctx, "start process", func() error {
		g, err = p.spawn(&files)
		return err
	})
	if err != nil {
		return err
	}
	// From here the guest alone has the lock.
	files.closeGuestEnds()
	if err := p.change(ctx, "record process", func() error { return writeJSON(filepath.Join(dir, "process.json"), g) }); err != nil {
		return err
	}
	return p.change(ctx, "hand over document", func() error { return files.handOver(document) })
}

// spawn starts the guest's program, which this program has to reap.
func (p *Provider) spawn(files *guestFiles) (process, error) {
	argv := append(p.config.Command[:len(p.config.Command):len(p.config.Command)],
		"-config", documentPath, "-listen-fd", strconv.Itoa(listenFD))
	child, err := os.StartProcess(argv[0], argv, &os.ProcAttr{
		Dir:   "/",
		Env:   []string{guestPath},
		Files: files.inherited(),
		// A session of its own, so that Ctrl-C at the program's terminal does
		// not reach it.
		Sys: &syscall.SysProcAttr{Setsid: true},
	})
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOEXEC) {
		return process{}, invalid("Command", "the guest's program cannot be run: %w", err)
	}
	if err != nil {
		return process{}, err
	}
	// Until it is reaped, which add begins with, the ID is its own.
	g := process{PID: child.Pid, Start: startOf(child.Pid)}
	p.children.add(child.Pid)
	return g, child.Release()
}

// guestFiles are what a guest inherits, and the end of the pipe that it does
// not.
type guestFiles struct {
	document, log, alive, listener *os.File
	feed                           *os.File
}

// open opens them, and takes the lock on alive for the guest. Nobody else asks
// for that lock before started.json is there.
func (g *guestFiles) open(dir string, ln *net.TCPListener) (err error) {
	if g.log, err = os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600); err != nil {
		return err
	}
	if g.alive, err = os.OpenFile(filepath.Join(dir, "alive"), os.O_CREATE|os.O_RDWR, 0o600); err != nil {
		return err
	}
	if err := flock(g.alive, unix.LOCK_EX); err != nil {
		return fmt.Errorf("lock %s: %w", g.alive.Name(), err)
	}
	if g.listener, err = ln.File(); err != nil {
		return err
	}
	g.document, g.feed, err = os.Pipe()
	return err
}

// inherited is in the order of the descriptors.
func (g *guestFiles) inherited() []*os.File {
	return []*os.File{0: g.document, 1: g.log, 2: g.log, aliveFD: g.alive, listenFD: g.listener}
}

// handOver writes the document and ends it.
func (g *guestFiles) handOver(document []byte) error {
	if err := g.feed.SetWriteDeadline(time.Now().Add(handOver)); err != nil {
		return err
	}
	_, err := g.feed.Write(document)
	if errors.Is(err, syscall.EPIPE) {
		return fmt.Errorf("the guest ended before it had read its document%s: %w", lastLine(g.log.Name()), err)
	}
	return errors.Join(err, g.feed.Close())
}

// closeGuestEnds closes what only the guest is to have. A close without unlock
// leaves the lock to the guest's copy.
func (g *guestFiles) closeGuestEnds() {
	for _, f := range g.inherited() {
		_ = f.Close() // a second close, or one of nil, only says so
	}
}

func (g *guestFiles) close() {
	g.closeGuestEnds()
	_ = g.feed.Close()
}

// readProcess reads process.json.
func readProcess(dir string) (process, error) {
	var g process
	err := readJSON(filepath.Join(dir, "process.json"), &g)
	if err == nil && g.PID <= 1 {
		err = fmt.Errorf("process.json in %s names no process", dir)
	}
	return g, err
}

// alive reports whether a guest lives, by the lock that it inherited: that
// ends with the process however it ends, and no other process can have it.
func alive(dir string) (bool, error) { return held(filepath.Join(dir, "alive")) }

// gone reports whether nothing of the guest is left but files. It asks for
// more than the lock, which ends shortly before the process does.
func gone(dir string) (bool, error) {
	lives, err := alive(dir)
	if lives || err != nil {
		return false, err
	}
	g, err := readProcess(dir)
	if err != nil {
		// Without a readable record there is nothing but the lock to ask.
		return true, nil
	}
	return !g.lingers(), nil
}

// kill sends the guest a signal. Without process.json it does nothing: that
// guest has no document and ends by itself.
//
// The handle comes first. Whether it is the guest is asked afterwards, of the
// process that has the ID then; as that was started before the handle was
// taken, the handle means the same one, and goes on to mean it.
func (p *Provider) kill(ctx context.Context, dir string, sig os.Signal) error {
	g, err := readProcess(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	handle, err := os.FindProcess(g.PID)
	if err != nil {
		return err
	}
	defer func() { _ = handle.Release() }()
	if !g.confirmed(dir) {
		lives, err := alive(dir)
		if err == nil && lives {
			err = fmt.Errorf("process %d is not the guest, or cannot be seen from here; nothing was signalled, end the one that holds %s",
				g.PID, filepath.Join(dir, "alive"))
		}
		return err
	}
	err = p.change(ctx, "signal", func() error { return handle.Signal(sig) })
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// children are the processes that this program has to reap. The zero value is
// ready.
type children struct {
	mu   sync.Mutex
	pids map[int]struct{}
}

func (c *children) add(pid int) {
	c.mu.Lock()
	if c.pids == nil {
		c.pids = map[int]struct{}{}
	}
	c.pids[pid] = struct{}{}
	c.mu.Unlock()
	c.reap() // it may have ended before it was in the set
}

// reap takes those that have ended out of the process table. An ID that was
// not reaped yet cannot have been given to another process.
func (c *children) reap() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for pid := range c.pids {
		if reapOne(pid) {
			delete(c.pids, pid)
		}
	}
}

// reapOne reports whether the child has ended, or is none (any more).
func reapOne(pid int) bool {
	got, err := unix.Wait4(pid, nil, unix.WNOHANG, nil)
	return got == pid || errors.Is(err, unix.ECHILD)
}

// reapUntil reaps whenever a child of this program has ended.
func (c *children) reapUntil(ctx context.Context) {
	ended := make(chan os.Signal, 1)
	signal.Notify(ended, syscall.SIGCHLD)
	defer signal.Stop(ended)
	for {
		select {
		case <-ended:
			c.reap()
		case <-ctx.Done():
			return
		}
	}
}

// writeJSON writes a file that is there completely or not at all.
func writeJSON(path string, v any) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

func readJSON(path string, v any) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	return nil
}
