package providertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
)

// plain is a harness with the four methods alone. Audit is nil for one that
// cannot look.
type plain struct {
	*FakeBackend
	blind bool
	// The fields below hide the fake's optional methods.
	Kill, Stop, Wreck, Squat, Cut, Drop, Dump, Break struct{}
}

func (h plain) Audit(ctx context.Context, owner string) ([]Resource, error) {
	if h.blind {
		return nil, fmt.Errorf("nothing to look with: %w", errors.ErrUnsupported)
	}
	return h.FakeBackend.Audit(ctx, owner)
}

// opens returns a configuration whose harness is h.
func opens(h func() Harness) Config {
	return Config{Patience: time.Second, Callers: 8, Open: func(context.Context, Env) (Harness, error) { return h(), nil }}
}

// results runs Check and returns what came of each check.
func results(t *testing.T, config Config) (map[string]CheckResult, *Report) {
	t.Helper()
	found := map[string]CheckResult{}
	var report *Report
	synctest.Test(t, func(t *testing.T) {
		var err error
		if report, err = Check(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	})
	for _, rule := range report.Rules {
		for _, c := range rule.Checks {
			found[c.Name] = c
		}
	}
	return found, report
}

func TestCheckWithoutOpen(t *testing.T) {
	_, err := Check(t.Context(), Config{})
	var e *provider.Error
	if !errors.As(err, &e) || e.Kind != provider.Invalid || e.Field != "Config.Open" {
		t.Errorf("the error is %v", err)
	}
}

func TestHarnessThatDoesNotOpen(t *testing.T) {
	_, report := results(t, Config{Open: func(context.Context, Env) (Harness, error) { return nil, errors.New("no backend here") }})
	if report.Verdict() != NotConformant {
		t.Errorf("the verdict is %s", report.Verdict())
	}
	for _, rule := range report.Rules {
		for _, c := range rule.Checks {
			if c.Status != Blocked || !strings.Contains(c.Message, "no backend here") && !strings.Contains(c.Message, "stands on") {
				t.Errorf("%s is %s: %s", c.Name, c.Status, c.Message)
			}
		}
	}
}

func TestPlainHarness(t *testing.T) {
	found, report := results(t, opens(func() Harness { return plain{FakeBackend: NewFakeBackend(FakeOptions{})} }))
	if report.Verdict() != NotConformant {
		t.Errorf("the verdict is %s although MUSTs were skipped", report.Verdict())
	}
	for _, rule := range Rules() {
		for _, info := range rule.Checks() {
			c := found[info.Name]
			switch {
			case len(info.Needs) > 0 && (c.Status != Skipped || c.Declared || !strings.Contains(c.Message, string(info.Needs[0]))):
				t.Errorf("%s, which needs %v, is %s: %s", c.Name, info.Needs, c.Status, c.Message)
			case len(info.Needs) == 0 && c.Status != Passed && c.Status != NotApplicable:
				t.Errorf("%s is %s: %s", c.Name, c.Status, c.Message)
			}
		}
	}
}

func TestSkip(t *testing.T) {
	config := opens(func() Harness { return NewFakeBackend(FakeOptions{}) })
	config.Skip = map[string]string{"Create/4": "by rule", "Get/Missing": "by check", string(NeedSquatter): "by need"}
	found, _ := results(t, config)
	for name, c := range found {
		want := map[string]string{"Create/BadSpec": "by rule", "Create/UnsupportedField": "by rule", "Get/Missing": "by check",
			"Create/Squatted": "by need", "List/Unmarked": "by need"}[name]
		if want != "" && (c.Status != Skipped || !c.Declared || !strings.Contains(c.Message, want)) {
			t.Errorf("%s is %s, declared %v: %s", name, c.Status, c.Declared, c.Message)
		}
		if want == "" && c.Status == Skipped {
			t.Errorf("%s is skipped: %s", name, c.Message)
		}
	}
}

func TestUnaudited(t *testing.T) {
	found, report := results(t, opens(func() Harness { return plain{FakeBackend: NewFakeBackend(FakeOptions{}), blind: true} }))
	if !report.Unaudited || !strings.Contains(report.Text(), "unaudited") {
		t.Errorf("the report does not say that it is unaudited:\n%s", report.Text())
	}
	for name, c := range found {
		if c.Status == Failed || c.Status == Blocked {
			t.Errorf("%s is %s: %s", name, c.Status, c.Message)
		}
	}
	// A flaw that List shows is noticed all the same.
	found, _ = results(t, opens(func() Harness {
		return plain{FakeBackend: NewFakeBackend(FakeOptions{Flaws: []Flaw{FlawCreatesTwice}}), blind: true}
	}))
	if c := found["Create/Idempotent"]; c.Status != Failed {
		t.Errorf("Create/Idempotent is %s: %s", c.Status, c.Message)
	}
}

// poor is a harness whose backend has nothing but machines, nobody else's
// names and one place.
type poor struct{ *FakeBackend }

func (poor) unsupported() error {
	return fmt.Errorf("there is no such thing: %w", errors.ErrUnsupported)
}

func (p poor) Wreck(context.Context, string, provider.Ref) error { return p.unsupported() }
func (p poor) Squat(context.Context, string, string) (func(context.Context) error, error) {
	return nil, p.unsupported()
}
func (p poor) Cut(context.Context, string) (func(), error)  { return nil, p.unsupported() }
func (p poor) Drop(context.Context, string) (func(), error) { return nil, p.unsupported() }

func TestNotApplicable(t *testing.T) {
	found, report := results(t, opens(func() Harness { return poor{NewFakeBackend(FakeOptions{})} }))
	if report.Verdict() != Conformant {
		t.Errorf("the verdict is %s:\n%s", report.Verdict(), report.Text())
	}
	for _, rule := range Rules() {
		for _, info := range rule.Checks() {
			lacks := slices.ContainsFunc(info.Needs, func(n Need) bool {
				return slices.Contains([]Need{NeedWrecker, NeedSquatter, NeedPlaces}, n)
			})
			if c := found[info.Name]; lacks && c.Status != NotApplicable {
				t.Errorf("%s is %s: %s", c.Name, c.Status, c.Message)
			}
		}
	}
}

func TestEndedContextSkips(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	report, err := Check(ctx, opens(func() Harness { return NewFakeBackend(FakeOptions{}) }))
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict() != NotConformant || report.Rules[0].Status != Skipped {
		t.Errorf("the verdict is %s and the first rule %s", report.Verdict(), report.Rules[0].Status)
	}
}

// TestTrialEnds runs single checks that misbehave.
func TestTrialEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		run    func(*trial)
		status Status
		says   string
	}{
		"passes":                {func(*trial) {}, Passed, ""},
		"fails":                 {func(t *trial) { t.failf("saw %d", 7) }, Failed, "T/Check breaks rule T/1 (the rule): saw 7"},
		"fails first":           {func(t *trial) { defer t.blockf("later"); t.failf("first") }, Failed, "first"},
		"panics":                {func(*trial) { panic("oh") }, Failed, "panic: oh"},
		"panics beside":         {func(t *trial) { t.parallel(2, func(int) { panic("oh") }) }, Failed, "panic: oh"},
		"fails beside":          {func(t *trial) { t.parallel(2, func(int) { t.failf("there") }); t.failf("here") }, Failed, "there"},
		"minds its context":     {func(t *trial) { <-t.ctx.Done() }, Failed, "the watchdog ended the check after 10s"},
		"does not mind it":      {func(*trial) { time.Sleep(time.Hour) }, Failed, "the watchdog ended the check after 10s"},
		"a call does not end":   {func(t *trial) { t.failf("%v", t.once(untilDone)) }, Failed, "deadline exceeded"},
		"bounded does not end":  {func(t *trial) { _ = t.bounded("it", func() error { time.Sleep(time.Hour); return nil }) }, Failed, "it did not end within 1s"},
		"busy":                  {func(t *trial) { t.busy(&provider.Error{Kind: provider.NoCapacity}) }, Inconclusive, "NoCapacity"},
		"unavailable for ever":  {func(t *trial) { t.failf("%v", t.settle(unavailable)) }, Failed, "Unavailable"},
		"a provider stays open": {func(t *trial) { t.open() }, Passed, ""},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var backend *FakeBackend
				r := &runner{config: opens(func() Harness { backend = NewFakeBackend(FakeOptions{}); return backend })}
				c := r.check(t.Context(), Rule{ID: "T/1", Text: "the rule"}, check{name: "T/Check", run: tt.run})
				time.Sleep(2 * time.Hour) // for what was left behind
				if c.Status != tt.status || !strings.Contains(c.Message, tt.says) {
					t.Errorf("it is %s: %s", c.Status, c.Message)
				}
			})
		})
	}
}

func untilDone(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }

func unavailable(context.Context) error { return &provider.Error{Kind: provider.Unavailable} }

// runEnv makes the test binary play an author's test.
const runEnv = "PROVIDERTEST_RUN"

// TestRunChild is what an author's test looks like, over what runEnv says. It
// does nothing in an ordinary run.
func TestRunChild(t *testing.T) {
	config := opens(func() Harness { return NewFakeBackend(FakeOptions{}) })
	switch os.Getenv(runEnv) {
	case "":
		return
	case "flawed":
		config = opens(func() Harness { return NewFakeBackend(FakeOptions{Flaws: []Flaw{FlawForgets}}) })
	case "plain":
		config = opens(func() Harness { return plain{FakeBackend: NewFakeBackend(FakeOptions{})} })
	case "declared":
		config = opens(func() Harness { return plain{FakeBackend: NewFakeBackend(FakeOptions{})} })
		config.Skip = map[string]string{}
		for _, n := range []Need{NeedStopper, NeedWrecker, NeedSquatter, NeedPlaces, NeedReadable, NeedBreaker} {
			config.Skip[string(n)] = "for a test"
		}
	case "full":
		config = opens(func() Harness { return NewFakeBackend(FakeOptions{Quota: 1}) })
	}
	Run(t, config)
}

// TestRun holds that an author's test goes red when it has to.
func TestRun(t *testing.T) {
	for _, tt := range []struct {
		what, only string
		green      bool
		says       string
	}{
		{"sound", "", true, "--- PASS: TestRunChild/Create/Idempotent"},
		{"flawed", "", false, "Create/Restart breaks rule Create/1"},
		{"flawed", "/Create/Idempotent", true, "--- PASS: TestRunChild/Create/Idempotent"},
		{"plain", "", false, "Create/Squatted is skipped: the harness has no Squatter"},
		{"declared", "", true, "--- SKIP: TestRunChild/Create/Squatted"},
		{"full", "", false, "Create/ManyNames is inconclusive"},
	} {
		t.Run(tt.what+tt.only, func(t *testing.T) {
			t.Parallel()
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestRunChild$"+tt.only, "-test.v")
			cmd.Env = append(os.Environ(), runEnv+"="+tt.what)
			out, err := cmd.CombinedOutput()
			if (err == nil) != tt.green || !strings.Contains(string(out), tt.says) {
				t.Errorf("green is %v, and the output does not have %q:\n%s", err == nil, tt.says, out)
			}
		})
	}
}
