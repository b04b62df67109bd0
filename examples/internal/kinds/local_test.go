//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kinds

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDaemon: guests reach the daemon where it listens, at its port alone.
func TestDaemon(t *testing.T) {
	loopback := `[{"prefix":"127.0.0.1/32","ports":[8899]},{"prefix":"::1/128","ports":[8899]}]`
	for listen, want := range map[string]string{
		"127.0.0.1:8899":        `[{"prefix":"127.0.0.1/32","ports":[8899]}]`,
		"192.0.2.1:80":          `[{"prefix":"192.0.2.1/32","ports":[80]}]`,
		"[2001:db8::1]:80":      `[{"prefix":"2001:db8::1/128","ports":[80]}]`,
		"[::ffff:192.0.2.1]:80": `[{"prefix":"192.0.2.1/32","ports":[80]}]`,
		"[fe80::1%eth0]:443":    `[{"prefix":"fe80::1/128","ports":[443]}]`,
		":8899":                 loopback,
		"0.0.0.0:8899":          loopback,
		"[::]:8899":             loopback,
	} {
		open, err := daemon(t.Context(), listen)
		if err != nil {
			t.Errorf("%s: %v", listen, err)
		}
		if got, err := json.Marshal(open); err != nil || string(got) != want {
			t.Errorf("%s: %s, %v, want %s", listen, got, err, want)
		}
	}
	// A name is opened with all addresses that it has here.
	open, err := daemon(t.Context(), "localhost:9")
	if err != nil || len(open) == 0 || !open[0].Prefix.Addr().IsLoopback() || open[0].Ports[0] != 9 {
		t.Errorf("localhost: %v, %v", open, err)
	}
	for listen, want := range map[string]string{
		"127.0.0.1":       "the daemon's address",
		"127.0.0.1:0":     "has no port",
		"127.0.0.1:http":  "has no port",
		"127.0.0.1:70000": "has no port",
		"no host:1":       "the daemon's address",
	} {
		if open, err := daemon(t.Context(), listen); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want an error with %q", listen, open, err, want)
		}
	}
}
