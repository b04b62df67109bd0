package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/kinds"
	"github.com/crawlfleet/provider/providertest"
)

// two is a configuration of two providers. Their kind does not matter, because
// the tests open providers in memory.
const two = `owner: a
providers: {one: {kind: local}, two: {kind: local}}
fleets:
- {name: web, provider: one, replicas: 2}
- {name: far, provider: two, replicas: 1}
`

// fakes opens providers in memory, one backend for each name.
type fakes struct {
	backends map[string]*providertest.FakeBackend
	// wrap, where it is set, changes what is opened.
	wrap func(name string, p provider.Provider) provider.Provider
}

func newFakes(c *ctl, opts providertest.FakeOptions) *fakes {
	f := &fakes{backends: map[string]*providertest.FakeBackend{}}
	for _, name := range []string{"one", "two"} {
		opts.Name = name
		f.backends[name] = providertest.NewFakeBackend(opts)
	}
	c.config(two)
	c.open = func(_ context.Context, o kinds.Options) (provider.Provider, error) {
		var p provider.Provider = f.backends[o.Name].Provider(o.Owner)
		if f.wrap != nil {
			p = f.wrap(o.Name, p)
		}
		return p, nil
	}
	return f
}

// make makes instances behind the program's back.
func (f *fakes) make(t *testing.T, backend, owner string, names ...string) {
	t.Helper()
	p := f.backends[backend].Provider(owner)
	defer p.Close()
	for _, name := range names {
		spec := provider.Spec{Name: name, AllowFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
		if _, err := p.Create(t.Context(), spec); err != nil {
			t.Fatal(err)
		}
	}
}

// failing answers every call with an error.
type failing struct {
	provider.Provider
	err error
}

func (f failing) Create(context.Context, provider.Spec) (provider.Instance, error) {
	return provider.Instance{}, f.err
}
func (f failing) Get(context.Context, provider.Ref) (provider.Instance, error) {
	return provider.Instance{}, f.err
}
func (f failing) List(context.Context) ([]provider.Instance, error) { return nil, f.err }
func (f failing) Delete(context.Context, provider.Ref) error        { return f.err }

// TestExitCodes holds the code of every Kind, for every command that has one,
// and that the error is one line.
func TestExitCodes(t *testing.T) {
	want := map[provider.Kind]int{
		provider.NotFound: 3, provider.Conflict: 4, provider.InProgress: 5, provider.Invalid: 6, provider.Unsupported: 7,
		provider.Unauthenticated: 8, provider.PermissionDenied: 9, provider.QuotaExceeded: 10, provider.NoCapacity: 11,
		provider.RateLimited: 12, provider.Canceled: 130, provider.Unavailable: 1,
	}
	for _, kind := range provider.Kinds() {
		c := newCtl(t)
		newFakes(c, providertest.FakeOptions{}).wrap = func(name string, p provider.Provider) provider.Provider {
			return failing{p, &provider.Error{Kind: kind, Op: "Op", Provider: name, Err: errors.New("the backend said so")}}
		}
		for _, args := range []string{"create web-0", "get web-0", "list", "delete web-0 --no-wait", "gc"} {
			code := want[kind]
			if args == "delete web-0 --no-wait" && kind == provider.InProgress {
				code = 0 // it was asked not to wait
			}
			got := c.run(t.Context(), strings.Fields(args)...)
			if got.code != code {
				t.Errorf("%s, %s: exit code %d, want %d", kind, args, got.code, code)
			}
			if code == 0 {
				continue
			}
			for line := range strings.Lines(got.stderr) {
				if !strings.HasPrefix(line, "proxyctl: ") || !strings.Contains(line, "the backend said so") {
					t.Errorf("%s, %s: stderr has the line %q", kind, args, line)
				}
			}
			if got.stdout != "" || got.stderr == "" {
				t.Errorf("%s, %s: stdout %q, stderr %q", kind, args, got.stdout, got.stderr)
			}
		}
	}
	if code := exitCode(errors.New("no kind")); code != 1 {
		t.Errorf("an error without a Kind: %d, want 1", code)
	}
	// The texts of --help and of the document are those of the table.
	for _, e := range exitCodes {
		if want[e.kind] != e.code {
			t.Errorf("%s has the code %d in the table", e.kind, e.code)
		}
	}
}

func TestUsage(t *testing.T) {
	c := newCtl(t)
	newFakes(c, providertest.FakeOptions{})
	c.steps([]step{
		{"", 0, `Proxyctl makes.*Exit codes:.*11 +NoCapacity +there is no room now.*Available Commands:.*`, ``},
		{"delete", 2, ``, `proxyctl: proxyctl delete needs the name of an instance; proxyctl list shows them`},
		{"get a b", 2, ``, `proxyctl: proxyctl get takes at most 1 names, not 2`},
		{"list x", 2, ``, `proxyctl: proxyctl list takes no arguments.*`},
		{"lst", 2, ``, `proxyctl: there is no command "lst"; is get or list meant\?`},
		{"frobnicate", 2, ``, `proxyctl: there is no command "frobnicate"; proxyctl --help lists them`},
		{"config frob", 2, ``, `proxyctl: there is no command "frob"; proxyctl config --help lists them`},
		{"list --colour", 2, ``, `proxyctl: unknown flag: --colour; proxyctl list --help shows the flags`},
		{"list -o xml", 2, ``, `proxyctl: the output "xml" is not one of table, json, yaml`},
		{"list -o url", 2, ``, `proxyctl: the output "url" is not one of table, json, yaml`},
		{"list --provider three", 2, ``, `proxyctl: there is no provider "three"; the providers are one, two`},
		{"get other", 2, ``, `proxyctl: name a provider with --provider: one, two`},
		{"get Web", 2, ``, `proxyctl: name a provider with --provider: one, two`},
		{"delete --id 1/a/b web-0 web-1", 2, ``, `proxyctl: --id is for one name, not for 2`},
		{"delete Web --provider one", 6, ``, `proxyctl: .*Invalid: Name: .*`},
		{"console web-0 --offset -1", 2, ``, `proxyctl: --offset -1 is negative.*`},
		{"console web-0", 7, ``, `proxyctl: one: Console web-0: Unsupported: this provider has no console`},
		{"create web-0 --image x", 2, ``, `proxyctl: the spec of a member is that of its fleet: --image is for --adhoc`},
		{"create web-0 --fleet far", 2, ``, `proxyctl: web-0 is a member of fleet web, not of far`},
		{"create x --adhoc --fleet none", 2, ``, `proxyctl: there is no fleet "none" in the configuration`},
		{"create x --adhoc --provider one --memory 1XB", 2, ``, `proxyctl: invalid argument "1XB" for "--memory" flag: "1XB" is not a size.*`},
		{"create x --adhoc --provider one --memory 5", 6, ``, `proxyctl: Invalid: Size.MemoryBytes: 5 is outside.*`},
		{"create x --adhoc --provider one --allow-from 10.0.0.1", 2, ``, `proxyctl: --allow-from "10.0.0.1" is not a network.*`},
		{"gc --adhoc", 2, ``, `proxyctl: what was made with --adhoc has no list of who wants it; delete it by name`},
		{"gc --grace -1s", 2, ``, `proxyctl: --grace and --acknowledge are not negative.*`},
	})
}

func TestConfigCheck(t *testing.T) {
	c := newCtl(t)
	c.config(two)
	c.steps([]step{
		{"config check", 0, `the configuration is valid: 2 providers, 2 fleets, 3 members; the state is in /.*`, ``},
		{"config validate", 0, `the configuration is valid: .*`, ``},
		{"version", 0, `proxyctl .* go1\..*`, ``},
		{"completion bash", 0, `.*__complete.*`, ``},
	})
	c.config("owner: a\nproviders: {p: {kind: loca}}\n")
	c.steps([]step{{"config check", 6, ``, `proxyctl: \S+/proxyd.yaml:2: providers.p.kind: there is no kind "loca"; the kinds are .*local`}})
	c.config("ownr: a\nprovider: {}\n")
	c.steps([]step{{"list", 6, ``, `proxyctl: \S+:1: ownr: unknown key; is owner meant\?\nproxyctl: \S+:2: provider: unknown key; is providers meant\?`}})
	c.steps([]step{{"list -c /nonexistent", 6, ``, `proxyctl: Invalid: config: cannot be read: open /nonexistent.*`}})
}

func TestCompletion(t *testing.T) {
	c := newCtl(t)
	c.config(two)
	for args, want := range map[string]string{
		"__complete get|":               "web-0 web-1 far-0",
		"__complete delete web-1|":      "web-0 far-0",
		"__complete list --provider|":   "one two",
		"__complete create x --fleet|":  "web far",
		"__complete list --output|":     "table json yaml url",
		"__complete list -c /none|":     "",
		"__complete -c /none get|":      "",
		"__complete -c /none delete a|": "",
	} {
		got := c.run(t.Context(), append(strings.Fields(strings.TrimSuffix(args, "|")), "")...)
		var words []string
		for _, w := range strings.Fields(got.stdout) {
			if !strings.HasPrefix(w, ":") {
				words = append(words, w)
			}
		}
		if strings.Join(words, " ") != want {
			t.Errorf("%s: %q, want %q", args, words, want)
		}
	}
}

// TestProviderOf: a member goes to its fleet's provider, and what is made by
// hand from a fleet as well.
func TestProviderOf(t *testing.T) {
	c := newCtl(t)
	newFakes(c, providertest.FakeOptions{})
	row := func(name, backend string) string { return `NAME.*\n` + name + ` +` + backend + ` +Running.*` }
	c.steps([]step{
		{"create web-1", 0, row("web-1", "one"), ``},
		{"create far-0", 0, row("far-0", "two"), ``},
		{"get far-0", 0, row("far-0", "two"), ``},
		{"get far-0 --provider one", 3, ``, `.*NotFound.*`},
		{"create x --adhoc --fleet far", 0, row("x", "two"), ``},
		{"create y --adhoc --provider one --cpu 2 --memory 1Gi --disk 5GB --port 99 --image i --revision r --preemptible --allow-from 10.0.0.0/8,fd00::/8",
			0, row("y", "one"), ``},
		{"list", 0, `NAME.*\nfar-0 +two .*\nweb-1 +one [^\n]*`, ``},
		{"list --provider two", 0, `NAME.*\nfar-0 +two [^\n]*`, ``},
		{"list --adhoc", 0, `NAME.*\nx +two .*\ny +one [^\n]*`, ``},
		{"delete far-0", 0, `far-0 is gone`, ``},
	})
}

// partial shows one place and hides another.
type partial struct{ provider.Provider }

func (p partial) List(ctx context.Context) ([]provider.Instance, error) {
	list, err := p.Provider.List(ctx)
	return list, errors.Join(err, &provider.PartialError{Missing: []provider.Place{{Location: "host-2", Err: errors.New("no route")}}})
}

func TestPartialList(t *testing.T) {
	c := newCtl(t)
	f := newFakes(c, providertest.FakeOptions{})
	f.make(t, "one", "a", "web-0", "stray")
	f.make(t, "two", "a", "far-0")
	f.wrap = func(name string, p provider.Provider) provider.Provider {
		if name == "two" {
			return failing{p, &provider.Error{Kind: provider.Unauthenticated, Provider: name, Op: "List", Err: errors.New("bad key")}}
		}
		return partial{p}
	}
	warning := `proxyctl: the list is not complete: the list does not cover host-2: no route\nproxyctl: two: List: Unauthenticated: bad key`
	c.steps([]step{
		{"list", 1, `NAME.*\nstray +one .*\nweb-0 +one [^\n]*`, warning},
		{"list --provider two", 8, ``, `proxyctl: two: List: Unauthenticated: bad key`},
		{"list --provider two -o json", 8, `\[\]`, `proxyctl: the list is not complete: two.*`},
		{"gc", 1, `NAME.*\nstray +one +would delete .*`, `proxyctl: .*host-2: no route\nproxyctl: two: Sweep: .*bad key`},
	})
}

func TestGC(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCtl(t)
		f := newFakes(c, providertest.FakeOptions{})
		f.make(t, "one", "a", "web-0", "far-0", "web-2", "old") // far-0: its fleet has moved
		f.make(t, "two", "a", "far-0", "other")
		f.make(t, "one", "a-adhoc", "by-hand")
		f.make(t, "one", "b", "strange")
		lines := func(result string, names ...string) string {
			var b strings.Builder
			b.WriteString(`NAME +PROVIDER +RESULT +ID +WHY`)
			for _, n := range names {
				fmt.Fprintf(&b, `\n%s +%s +\S+ +[^\n]*`, n, result)
			}
			return b.String()
		}
		c.steps([]step{{"gc", 0, lines("would delete", "old +one", "web-2 +one", "other +two"), ``}})
		c.steps([]step{{"gc --provider two", 0, lines("would delete", "other +two"), ``}})

		start := time.Now()
		c.steps([]step{{"gc --apply --grace 2m --max-deletes 1", 0, `NAME.*\S+ +one +(deleted .*spared .*|spared .*comes in the next run; see --max-deletes.*deleted .*)\nother +two +deleted .*`,
			`proxyctl: 2 of 4 instances are nobody's; looking again in 2m0s\nproxyctl: 1 of 2 instances are nobody's; looking again in 2m0s`}})
		if took := time.Since(start); took != 4*time.Minute {
			t.Errorf("it took %v, want the grace period of each provider", took)
		}
		c.steps([]step{
			{"gc --apply --grace 0", 0, lines("deleted", `\S+ +one`), ``},
			{"gc --apply", 0, ``, `proxyctl: nothing that no fleet asks for`},
			{"list", 0, `NAME[^\n]*\nfar-0 +one[^\n]*\nfar-0 +two[^\n]*\nweb-0[^\n]*`, ``},
			{"list --adhoc", 0, `NAME[^\n]*\nby-hand[^\n]*`, ``},
		})
	})
}

// TestGCSecondLook: what got an owner between the two looks is left alone.
// Owners come from the file, so here it is what vanished and came back.
func TestGCSecondLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCtl(t)
		f := newFakes(c, providertest.FakeOptions{})
		f.make(t, "one", "a", "web-9")
		go func() {
			time.Sleep(30 * time.Second)
			p := f.backends["one"].Provider("a")
			defer p.Close()
			if err := provider.Remove(t.Context(), p, provider.Ref{Name: "web-9"}); err != nil {
				t.Error(err)
			}
			f.make(t, "one", "a", "web-9")
		}()
		c.steps([]step{{"gc --apply --provider one", 0, `NAME.*\nweb-9 +one +spared +\S+ +is too young; see --grace`,
			`proxyctl: 1 of 1 instances are nobody's; looking again in 1m0s`}})
	})
}

func TestGCRefuses(t *testing.T) {
	c := newCtl(t)
	f := newFakes(c, providertest.FakeOptions{})
	f.make(t, "one", "a", "x-0", "x-1", "x-2", "x-3", "x-4", "x-5", "web-0")
	spared := `NAME.*(x-\d +one +spared +\S+ +there are suspiciously many; see --acknowledge\s*){6}`
	refusal := `proxyctl: one: Sweep: Invalid: Acknowledge: 6 of 7 instances have no owner; .*--acknowledge 6`
	c.steps([]step{
		{"gc", 6, spared, refusal},
		{"gc --apply --grace 0", 6, spared, refusal},
		{"gc --apply --grace 0 --acknowledge 5", 6, spared, refusal},
		{"gc --apply --grace 0 --acknowledge 6", 0, `NAME.*(x-\d +one +deleted[^\n]*\s*){6}`, ``},
	})
}

// keeps fails every Delete.
type keeps struct {
	provider.Provider
	err error
}

func (k keeps) Delete(context.Context, provider.Ref) error { return k.err }

func TestGCFailures(t *testing.T) {
	for kind, want := range map[provider.Kind]struct {
		code   int
		result string
	}{
		provider.PermissionDenied: {9, "failed"}, provider.InProgress: {0, "deleting"},
	} {
		c := newCtl(t)
		f := newFakes(c, providertest.FakeOptions{})
		f.make(t, "one", "a", "x", "y")
		f.wrap = func(_ string, p provider.Provider) provider.Provider {
			return keeps{p, &provider.Error{Kind: kind, Err: errors.New("the backend said so")}}
		}
		got := c.run(t.Context(), "gc", "--apply", "--grace", "0", "-o", "json")
		var lines []orphan
		if err := json.Unmarshal([]byte(got.stdout), &lines); err != nil {
			t.Fatal(err)
		}
		if got.code != want.code || len(lines) != 2 || lines[0].Result != want.result || lines[1].Result != want.result {
			t.Errorf("%s: exit code %d, %+v", kind, got.code, lines)
		}
	}
}

// TestInterrupt: Ctrl-C ends every command that waits, with the code of a
// program that was interrupted, and says that what was begun may go on.
func TestInterrupt(t *testing.T) {
	for _, args := range []string{"create web-0 --wait", "wait web-0", "delete web-0", "gc --apply", "list"} {
		t.Run(args, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := newCtl(t)
				f := newFakes(c, providertest.FakeOptions{Boot: time.Hour, Going: time.Hour, Latency: time.Millisecond})
				f.make(t, "one", "a", "web-0", "stray")
				if args == "list" {
					newFakes(c, providertest.FakeOptions{Latency: time.Hour})
				}
				ctx, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				start := time.Now()
				got := c.run(ctx, strings.Fields(args)...)
				if got.code != 130 || !strings.Contains(got.stderr, "what was begun may go on, and proxyctl list shows it") {
					t.Errorf("exit code %d, stderr %s", got.code, got.stderr)
				}
				if took := time.Since(start); took > 2*time.Second {
					t.Errorf("it went on for %v", took)
				}
			})
		})
	}
}

func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCtl(t)
		f := newFakes(c, providertest.FakeOptions{Boot: time.Hour})
		f.make(t, "one", "a", "web-0")
		start := time.Now()
		c.steps([]step{{"wait web-0 --timeout 3s", 1, ``, `proxyctl: .*deadline exceeded.*`}})
		if took := time.Since(start); took != 3*time.Second {
			t.Errorf("it took %v", took)
		}
		c.steps([]step{{"wait web-0 --timeout 0", 0, `.*Running.*`, ``}})
		c.steps([]step{{"get web-0 -o url", 0, `http://web:[A-Z2-7]{26}@\S+`, ``}})
	})
}

func TestURLBeforeEndpoint(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newCtl(t)
		f := newFakes(c, providertest.FakeOptions{Boot: time.Hour})
		f.make(t, "one", "a", "web-0", "other")
		c.steps([]step{
			{"get web-0 -o url", 5, ``, `proxyctl: .*it has no endpoint yet; proxyctl wait web-0 waits for one`},
			{"get other --provider one -o url", 2, ``, `proxyctl: other is a member of no fleet, so its credentials are not known.*`},
		})
	})
}

func TestAge(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		for d, want := range map[time.Duration]string{
			0: "0s", 119 * time.Second: "119s", 2 * time.Minute: "2m", 119 * time.Minute: "119m", 47 * time.Hour: "47h", 100 * time.Hour: "4d", -time.Hour: "0s",
		} {
			if got := age(now.Add(-d)); got != want {
				t.Errorf("age of %v: %q, want %q", d, got, want)
			}
		}
		if got := age(time.Time{}); got != "" {
			t.Errorf("age of nothing: %q", got)
		}
	})
}

// TestDocumentedExitCodes: docs/configuration.md has the table of --help.
func TestDocumentedExitCodes(t *testing.T) {
	doc := readFile(t, "../../docs/configuration.md")
	_, table, ok := strings.Cut(doc, "## Exit codes of proxyctl")
	if !ok {
		t.Fatal("docs/configuration.md has no exit codes")
	}
	for _, e := range exitCodes {
		row := fmt.Sprintf("| %d | %s | %s |", e.code, e.kind, e.text)
		if !strings.Contains(table, row) {
			t.Errorf("docs/configuration.md lacks the row\n%s", row)
		}
	}
	if rows := regexp.MustCompile(`(?m)^\| \d+ \|`).FindAllString(table, -1); len(rows) != len(exitCodes)+2 {
		t.Errorf("docs/configuration.md has %d exit codes, want %d", len(rows), len(exitCodes)+2)
	}
}
