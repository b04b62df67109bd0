package config

import (
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

// TestValidate has one fault per text, and where it is reported.
func TestValidate(t *testing.T) {
	fleet := func(keys string) string { return head + "fleets:\n- {name: web, provider: p, " + keys + "}\n" }
	long := strings.Repeat("x", 60)
	for _, test := range []struct{ name, text, want string }{
		{"no owner", "providers: {p: {kind: local}}\n", "0 owner: is missing; give this installation a unique name"},
		{"owner not a label", "owner: Ab\nproviders: {p: {kind: local}}\n", `1 owner: the name of the owner "Ab" is not a DNS label`},
		{"owner too long", "owner: " + long + "\nproviders: {p: {kind: local}}\n", "1 owner: the name of the owner has 60 bytes; at most 57"},
		{"owner of what is made by hand", "owner: a-adhoc\nproviders: {p: {kind: local}}\n", `1 owner: "a-adhoc" ends in -adhoc`},
		{"no providers", "owner: a\n", "0 providers: is empty"},
		{"no kind", "owner: a\nproviders:\n  p: {dir: x}\n", "3 providers.p.kind: is missing"},
		{"provider's name", "owner: a\nproviders:\n  P: {kind: local}\n", `3 providers.P: the name of the provider "P" is not`},
		{"listen", head + "api: {listen: 8899}\n", `3 api.listen: "8899" is not host:port`},
		{"listen on a named port", head + "api: {listen: 'localhost:http'}\n", "3 api.listen: "},
		{"check.url", head + "check: {url: 'ftp://x/'}\n", "3 check.url: is not an http or https URL"},
		{"check.url without host", head + "check: {url: 'http:///x'}\n", "3 check.url: is not an http or https URL"},
		{"timeout over interval", head + "check: {interval: 2s, timeout: 3s}\n", "3 check.timeout: 3s is longer than check.interval, 2s"},
		{"interval", head + "check: {interval: 500ms, timeout: 500ms}\n", "3 check.interval: 500ms is under 1s"},
		{"timeout", head + "check: {timeout: -1s}\n", "3 check.timeout: -1s is under 100ms"},
		{"failures", head + "check: {failures: 0}\n", "3 check.failures: 0 is outside 1 to 100"},
		{"successes", head + "check: {successes: -1}\n", "3 check.successes: -1 is outside"},
		{"replacePerProvider", head + "limits: {replacePerProvider: 0}\n", "3 limits.replacePerProvider: 0 is outside"},
		{"freezeShare", head + "limits: {freezeShare: 30}\n", "3 limits.freezeShare: 30 is not over 0 and at most 1"},
		{"freezeShare zero", head + "limits: {freezeShare: 0}\n", "3 limits.freezeShare: 0 is not over 0"},
		{"freezeShare NaN", head + "limits: {freezeShare: NaN}\n", "3 limits.freezeShare: "},
		{"concurrency", head + "limits: {concurrency: 0}\n", "3 limits.concurrency: 0 is outside"},
		{"start", head + "limits: {start: 0}\n", "3 limits.start: 0s is under 1s"},
		{"drain", head + "limits: {drain: -1s}\n", "3 limits.drain: -1s is negative"},
		{"collector.interval", head + "collector: {interval: 0}\n", "3 collector.interval: 0s is under 1s"},
		{"collector.grace", head + "collector: {grace: 0}\n", "3 collector.grace: 0s is under 1s"},
		{"collector.maxDeletes", head + "collector: {maxDeletes: 0}\n", "3 collector.maxDeletes: 0 is outside"},
		{"collector.acknowledge", head + "collector: {acknowledge: -1}\n", "3 collector.acknowledge: -1 is outside"},

		{"fleet without a name", head + "fleets:\n- {provider: p}\n", "4 fleets[0].name: the name of the fleet is empty"},
		{"fleet's name", head + "fleets:\n- {name: a.b, provider: p}\n", `4 fleets[0].name: the name of the fleet "a.b" is not`},
		{"fleet's name too long", head + "fleets:\n- {name: " + long + ", provider: p}\n", "4 fleets[0].name: the name of the fleet has 60 bytes; at most 59"},
		{"fleet twice", head + "fleets:\n- {name: a, provider: p}\n- {name: a, provider: p}\n", `5 fleets[1].name: "a" stands twice`},
		{"no such provider", head + "fleets:\n- name: a\n  provider: q\n", `5 fleets[0].provider: there is no provider "q"; the providers are p`},
		{"retired provider", "owner: a\nproviders: {p: {kind: local, retired: true}}\nfleets: [{name: a, provider: p, replicas: 1}]\n",
			"3 fleets[0].provider: p is retired"},
		{"replicas", fleet("replicas: 1001"), "4 fleets[0].replicas: 1001 is outside 0 to 1000"},
		{"replicas negative", fleet("replicas: -1"), "4 fleets[0].replicas: -1 is outside"},
		{"maxAge", fleet("maxAge: 9m"), "4 fleets[0].maxAge: 9m0s is under 10m0s"},

		{"image", fleet(`spec: {image: "a\tb"}`), "4 fleets[0].spec.image: has a control character"},
		{"location", fleet(`spec: {location: "a\nb"}`), "4 fleets[0].spec.location: has a control character"},
		{"cpu", fleet("spec: {size: {cpu: 1001}}"), "4 fleets[0].spec.size.cpu: 1001000 is outside"},
		{"memory", fleet("spec: {size: {memory: 512}}"), "4 fleets[0].spec.size.memory: 512 is outside"},
		{"disk", fleet("spec: {size: {disk: 2000T}}"), "4 fleets[0].spec.size.disk: 2000000000000000 is outside"},
		{"allowFrom", fleet("spec: {allowFrom: [10.0.0.0/8, 10.0.0.1/8]}"), "4 fleets[0].spec.allowFrom[1]: 10.0.0.1/8 has bits beyond"},
		{"open proxy", fleet("spec: {allowFrom: [0.0.0.0/0]}"), "4 fleets[0].spec.allowFrom[0]: 0.0.0.0/0 without Credentials"},
		{"label's key", fleet(`spec: {labels: {"-x": a}}`), "4 fleets[0].spec.labels: the key"},
		{"label's value", fleet(`spec: {labels: {a.b: "x\ny"}}`), "4 fleets[0].spec.labels.a.b: has a control character"},
		{"revision", fleet("spec: {revision: " + strings.Repeat("x", 257) + "}"), "4 fleets[0].spec.revision: has 257 bytes"},
		{"username without a password", fleet("spec: {allowFrom: [10.0.0.0/8], credentials: {username: a}}"), "4 fleets[0].spec.credentials: has a username and no password"},
		{"generated user's name", fleet("spec: {credentials: {username: 'a b'}}"), "4 fleets[0].spec.credentials.username: has a character"},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantFault(t, faultsOf(t, test.text, env(t)), test.want)
		})
	}
}

// TestLongestNames: the limits leave room for what is made of the names.
func TestLongestNames(t *testing.T) {
	c := parse(t, "owner: "+strings.Repeat("o", 57)+"\nproviders: {p: {kind: local}}\nfleets:\n- {name: "+
		strings.Repeat("f", MaxFleetName)+", provider: p, replicas: 1000}\n", env(t))
	refs := c.Owners()
	if len(refs) != MaxReplicas {
		t.Fatalf("there are %d owners", len(refs))
	}
	for _, name := range []string{refs[999].Name, c.AdhocOwner()} {
		if err := provider.ValidateName(name); err != nil || len(name) != provider.MaxName {
			t.Errorf("%s: %d bytes, %v", name, len(name), err)
		}
	}
}

func TestMember(t *testing.T) {
	c := parse(t, head+"fleets:\n- {name: web, provider: p, replicas: 3}\n- {name: web-1, provider: p, replicas: 1}\n", env(t))
	for name, want := range map[string]string{
		"web-0": "web", "web-2": "web", "web-1": "web", "web-1-0": "web-1",
		"web-3": "", "web-1-1": "", "web": "", "web-": "", "web-00": "", "web-+1": "", "web--1": "", "other-0": "", "": "",
	} {
		f, ok := c.Member(name)
		if ok != (want != "") || ok && f.Name != want {
			t.Errorf("Member(%q) = %v, %v, want %q", name, f, ok, want)
		}
	}
	// Every owner is a member, and no two have one name.
	seen := map[string]bool{}
	for _, ref := range c.Owners() {
		if _, ok := c.Member(ref.Name); !ok || seen[ref.Name] || ref.ID != "" {
			t.Errorf("owner %v: member %v, seen %v", ref, ok, seen[ref.Name])
		}
		seen[ref.Name] = true
	}
	if len(seen) != 4 {
		t.Errorf("there are %d owners, want 4", len(seen))
	}
}
