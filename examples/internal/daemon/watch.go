package daemon

import (
	"crypto/sha256"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"
)

// debounce is how long a file must be left alone before it is read: editors
// and copies write in several steps.
const debounce = 250 * time.Millisecond

// watch tells of changes of the file's content. Directories are watched and
// not the file, because editors replace it, and because in a volume of a
// Kubernetes ConfigMap it is a link through a link that is replaced.
func (d *Daemon) watch() (changes <-chan struct{}, stop func()) {
	none := func() {}
	if d.opts.Watch == "" || d.opts.Load == nil {
		return nil, none
	}
	w, err := fsnotify.NewWatcher()
	if err == nil {
		err = w.Add(filepath.Dir(d.opts.Watch))
	}
	if err != nil {
		d.log.Warn("the configuration is not watched", "error", err, "next", "SIGHUP reads it again")
		if w != nil {
			_ = w.Close()
		}
		return nil, none
	}
	out, done := make(chan struct{}), make(chan struct{})
	f := &watched{path: d.opts.Watch, watcher: w, out: out, done: done}
	f.sum, _ = f.read()
	f.follow()
	ended := make(chan struct{})
	go func() { defer close(ended); f.run(d) }()
	return out, func() { close(done); _ = w.Close(); <-ended }
}

// watched is one file.
type watched struct {
	path    string
	watcher *fsnotify.Watcher
	out     chan<- struct{}
	done    <-chan struct{}
	sum     [sha256.Size]byte
	target  string // the directory that a link leads to
}

// read returns the digest of the content, and whether there is any: a file
// that is gone is about to be replaced.
func (f *watched) read() ([sha256.Size]byte, bool) {
	data, err := os.ReadFile(f.path)
	return sha256.Sum256(data), err == nil
}

// follow watches the directory in which the file really is.
func (f *watched) follow() {
	real, err := filepath.EvalSymlinks(f.path)
	if err != nil || filepath.Dir(real) == f.target {
		return
	}
	if f.target != "" && f.target != filepath.Dir(f.path) {
		_ = f.watcher.Remove(f.target)
	}
	f.target = filepath.Dir(real)
	_ = f.watcher.Add(f.target) // the link itself is watched in any case
}

// run tells of a change when the directory has been quiet for a moment and the
// content is another.
func (f *watched) run(d *Daemon) {
	quiet := time.NewTimer(debounce)
	quiet.Stop()
	for {
		select {
		case _, ok := <-f.watcher.Events:
			if !ok {
				return
			}
			quiet.Reset(debounce)
		case err, ok := <-f.watcher.Errors:
			if !ok {
				return
			}
			d.log.Warn("watching the configuration", "error", err)
			quiet.Reset(debounce) // events may be lost
		case <-quiet.C:
			f.follow()
			sum, ok := f.read()
			if !ok || sum == f.sum {
				continue
			}
			f.sum = sum
			select {
			case f.out <- struct{}{}:
			case <-f.done:
				return
			}
		case <-f.done:
			return
		}
	}
}
