package providertest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

// Run runs the suite as subtests of t, one for each check, named as the check
// ("Create/Idempotent"), so that -run picks some. A check that fails fails its
// subtest; one that is blocked, inconclusive or skipped skips it, and one that
// is not applicable passes and logs why. At the end t fails when something was
// blocked, inconclusive, or skipped without an entry in [Config.Skip]: a test
// that turns green has looked.
func Run(t *testing.T, config Config) {
	t.Helper()
	r := &runner{config: config}
	report, err := r.run(t.Context(), func(name string, f func() CheckResult) (CheckResult, bool) {
		var result CheckResult
		ran := false
		t.Run(name, func(t *testing.T) {
			result, ran = f(), true
			switch result.Status {
			case Failed:
				t.Error(result.Message)
			case Blocked, Inconclusive, Skipped:
				t.Skipf("%s: %s", result.Status, result.Message)
			case NotApplicable:
				t.Logf("%s: %s", result.Status, result.Message)
			}
		})
		return result, ran
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range report.Rules {
		for _, c := range rule.Checks {
			if c.Status == Blocked || c.Status == Inconclusive || c.Status == Skipped && !c.Declared {
				t.Errorf("%s is %s: %s", c.Name, c.Status, c.Message)
			}
		}
	}
	t.Logf("%s\n%s%s", report.Verdict(), report.summary(), report.unauditedNote())
}

// Check runs the suite without package testing. The report says what came of
// it; the error is non-nil only when the suite could not run at all. When ctx
// ends, the check that is running ends, and the rest is skipped.
func Check(ctx context.Context, config Config) (*Report, error) {
	r := &runner{config: config}
	return r.run(ctx, func(_ string, f func() CheckResult) (CheckResult, bool) { return f(), true })
}

// runner runs all checks in the order of their rules' dependencies.
type runner struct {
	config  Config
	results map[string]RuleResult
	report  Report
}

// step runs one check under its name, and reports false when it was not
// selected.
type step func(name string, f func() CheckResult) (CheckResult, bool)

func (r *runner) run(ctx context.Context, do step) (*Report, error) {
	if r.config.Open == nil {
		return nil, &provider.Error{Kind: provider.Invalid, Field: "Config.Open", Err: errors.New("is nil; it opens the harness")}
	}
	table := rules()
	r.results = map[string]RuleResult{}
	r.report = Report{Contract: provider.Contract, Started: time.Now()}
	for _, rule := range inOrder(table) {
		r.results[rule.ID] = r.rule(ctx, rule, do)
	}
	for _, rule := range table {
		r.report.Rules = append(r.report.Rules, r.results[rule.ID])
	}
	r.report.Took = time.Since(r.report.Started)
	return &r.report, nil
}

// inOrder returns the rules so that each comes after those that it stands on.
func inOrder(table []Rule) []Rule {
	var order []Rule
	placed := map[string]bool{}
	for len(order) < len(table) {
		before := len(order)
		for _, rule := range table {
			waits := slices.ContainsFunc(rule.After, func(id string) bool { return !placed[id] })
			if !placed[rule.ID] && !waits {
				placed[rule.ID] = true
				order = append(order, rule)
			}
		}
		if len(order) == before {
			panic("providertest: the rules' dependencies have a cycle or name an unknown rule")
		}
	}
	return order
}

func (r *runner) rule(ctx context.Context, rule Rule, do step) RuleResult {
	result := RuleResult{Rule: rule.ID, Name: rule.Name, Level: rule.Level, Status: Unchecked}
	for _, c := range rule.checks {
		cr, ran := do(c.name, func() CheckResult { return r.check(ctx, rule, c) })
		if !ran {
			cr = CheckResult{Name: c.name, Status: Skipped, Declared: true, Message: "not selected"}
		}
		result.Checks = append(result.Checks, cr)
		if slices.Index(weight, cr.Status) < slices.Index(weight, result.Status) {
			result.Status = cr.Status
		}
	}
	return result
}

// check runs one check, or says why it does not run.
func (r *runner) check(ctx context.Context, rule Rule, c check) CheckResult {
	result := CheckResult{Name: c.name}
	keys := []string{c.name, rule.ID}
	for _, need := range c.needs {
		keys = append(keys, string(need))
	}
	if key, reason := r.config.skip(keys...); key != "" {
		result.Status, result.Declared = Skipped, true
		result.Message = fmt.Sprintf("%s is left out by the configuration: %s", key, reason)
		return result
	}
	for _, id := range rule.After {
		if s := r.results[id].Status; s == Failed || s == Blocked {
			result.Status = Blocked
			result.Message = fmt.Sprintf("%s stands on %s, which is %s", rule.ID, id, s)
			return result
		}
	}
	if ctx.Err() != nil {
		result.Status, result.Message = Skipped, ctx.Err().Error()
		return result
	}
	started := time.Now()
	result.Status, result.Message = r.try(ctx, c)
	result.Took = time.Since(started)
	if result.Status == Failed {
		result.Message = fmt.Sprintf("%s breaks rule %s (%s): %s", c.name, rule.ID, rule.Text, result.Message)
	}
	return result
}

// try opens a harness, runs the check on it and tears it down.
func (r *runner) try(ctx context.Context, c check) (Status, string) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t := newTrial(ctx, r.config, c)
	h, err := r.config.Open(ctx, t.env)
	if err != nil {
		return Blocked, fmt.Sprintf("the harness cannot be opened: %v", err)
	}
	t.harness = h
	for _, need := range c.needs {
		if !need.has(h) {
			return Skipped, fmt.Sprintf("the harness has no %s", need)
		}
	}
	if err := h.Purge(ctx); err != nil {
		return Blocked, fmt.Sprintf("the harness cannot purge the backend: %v", err)
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer t.recovered()
		c.run(t)
	}()
	watchdog := time.NewTimer(r.config.limit())
	defer watchdog.Stop()
	select {
	case <-ended:
	case <-watchdog.C:
		t.settleOn(Failed, fmt.Sprintf("the watchdog ended the check after %v", r.config.limit()))
		cancel()
		// A check that minds its context gets the time to end; one that does
		// not is left behind.
		select {
		case <-ended:
		case <-time.After(r.config.patience()):
		}
	}
	t.settleOn(Passed, "")
	status, message := t.outcome()
	if err := r.tearDown(ctx, t); err != nil && status == Passed {
		return Blocked, fmt.Sprintf("cleaning up after the check: %v", err)
	}
	return status, message
}

// tearDown closes what the trial opened and purges the backend. It works on a
// context of its own, so that a check that was ended leaves nothing.
func (r *runner) tearDown(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), r.config.patience())
	defer cancel()
	t.mu.Lock()
	opened := t.opened
	r.report.Unaudited = r.report.Unaudited || t.unaudited
	t.mu.Unlock()
	for _, p := range opened {
		info := p.Info()
		info.Owner = ""
		r.report.Provider = info
		// A provider that cannot be closed has a check of its own.
		_ = p.Close()
	}
	err := t.harness.Purge(ctx)
	if c, ok := t.harness.(io.Closer); ok {
		err = errors.Join(err, c.Close())
	}
	return err
}
