package providertest

import (
	"context"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
)

// flawTests say which checks notice each flaw, and by that which rule it
// breaks. Nothing else fails, and only what is declared to stand on that rule
// is blocked.
var flawTests = []struct {
	flaw   Flaw
	rule   string
	checks []string
}{
	{FlawCreatesTwice, "Create/1", []string{"Create/Idempotent", "Create/Restart", "Create/OtherProcess", "Create/Concurrent"}},
	{FlawForgets, "Create/1", []string{"Create/Restart", "Create/OtherProcess", "Create/Concurrent"}},
	{FlawRaces, "Create/1", []string{"Create/Concurrent"}},
	{FlawAdoptsThin, "Create/1", []string{"Create/Idempotent", "Create/Restart", "Create/OtherProcess", "Create/Concurrent"}},
	{FlawReturnsThin, "Create/1", []string{"Create/New"}},
	{FlawAdoptsForeign, "Create/2", []string{"Create/Squatted"}},
	{FlawLateRefusal, "Create/4", []string{"Create/BadSpec", "Create/UnsupportedField"}},
	{FlawDropsFields, "Create/4", []string{"Create/UnsupportedField"}},
	{FlawNamesNoField, "Create/4", []string{"Create/BadSpec"}},
	{FlawUnmarkedDisk, "Create/5", []string{"Create/Canceled", "Create/Faults"}},
	{FlawRetriesAnew, "Create/5", []string{"Create/Faults"}},
	{FlawReturnsDying, "Create/6", []string{"Create/WhileDeleting"}},
	{FlawReplacesChanged, "Create/7", []string{"Create/OtherSpec"}},
	{FlawRestartsStopped, "Create/7", []string{"Create/Stopped"}},
	{FlawNeverCompletes, "Create/8", []string{"Create/Incomplete"}},
	{FlawSharesTokens, "Create/9", []string{"Create/ManyNames"}},

	{FlawCutIsNotFound, "Get/1", []string{"Get/Cut", "Get/Faults"}},
	{FlawDroppedIsNotFound, "Get/1", []string{"Get/Dropped"}},
	{FlawMissingIsUnavailable, "Get/1", []string{"Get/Missing"}},
	{FlawStaleGet, "Get/2", []string{"Get/OwnWrites"}},
	{FlawGhosts, "Get/2", []string{"Get/OwnWrites"}},
	{FlawGuessesID, "Get/3", []string{"Get/BadID"}},
	{FlawIgnoresID, "Get/4", []string{"Get/OldID", "Get/OtherOwnersID"}},
	{FlawPartialNotFound, "Get/5", []string{"Get/NameCut", "Get/NameFaults"}},
	{FlawFirstPlace, "Get/5", []string{"Get/Everywhere"}},

	{FlawHidesStopped, "List/1", []string{"List/Stopped"}},
	{FlawHidesLeftovers, "List/1", []string{"List/Leftovers"}},
	{FlawHidesDeleting, "List/1", []string{"List/Deleting"}},
	{FlawFirstPage, "List/1", []string{"List/Complete"}},
	{FlawListsOthers, "List/2", []string{"List/OtherOwner"}},
	{FlawListsUnmarked, "List/2", []string{"List/Unmarked"}},
	{FlawSilentlyPartial, "List/3", []string{"List/Cut", "List/Faults"}},
	{FlawAllOrNothing, "List/3", []string{"List/Cut"}},
	{FlawListsThin, "List/4", []string{"List/Entries"}},
	{FlawListsTwice, "List/4", []string{"List/Entries"}},

	{FlawLeavesDisk, "Delete/1", []string{"Delete/Clean", "Delete/AtOnce", "Delete/Faults"}},
	{FlawForgetsPending, "Delete/1", []string{"Delete/AtOnce"}},
	{FlawAcceptedIsGone, "Delete/1", []string{"Delete/Clean", "Delete/AtOnce", "Delete/Faults"}},
	{FlawFaultIsGone, "Delete/1", []string{"Delete/Faults"}},
	{FlawNeverConverges, "Delete/2", []string{"Delete/Converges"}},
	{FlawNoRetryAfter, "Delete/2", []string{"Delete/Converges"}},
	{FlawMissingIsError, "Delete/3", []string{"Delete/Missing"}},
	{FlawCutIsGone, "Delete/1", []string{"Delete/Cut", "Delete/Faults"}},
	{FlawKeepsStopped, "Delete/4", []string{"Delete/Stopped"}},
	{FlawSkipsLeftovers, "Delete/4", []string{"Delete/Leftovers"}},
	{FlawKeepsAbandoned, "Delete/5", []string{"Delete/Dropped"}},
	{FlawAbandonsSilently, "Delete/5", []string{"Delete/Dropped"}},
	{FlawGuessesDelete, "Delete/5", []string{"Delete/BadID"}},
	{FlawDeletesSuccessor, "Delete/6", []string{"Delete/OldID"}},
	{FlawDeletesOthers, "Delete/6", []string{"Delete/OtherOwner"}},

	{FlawClashes, "All/1", []string{"All/Concurrent"}},
	{FlawOpenAfterClose, "All/1", []string{"All/Closed", "All/CloseBusy"}},
	{FlawCloseOnce, "All/1", []string{"All/Closed"}},
	{FlawIgnoresContext, "All/2", []string{"All/Canceled", "All/Deadline", "All/Hang"}},
	{FlawHangs, "All/2", []string{"All/Canceled", "All/Deadline", "All/Hang"}},
	{FlawDeaf, "All/2", []string{"All/Hang"}},
	{FlawOwnContextError, "All/2", []string{"All/Canceled", "All/Deadline", "All/Hang"}},
	{FlawBareErrors, "All/3", []string{"All/Kinds"}},
	{FlawSecretInError, "All/3", []string{"All/Secrets"}},
	{FlawSecretInLog, "All/3", []string{"All/Secrets"}},
	{FlawSecretInInstance, "All/3", []string{"All/Secrets"}},
	{FlawSecretReadable, "All/3", []string{"All/Readable"}},
}

// busyFake is a fake where everything takes time and there is something to
// refuse: three places, and two fields that it does not honour.
func busyFake(flaws ...Flaw) FakeOptions {
	return FakeOptions{
		Places: []FakePlace{{Location: "x"}, {Location: "y"}, {Location: "z"}},
		Features: []provider.Feature{provider.FeatureLocation, provider.FeatureSize, provider.FeaturePort,
			provider.FeatureCredentials, provider.FeatureAllowFrom, provider.FeatureLabels},
		Latency: time.Millisecond, Boot: 20 * time.Millisecond, Going: 30 * time.Millisecond, Flaws: flaws,
	}
}

// checkFake runs the suite on a fake in a bubble, so that nothing waits.
func checkFake(t *testing.T, opts FakeOptions) *Report {
	t.Helper()
	var report *Report
	synctest.Test(t, func(t *testing.T) {
		var err error
		config := onFake(opts)
		config.Patience, config.Callers = 5*time.Second, 16
		var backends []*FakeBackend
		open := config.Open
		config.Open = func(ctx context.Context, env Env) (Harness, error) {
			h, err := open(ctx, env)
			backends = append(backends, h.(*FakeBackend))
			return h, err
		}
		defer func() {
			time.Sleep(2 * time.Hour) // for what was left behind
			for _, b := range backends {
				if len(b.machines) > 0 || len(b.disks) > 0 {
					t.Errorf("a check left %d machines and %d disks", len(b.machines), len(b.disks))
				}
			}
		}()
		if report, err = Check(t.Context(), config); err != nil {
			t.Fatal(err)
		}
	})
	return report
}

func TestFlaws(t *testing.T) {
	for _, tt := range flawTests {
		t.Run(string(tt.flaw), func(t *testing.T) {
			t.Parallel()
			report := checkFake(t, busyFake(tt.flaw))
			if v := report.Verdict(); v != NotConformant {
				t.Errorf("the verdict is %s", v)
			}
			dependents := dependentsOf(tt.rule)
			for _, rule := range report.Rules {
				for _, c := range rule.Checks {
					want := []Status{Passed, NotApplicable}
					switch {
					case rule.Rule == tt.rule && slices.Contains(tt.checks, c.Name):
						want = []Status{Failed}
					case slices.Contains(dependents, rule.Rule):
						want = []Status{Blocked}
					}
					if !slices.Contains(want, c.Status) {
						t.Errorf("%s (%s) is %s, want %s: %s", c.Name, rule.Rule, c.Status, want, c.Message)
					}
				}
			}
		})
	}
}

// TestSoundFakePassesAll holds that the fake on which flaws are tested leaves
// no check aside.
func TestSoundFakePassesAll(t *testing.T) {
	report := checkFake(t, busyFake())
	if v := report.Verdict(); v != Conformant {
		t.Errorf("the verdict is %s:\n%s", v, report.Text())
	}
	for _, rule := range report.Rules {
		for _, c := range rule.Checks {
			if c.Status != Passed {
				t.Errorf("%s is %s: %s", c.Name, c.Status, c.Message)
			}
		}
	}
}

// TestNoFalsePositives runs the suite on sound fakes that are full or busy at
// some moment: nothing may fail, and nothing may be blocked.
func TestNoFalsePositives(t *testing.T) {
	limits := map[string]func(*FakeOptions, int){
		"quota": func(o *FakeOptions, n int) { o.Quota = n },
		"rate":  func(o *FakeOptions, n int) { o.Rate, o.RatePer = n, time.Minute },
		"capacity": func(o *FakeOptions, n int) {
			o.Places[0].Capacity, o.Places[1].Capacity, o.Places[2].Capacity = n, n, n
		},
	}
	for name, limit := range limits {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inconclusive := 0
			for _, n := range []int{1, 2, 3, 4, 5, 7, 11, 19} {
				opts := busyFake()
				limit(&opts, n)
				for _, rule := range checkFake(t, opts).Rules {
					for _, c := range rule.Checks {
						if c.Status == Failed || c.Status == Blocked {
							t.Errorf("with a limit of %d, %s is %s: %s", n, c.Name, c.Status, c.Message)
						}
						if c.Status == Inconclusive {
							inconclusive++
						}
					}
				}
			}
			if inconclusive == 0 {
				t.Error("no limit was met, so this test shows nothing")
			}
		})
	}
}

// dependentsOf returns the rules that stand on a rule, directly or not.
func dependentsOf(id string) []string {
	var found []string
	for _, rule := range inOrder(Rules()) {
		if slices.ContainsFunc(rule.After, func(a string) bool { return a == id || slices.Contains(found, a) }) {
			found = append(found, rule.ID)
		}
	}
	return found
}

// TestFlawsAreComplete holds that every flaw of the fake is tested, and that
// every check can fail.
func TestFlawsAreComplete(t *testing.T) {
	for _, flaw := range declaredFlaws(t) {
		if !slices.ContainsFunc(flawTests, func(tt struct {
			flaw   Flaw
			rule   string
			checks []string
		}) bool {
			return tt.flaw == flaw
		}) {
			t.Errorf("no test has the flaw %s", flaw)
		}
	}
	for _, rule := range Rules() {
		for _, c := range rule.Checks() {
			noticed := false
			for _, tt := range flawTests {
				noticed = noticed || tt.rule == rule.ID && slices.Contains(tt.checks, c.Name)
			}
			if !noticed {
				t.Errorf("no flaw makes %s fail", c.Name)
			}
		}
	}
}

// declaredFlaws reads the constants of type Flaw from the source.
func declaredFlaws(t *testing.T) []Flaw {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), "fake_flaws.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var flaws []Flaw
	ast.Inspect(file, func(n ast.Node) bool {
		if spec, ok := n.(*ast.ValueSpec); ok {
			text, err := strconv.Unquote(spec.Values[0].(*ast.BasicLit).Value)
			if err != nil {
				t.Fatal(err)
			}
			flaws = append(flaws, Flaw(text))
		}
		return true
	})
	if len(flaws) < 50 {
		t.Fatalf("only %d flaws were read", len(flaws))
	}
	return flaws
}
