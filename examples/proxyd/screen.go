package main

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/daemon"
)

const (
	// frame is how often the progress is drawn.
	frame = 100 * time.Millisecond
	// patience is after how long the commands are printed although not every
	// proxy works: something may be missing for hours.
	patience = time.Minute
	// maxLines is how many members the progress shows one by one.
	maxLines = 12
)

// screen is where progress and log share standard error: the log goes above
// the progress, which is drawn over again. Without a person who watches it is
// the writer alone.
type screen struct {
	live  bool
	began time.Time

	mu    sync.Mutex
	w     io.Writer
	drawn string
}

func newScreen(w io.Writer, live bool) *screen { return &screen{live: live, began: time.Now(), w: w} }

// Write writes lines of the log.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	drawn := s.drawn
	s.clear()
	n, err := s.w.Write(p)
	s.draw(drawn)
	return n, err
}

// clear takes away what is drawn. The lock is held.
func (s *screen) clear() {
	if s.drawn != "" {
		// Up as many lines, and erase to the end of the screen.
		fmt.Fprintf(s.w, "\x1b[%dA\x1b[J", strings.Count(s.drawn, "\n"))
		s.drawn = ""
	}
}

// draw draws text, which ends in a line break. The lock is held.
func (s *screen) draw(text string) {
	_, _ = io.WriteString(s.w, text)
	s.drawn = text
}

// show draws text in place of what is there.
func (s *screen) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.live && text != s.drawn {
		s.clear()
		s.draw(text)
	}
}

// say prints a line that stays.
func (s *screen) say(format string, args ...any) {
	var b bytes.Buffer
	fmt.Fprintf(&b, format+"\n", args...)
	_, _ = s.Write(b.Bytes())
}

// follow draws the progress until the fleets are as wanted, and then says so
// and calls ready, once. When ctx ends it draws again, until ended is closed.
func (s *screen) follow(ctx context.Context, ended <-chan struct{}, d *daemon.Daemon, ready func()) {
	late := time.NewTimer(patience)
	defer late.Stop()
	if s.drawUntil(d, ctx.Done(), ended, d.Settled(), late.C) {
		s.show("")
		working, wanted := count(d.Fleets())
		s.say("ready in %v: %d of %d proxies work, and the client API is at http://%s",
			time.Since(s.began).Round(10*time.Millisecond), working, wanted, d.Address())
		ready()
		select {
		case <-ctx.Done():
		case <-ended:
		}
	}
	s.drawUntil(d, nil, ended, nil, nil)
}

// drawUntil draws the progress until something of the four happens. It reports
// whether that is good news or late, and not an end.
func (s *screen) drawUntil(d *daemon.Daemon, ending, ended, good <-chan struct{}, late <-chan time.Time) bool {
	tick := time.NewTicker(frame)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			s.show(progress(d.Fleets()))
		case <-ending:
			return false
		case <-ended:
			return false
		case <-good:
			return true
		case <-late:
			return true
		}
	}
}

// ending says what the end does.
func (s *screen) ending(removes bool) {
	if !s.live {
		return
	}
	if removes {
		s.say("\nending: the proxies are deleted (Ctrl-C again ends at once)")
	} else {
		s.say("\nending: the proxies are left running")
	}
}

// finish says how it ended.
func (s *screen) finish(d *daemon.Daemon, err error) {
	s.show("")
	if err == nil && s.live {
		s.say("ended; %d proxies are left running", present(d.Fleets()))
	}
}

// count returns how many members work and how many there shall be.
func count(fleets []daemon.Fleet) (working, wanted int) {
	for _, f := range fleets {
		working += f.Working
		wanted += f.Replicas
	}
	return working, wanted
}

func present(fleets []daemon.Fleet) int {
	n := 0
	for _, f := range fleets {
		n += f.Present
	}
	return n
}

// progress is a line for each fleet, and for each of its members while there
// are few.
func progress(fleets []daemon.Fleet) string {
	var b strings.Builder
	lines := 0
	for _, f := range fleets {
		fmt.Fprintf(&b, "%s at %s: %d of %d work\n", f.Status.Fleet, f.Provider, f.Working, f.Replicas)
		for _, m := range f.Members {
			if lines++; lines > maxLines {
				break
			}
			detail := ""
			if m.Detail != "" {
				detail = "  " + m.Detail
			}
			line := fmt.Sprintf("  %-12s %s%s", m.Name, m.Phase, detail)
			// One line each, or going up would miss; 79 columns fit everywhere.
			fmt.Fprintln(&b, line[:min(len(line), 79)])
		}
	}
	return b.String()
}

// commands prints what to try next, in a form to copy into any shell.
func commands(w io.Writer, address string, token provider.Secret, fleets bool) {
	if !fleets {
		return
	}
	bearer := cmp.Or(string(token), "$TOKEN")
	if token == "" {
		fmt.Fprintln(w, "\n# TOKEN is one of the tokens of the configuration:\nTOKEN=...")
	}
	// Environment variables that name a proxy must not get in between; with
	// -x, an exception for this host must not.
	curl := `curl -sS --noproxy '*' -H "Authorization: Bearer ` + bearer + `"`
	fmt.Fprintf(w, `
# the proxies
%[1]s http://%[2]s/v1/proxies

# a lease on one
proxy=$(%[1]s -H "Content-Type: application/json" -d '{}' http://%[2]s/v1/leases | sed -n 's/.*"url":"\([^"]*\)".*/\1/p'); echo "$proxy"

# this daemon through the leased proxy
curl -sS --noproxy '' -x "$proxy" http://%[2]s/v1/whoami

`, curl, address)
}
