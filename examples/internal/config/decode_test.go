package config

import (
	"net/netip"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crawlfleet/provider"
)

func TestWholeFile(t *testing.T) {
	c := parse(t, `# comment
owner: crawl-berlin
api:
  listen: "[::1]:8080"
check: {interval: 1m, timeout: 30s, failures: 5, successes: 2}
limits: {replacePerProvider: 1, freezeShare: 0.5, concurrency: 8, start: 1h, drain: 0}
collector: {interval: 1h, grace: 2h, maxDeletes: 7, acknowledge: 9}
providers:
  a: {kind: local, retired: true, dir: x}
  b:
    kind: local
fleets:
- name: web
  provider: b
  replicas: 2
  maxAge: 24h
  spec:
    image: 'reference'
    location: here
    size:
      cpu: 500m
      memory: 512MiB
      disk: 10Gi
    port: 3128
    credentials:
      generate: true
    allowFrom:
    - 10.0.0.0/8
    - fd00::/8
    preemptible: true
    labels: {team: search, number: 7, empty: ""}
    revision: 1.10
`, env(t))
	spec, err := c.Fleets[0].Spec("web-1")
	if err != nil {
		t.Fatal(err)
	}
	want := provider.Spec{
		Name: "web-1", Image: "reference", Location: "here",
		Size: provider.Size{MilliCPU: 500, MemoryBytes: 512 << 20, DiskBytes: 10 << 30},
		Port: 3128, Credentials: provider.Credentials{Username: "web", Password: spec.Credentials.Password},
		AllowFrom:   []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")},
		Preemptible: true, Labels: map[string]string{"team": "search", "number": "7", "empty": ""}, Revision: "1.10",
	}
	if spec.Hash() != want.Hash() {
		t.Errorf("the spec is %+v, want %+v", spec, want)
	}
	if diff := cmp.Diff(Limits{1, 0.5, 8, time.Hour, 0}, c.Limits); diff != "" {
		t.Errorf("limits (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Check{"", time.Minute, 30 * time.Second, 5, 2}, c.Check); diff != "" {
		t.Errorf("check (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Collector{time.Hour, 2 * time.Hour, 7, 9}, c.Collector); diff != "" {
		t.Errorf("collector (-want +got):\n%s", diff)
	}
	if c.API.Listen != "[::1]:8080" || !c.Providers["a"].Retired || c.Providers["b"].Retired || c.Fleets[0].MaxAge != 24*time.Hour {
		t.Errorf("the rest is %+v", c)
	}
}

// TestStrict has one fault per text, and where it is reported.
func TestStrict(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"empty", "", "0 : is empty"},
		{"comments only", "# nothing\n", "0 : is empty"},
		{"not a mapping", "- a\n", "0 : is a sequence; a mapping"},
		{"not YAML", head + "fleets: [\n", "3 : "},
		{"tab", "owner: a\n\tb: c\n", "2 : "},
		{"second document", head + "---\nowner: b\n", "4 : begins a second document"},
		{"duplicate key", head + "owner: b\n", "3 : mapping key \"owner\" already defined"},
		{"duplicate deep key", head + "check: {failures: 1, failures: 2}\n", "3 : mapping key \"failures\" already defined"},
		{"unknown key", head + "ownr: b\n", "3 ownr: unknown key; is owner meant?"},
		{"unknown key far off", head + "check: {colour: red}\n", "3 check.colour: unknown key; the keys here are failures, interval"},
		{"unknown key of another case", head + "stateDIR: b\n", "3 stateDIR: unknown key; is stateDir meant?"},
		{"unknown deep key", head + "fleets:\n- name: w\n  provider: p\n  spec:\n    size: {mem: 1Gi}\n",
			"7 fleets[0].spec.size.mem: unknown key; the keys here are cpu, disk, memory"},
		{"anchor", head + "fleets: &f []\n", "3 fleets: anchors, aliases and tags are not read"},
		{"merge key", head + "check:\n  <<: {failures: 1}\n", "4 check.?: a key is a plain word"},
		{"tag", head + "check: !!map {failures: 1}\n", "3 check: anchors, aliases and tags are not read"},
		{"list for a mapping", head + "check: [1]\n", "3 check: is a sequence; a mapping (key: value) is expected"},
		{"mapping for a list", head + "fleets: {a: b}\n", "3 fleets: is a mapping; a list (- value) is expected"},
		{"mapping for a text", "owner: {a: b}\nproviders: {p: {kind: local}}\n", "1 owner: is a mapping; a text is expected"},
		{"text for a mapping", head + "check: often\n", `3 check: "often" cannot be read; a mapping`},
		{"text for a number", head + "check: {failures: many}\n", `3 check.failures: "many" cannot be read; a whole number is expected`},
		{"fraction for a number", head + "check: {failures: 1.5}\n", `3 check.failures: "1.5" cannot be read`},
		{"number for a duration", head + "check: {interval: 10}\n", `3 check.interval: "10" cannot be read; a duration such as 30s`},
		{"text for a boolean", "owner: a\nproviders:\n  p:\n    kind: local\n    retired: maybe\n", `5 providers.p.retired: "maybe" cannot be read; true or false`},
		{"port too large", head + "fleets:\n- {name: w, provider: p, spec: {port: 70000}}\n",
			`4 fleets[0].spec.port: "70000" cannot be read; a whole number from 0 to 65535`},
		{"bad network", head + "fleets:\n- name: w\n  provider: p\n  spec:\n    allowFrom:\n    - 10.0.0.0\n", "8 fleets[0].spec.allowFrom[0]: "},
		{"bad size", head + "fleets:\n- {name: w, provider: p, spec: {size: {memory: 1XB}}}\n", `4 fleets[0].spec.size.memory: "1XB" is not a size`},
	} {
		t.Run(test.name, func(t *testing.T) {
			wantFault(t, faultsOf(t, test.text, env(t)), test.want)
		})
	}
}

func TestTooLarge(t *testing.T) {
	wantFault(t, faultsOf(t, strings.Repeat("#", maxFile+1), env(t)), "0 : has 1048577 bytes")
}

// TestAllFaultsAtOnce: and in the order of the file.
func TestAllFaultsAtOnce(t *testing.T) {
	faults := faultsOf(t, `owner: [a]
chek: {}
check: {intervall: 3s, timeout: x}
providers: {p: {kind: local}}
fleets:
- name: web
  spec: {port: x, labels: {a: [b]}}
`, env(t))
	var got []string
	for _, f := range faults {
		place, _, _ := strings.Cut(f, ": ")
		got = append(got, place)
	}
	want := []string{"1 owner", "2 chek", "3 check.intervall", "3 check.timeout", "7 fleets[0].spec.port", "7 fleets[0].spec.labels.a"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDecodeProvider(t *testing.T) {
	type keys struct {
		Dir   string         `yaml:"dir"`
		Count int            `yaml:"count"`
		Nets  []netip.Prefix `yaml:"nets"`
	}
	text := "owner: a\nproviders:\n  p:\n    kind: x\n    dir: d\n    %s\n    nets: [10.0.0.0/8]\n"
	read := func(line string) (keys, error) {
		t.Helper()
		c := parse(t, strings.Replace(text, "%s", line, 1), env(t))
		k := keys{Count: 7}
		return k, c.Providers["p"].Decode(&k)
	}
	c := parse(t, strings.Replace(text, "%s", "count: 3", 1), env(t))
	k := keys{Count: 7}
	if err := c.Providers["p"].Decode(&k); err != nil || k.Dir != "d" || k.Count != 3 || len(k.Nets) != 1 {
		t.Errorf("got %+v, %v", k, err)
	}
	for line, want := range map[string]string{
		"cuont: 3": "test.yaml:6: providers.p.cuont: unknown key; is count meant?",
		"count: x": `test.yaml:6: providers.p.count: "x" cannot be read`,
	} {
		if _, err := read(line); err == nil || !strings.Contains(filepath.ToSlash(err.Error()), want) {
			t.Errorf("%s: got %v, want a fault with\n%s", line, err, want)
		}
	}
	for key, want := range map[string]string{"dir": ":5: providers.p.dir: no", "nets[0].x": ":7: providers.p.nets[0].x: no", "": ":3: providers.p: no"} {
		if err := c.Providers["p"].Fault(key, "no"); !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Fault(%q) = %v, want the end %q", key, err, want)
		}
	}
	if err := (Provider{}).Fault("dir", "no"); err.Error() != "configuration: dir: no" {
		t.Errorf("without a file: %v", err)
	}
	if err := (Provider{}).Decode(&k); err != nil {
		t.Errorf("without a file: %v", err)
	}
}

// FuzzParse holds that no file makes the program panic, and that a fault names
// a line of the file.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		embedded, head, head + "fleets:\n- name: w\n", "a: &x [*x]\n", "<<: *a", "? a\n: b", "- - -", "{[", "\xff", "a: |\n  b\n", "!!binary a: b",
	} {
		f.Add(text)
	}
	getenv := env(f)
	f.Fuzz(func(t *testing.T, text string) {
		_, err := Parse("fuzz.yaml", []byte(text), getenv)
		if err == nil {
			return
		}
		lines := strings.Count(text, "\n") + strings.Count(text, "\r") + 1
		for _, fault := range err.(*Error).Faults {
			if fault.Line < 0 || fault.Line > lines || fault.Text == "" {
				t.Errorf("fault %+v in a text of %d lines", fault, lines)
			}
		}
	})
}
