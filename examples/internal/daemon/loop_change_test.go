package daemon

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/providertest"
)

// Members of the old revision are used with its credentials while the new one
// is rolled out, one at a time.
func TestLoopRollsCredentials(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		fleets := func(revision, user string) string {
			return web(2, fmt.Sprintf(", spec: {revision: %q, credentials: {username: %s}}", revision, user))
		}
		b := newBench(t, fleets("1", "first"), newBackend(providertest.FakeOptions{Boot: 30 * time.Second}))
		b.start()
		b.after(time.Minute)
		was := b.instances()
		b.configure(fleets("2", "second"))
		b.after(20 * time.Second) // one is being made, the other waits
		used := map[string]string{}
		b.mu.Lock()
		for name, inst := range was {
			used[name] = b.seen[inst.Endpoint].Username
		}
		b.mu.Unlock()
		if used["web-0"] != "first" || used["web-1"] != "first" {
			t.Errorf("checked with %v", used)
		}
		b.wantWorking("web-1")
		b.world.board.mu.Lock()
		for _, p := range b.world.board.proxies["p"] {
			if p.Name == "web-1" && p.Credentials.Username != "first" {
				t.Errorf("handed out with %s", p.Credentials.Username)
			}
		}
		b.world.board.mu.Unlock()
		b.after(5 * time.Minute)
		b.wantWorking("web-0 web-1")
		now := b.instances()
		b.mu.Lock()
		defer b.mu.Unlock()
		for name, inst := range now {
			if inst.ID == was[name].ID {
				t.Errorf("%s was not replaced", name)
			}
			if user := b.seen[inst.Endpoint].Username; user != "second" {
				t.Errorf("%s is checked with %s", name, user)
			}
		}
	})
}

// A provider that cannot be opened is tried again; one whose keys change is
// opened anew, and its fleet does not notice.
func TestLoopOpens(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(2, ""), newBackend(providertest.FakeOptions{}))
		opened := 0
		b.loop.opening.open = func(context.Context, string, config.Provider) (provider.Provider, error) {
			if opened++; opened <= 3 {
				return nil, failing(provider.Unauthenticated, 0)
			}
			return b.backend.Provider(owner), nil
		}
		b.start()
		b.after(time.Second)
		if s := b.world.board.status()[0]; s.LastError == nil || s.LastError.Kind != provider.Unauthenticated {
			t.Errorf("the status is %+v", s)
		}
		b.after(time.Minute)
		b.wantWorking("web-0 web-1")
		s := b.settings(web(2, ""))
		s.provider.Kind = "other"
		b.loop.send(func() { b.loop.configure(s) })
		b.after(time.Minute)
		b.wantWorking("web-0 web-1")
		if opened != 5 || b.count("Create") != 2 {
			t.Errorf("opened %d times, %d Creates", opened, b.count("Create"))
		}
	})
}

// A refusal of the backend is not asked about for each member, and is over as
// soon as a changed configuration may have cured it.
func TestLoopBacksOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := newBench(t, web(5, ""), newBackend(providertest.FakeOptions{Quota: 2}))
		b.start()
		b.after(10 * time.Minute)
		if got := b.working(); len(strings.Fields(got)) != 2 {
			t.Errorf("%q work, of a quota of 2", got)
		}
		// Each member at most once before the first refusal is known, and then
		// one after each pause of about five minutes.
		if n := b.count("Create"); n > 5+2 {
			t.Errorf("%d Creates in ten minutes of no quota", n)
		}
		if !strings.Contains(b.log.String(), "kind=QuotaExceeded") || !strings.Contains(b.log.String(), "next=\"tried again in 4m") && !strings.Contains(b.log.String(), "next=\"tried again in 5m") {
			t.Errorf("the log does not say what and when:\n%s", b.log)
		}
	})
}
