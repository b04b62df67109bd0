package providertest

import "github.com/crawlfleet/provider"

// KindAdvice says what a kind of error means and what a reconciler does then.
type KindAdvice struct {
	// Kind is one of provider.Kinds.
	Kind provider.Kind
	// Meaning is what the provider says with it.
	Meaning string
	// Reconciler is what a caller does about it.
	Reconciler string
}

// Advice returns what each Kind means and what a reconciler does with it, from
// the most conclusive to the least. docs/providers.md is generated from it.
func Advice() []KindAdvice {
	return []KindAdvice{
		{provider.NotFound, "the backend is sure that it does not exist", "rebuild it, or be done with deleting it"},
		{provider.Conflict, "the backend's name is held by something that is not this owner's", "retry slowly and show it; never delete the holder"},
		{provider.Invalid, "this spec, ID or configuration cannot work; Field says which part",
			"retry slowly, because configuration changes unseen, and show it; with a Field of \"ID\", Delete by name alone"},
		{provider.Unsupported, "this provider cannot do that", "as Invalid"},
		{provider.PermissionDenied, "the credentials do not allow that", "retry slowly and alert"},
		{provider.Unauthenticated, "the credentials were refused", "retry slowly and alert"},
		{provider.QuotaExceeded, "the account's limit is reached", "retry slowly and alert; do not try elsewhere in the same account"},
		{provider.NoCapacity, "there is none at Location now", "go elsewhere, or come later"},
		{provider.InProgress, "accepted or going on, and not finished", "call again after RetryAfter; it is no failure"},
		{provider.RateLimited, "asked too often", "call again after RetryAfter, and slow down all calls to this provider"},
		{provider.Canceled, "the caller's own context ended it", "nothing; what was left, the next call finds"},
		{provider.Unavailable, "unreachable, failing, timed out or unclassified", "back off and keep what is known; conclude nothing about the instance"},
	}
}

// StateAdvice says what a state means and what a reconciler does with it.
type StateAdvice struct {
	// State is one of the states of package provider.
	State provider.State
	// Meaning is what the provider says with it.
	Meaning string
	// Reconciler is what a caller does about it.
	Reconciler string
}

// States returns the states in the order of an instance's life.
func States() []StateAdvice {
	return []StateAdvice{
		{provider.Pending, "accepted and coming up", "wait, up to a limit of its own"},
		{provider.Running, "the machine runs; whether its proxy works, only a request through Endpoint tells", "check the proxy, then hand it out"},
		{provider.Stopped, "it has been running and does not run now", "replace it, within the budget"},
		{provider.Failed, "it will not come up by itself; Failure says which Kind of error Create would have returned", "delete it, then act on Failure"},
		{provider.Deleting, "a Delete was accepted and has not finished", "call Delete again; do not count it"},
		{provider.Incomplete, "half made, or what is left of one half deleted", "Create to complete it, or Delete to remove it"},
		{provider.Unknown, "the provider cannot tell, for instance because the place does not answer", "keep it and wait; it does not mean stopped"},
	}
}
