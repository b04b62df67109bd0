package providertest

import (
	"time"

	"github.com/crawlfleet/provider"
)

// Status is the outcome of a check, or of a rule.
type Status string

// The statuses, from the one that weighs most in a rule to the least.
const (
	// Failed: the rule is violated.
	Failed Status = "failed"
	// Blocked: a rule that this one stands on failed, or what the check
	// prepares did not work. Nothing is said about the rule.
	Blocked Status = "blocked"
	// Inconclusive: the backend was full or busy in mid-check.
	Inconclusive Status = "inconclusive"
	// Skipped: the harness cannot do what the check needs, or Config.Skip
	// leaves it out.
	Skipped Status = "skipped"
	// Passed: no violation was found.
	Passed Status = "passed"
	// NotApplicable: the backend has no such thing, as its harness says.
	NotApplicable Status = "not applicable"
	// Unchecked: this version of the suite has no check for the rule.
	Unchecked Status = "unchecked"
)

// weight orders the statuses as the constants above.
var weight = []Status{Failed, Blocked, Inconclusive, Skipped, Passed, NotApplicable, Unchecked}

// Report is the outcome of [Check].
type Report struct {
	// Provider is what the provider says of itself, with the owner left out,
	// which is the suite's.
	Provider provider.Info
	// Contract is the revision of the rules that the suite tests.
	Contract int
	// Unaudited says that the harness could not look at the backend, so that
	// what List hides has been missed.
	Unaudited bool
	// Started and Took say when it ran and for how long.
	Started time.Time
	Took    time.Duration
	// Rules are all rules, in the order of [Rules].
	Rules []RuleResult
}

// RuleResult is the outcome of one rule.
type RuleResult struct {
	// Rule is the rule's ID, Name and Level say which that is.
	Rule  string
	Name  string
	Level Level
	// Status is that of the check that weighs most.
	Status Status
	// Checks are the rule's checks, in the order of the document.
	Checks []CheckResult
}

// CheckResult is the outcome of one check.
type CheckResult struct {
	// Name is "Create/Idempotent" or the like.
	Name string
	// Status is its outcome.
	Status Status
	// Message says why, for every status but Passed. It names the rule.
	Message string
	// Declared says of a skipped check that Config.Skip lists it.
	Declared bool
	// Took is how long it ran.
	Took time.Duration
}

// Verdict sums a report up.
type Verdict string

// The verdicts.
const (
	// Conformant: every MUST that the suite checks has passed or is not
	// applicable, on an audited backend.
	Conformant Verdict = "conformant"
	// Unproven: nothing failed, but the backend could not be audited, or was
	// too full or busy to tell.
	Unproven Verdict = "unproven"
	// NotConformant: a MUST failed, was blocked or was skipped.
	NotConformant Verdict = "not conformant"
)

// Verdict returns what the report comes to. SHOULD and MAY do not count.
func (r *Report) Verdict() Verdict {
	verdict := Conformant
	if r.Unaudited {
		verdict = Unproven
	}
	for _, rule := range r.Rules {
		if rule.Level != Must {
			continue
		}
		switch rule.Status {
		case Failed, Blocked, Skipped:
			return NotConformant
		case Inconclusive:
			verdict = Unproven
		}
	}
	return verdict
}
