package daemon

import (
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
)

func TestCheckURL(t *testing.T) {
	for _, test := range []struct{ configured, kind, listen, want string }{
		{"", "local", "127.0.0.1:8899", "http://127.0.0.1:8899/v1/whoami"},
		{"", "local", "[::]:8899", "http://127.0.0.1:8899/v1/whoami"},
		{"", "local", "0.0.0.0:8899", "http://127.0.0.1:8899/v1/whoami"},
		{"", "local", "[::1]:8899", "http://[::1]:8899/v1/whoami"},
		{"", "gcp", "127.0.0.1:8899", ""},
		{"https://example.com/ip", "gcp", "127.0.0.1:8899", "https://example.com/ip"},
		{"https://example.com/ip", "local", "127.0.0.1:8899", "https://example.com/ip"},
	} {
		u, err := checkURL(test.configured, test.kind, test.listen)
		got := ""
		if u != nil {
			got = u.String()
		}
		if err != nil || got != test.want {
			t.Errorf("checkURL(%q, %q, %q) = %q, %v; want %q", test.configured, test.kind, test.listen, got, err, test.want)
		}
	}
}

// The names that the fleets' members get are those that the configuration
// counts as owners.
func TestMemberNamesAreTheConfigurations(t *testing.T) {
	c := parseConfig(t, web(3, ""))
	for n, name := range c.Fleets[0].Members() {
		if want := fleet.MemberName("web", n); name != want {
			t.Errorf("member %d is %s, and decided about as %s", n, name, want)
		}
	}
}

func TestHistory(t *testing.T) {
	spec := func(revision, user string) fleet.Fleet {
		return fleet.Fleet{Name: "web", Spec: provider.Spec{
			Revision: revision, Credentials: provider.Credentials{Username: user, Password: "p"},
		}}
	}
	h := history{}
	if got := h.credentials("web", "web-0", ""); got != (provider.Credentials{}) {
		t.Errorf("of nothing: %v", got.Username)
	}
	h.add(spec("1", "first"))
	h.add(spec("1", "first"))
	h.add(spec("2", "second"))
	if len(h["web"]) != 2 {
		t.Errorf("%d specs", len(h["web"]))
	}
	for revision, want := range map[string]string{"1": "first", "2": "second", "3": "second"} {
		member := spec(revision, "").Spec
		member.Name = "web-7"
		if got := h.credentials("web", "web-7", member.Hash()); got.Username != want {
			t.Errorf("revision %s has %s, want %s", revision, got.Username, want)
		}
	}
	if got := h.credentials("web", "web-7", ""); got.Username != "second" {
		t.Errorf("without a hash: %s", got.Username)
	}
	for i := range 3 * maxHistory {
		h.add(spec(string(rune('A'+i)), "many"))
	}
	if len(h["web"]) != maxHistory {
		t.Errorf("%d specs are remembered", len(h["web"]))
	}
}
