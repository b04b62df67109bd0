package providertest

import "slices"

// Level says how much a rule binds, in the words of RFC 2119.
type Level string

// The levels.
const (
	// Must: a provider that breaks it is not conformant.
	Must Level = "MUST"
	// Should: a provider that breaks it says why in its documentation.
	Should Level = "SHOULD"
	// May: the rule allows something, and callers are prepared for it.
	May Level = "MAY"
)

// Need is something that a check needs of a harness beyond its four methods.
type Need string

// The needs. Each is the name of an optional interface of [Harness].
const (
	// NeedKiller is [Killer]; no check is skipped without it.
	NeedKiller Need = "Killer"
	// NeedStopper is [Stopper].
	NeedStopper Need = "Stopper"
	// NeedWrecker is [Wrecker].
	NeedWrecker Need = "Wrecker"
	// NeedSquatter is [Squatter].
	NeedSquatter Need = "Squatter"
	// NeedPlaces is [Places].
	NeedPlaces Need = "Places"
	// NeedReadable is [Readable].
	NeedReadable Need = "Readable"
	// NeedBreaker is [Breaker].
	NeedBreaker Need = "Breaker"
)

// has reports whether a harness meets the need.
func (n Need) has(h Harness) bool {
	var ok bool
	switch n {
	case NeedKiller:
		_, ok = h.(Killer)
	case NeedStopper:
		_, ok = h.(Stopper)
	case NeedWrecker:
		_, ok = h.(Wrecker)
	case NeedSquatter:
		_, ok = h.(Squatter)
	case NeedPlaces:
		_, ok = h.(Places)
	case NeedReadable:
		_, ok = h.(Readable)
	case NeedBreaker:
		_, ok = h.(Breaker)
	}
	return ok
}

// Rule is one rule of the contract.
type Rule struct {
	// ID is the method, or "All", and a number that stays: "Create/1".
	ID string
	// Name is a short name for tables.
	Name string
	// Level is how much it binds.
	Level Level
	// Text is the rule.
	Text string
	// Protects is what a reconciler or a collector does wrong without it.
	Protects string
	// Needs are what its checks need of a harness.
	Needs []Need
	// After are the rules that it stands on: when one of them fails, this one
	// is blocked.
	After []string
	// Missing says what of the rule this version does not check. Empty when
	// its checks cover it.
	Missing string

	checks []check
}

// CheckInfo describes a check.
type CheckInfo struct {
	// Name is the name under which [Run] runs it.
	Name string
	// Says is what it asserts.
	Says string
	// Needs are the optional interfaces of the harness that it uses.
	Needs []Need
}

// Checks describes the rule's checks. A rule without any is not checked by
// this version.
func (r Rule) Checks() []CheckInfo {
	var infos []CheckInfo
	for _, c := range r.checks {
		infos = append(infos, CheckInfo{Name: c.name, Says: c.says, Needs: slices.Clone(c.needs)})
	}
	return infos
}

// Rules returns every rule, grouped by method. The caller owns the slice.
func Rules() []Rule { return rules() }

// rules joins the table with the checks, which name their rule.
func rules() []Rule {
	return join(slices.Concat(createRules(), getRules(), listRules(), deleteRules(), allRules()), checks())
}

// join hands each check to the rule that it names.
func join(table []Rule, all []check) []Rule {
	for _, c := range all {
		i := slices.IndexFunc(table, func(r Rule) bool { return r.ID == c.rule })
		if i < 0 {
			panic("providertest: the check " + c.name + " names no rule")
		}
		table[i].checks = append(table[i].checks, c)
	}
	return table
}

// checks returns the checks of all groups.
func checks() []check {
	return slices.Concat(createChecks(), createSpecChecks(), createOverChecks(), getChecks(), listChecks(), deleteChecks(), allChecks(), faultChecks())
}
