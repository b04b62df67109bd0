package providertest

// Flaw is a switch of a [Fake] that breaks one rule. It changes what the fake
// does for every caller and never looks at which check is running, so that a
// suite that notices it has noticed a provider's fault.
type Flaw string

// The flaws, by the rule that each breaks.
const (
	// FlawCreatesTwice makes a new machine at every Create. Create/1.
	FlawCreatesTwice Flaw = "creates-twice"
	// FlawForgets keeps names in memory alone, so that another process makes a
	// second machine. Create/1.
	FlawForgets Flaw = "forgets"
	// FlawRaces looks for the name and then makes a machine, with nothing that
	// excludes another in between. Create/1.
	FlawRaces Flaw = "races"
	// FlawAdoptsThin returns an instance that exists without its ID. Create/1.
	FlawAdoptsThin Flaw = "adopts-thin"
	// FlawReturnsThin returns a new instance without its SpecHash. Create/1.
	FlawReturnsThin Flaw = "returns-thin"
	// FlawAdoptsForeign takes what holds the name for its own. Create/2.
	FlawAdoptsForeign Flaw = "adopts-foreign"
	// FlawLateRefusal refuses a bad spec after the claim. Create/4.
	FlawLateRefusal Flaw = "late-refusal"
	// FlawDropsFields ignores the fields that Info does not list. Create/4.
	FlawDropsFields Flaw = "drops-fields"
	// FlawNamesNoField refuses a bad spec without its Field. Create/4.
	FlawNamesNoField Flaw = "names-no-field"
	// FlawUnmarkedDisk makes a disk before the claim, and marks it only at the
	// end. Create/5.
	FlawUnmarkedDisk Flaw = "unmarked-disk"
	// FlawRetriesAnew claims another name when the first claim's answer is
	// lost. Create/5.
	FlawRetriesAnew Flaw = "retries-anew"
	// FlawReturnsDying returns an instance that is being deleted. Create/6.
	FlawReturnsDying Flaw = "returns-dying"
	// FlawReplacesChanged replaces an instance that was made from another
	// spec. Create/7.
	FlawReplacesChanged Flaw = "replaces-changed"
	// FlawRestartsStopped starts an instance that is stopped. Create/7.
	FlawRestartsStopped Flaw = "restarts-stopped"
	// FlawNeverCompletes waits for ever for whoever began. Create/8.
	FlawNeverCompletes Flaw = "never-completes"
	// FlawSharesTokens gives one token to creates that meet. Create/9.
	FlawSharesTokens Flaw = "shares-tokens"

	// FlawCutIsNotFound takes a place that does not answer for one that has
	// nothing, by ID. Get/1.
	FlawCutIsNotFound Flaw = "cut-is-not-found"
	// FlawDroppedIsNotFound answers NotFound for a place that is not
	// configured. Get/1.
	FlawDroppedIsNotFound Flaw = "dropped-is-not-found"
	// FlawMissingIsUnavailable never says NotFound. Get/1.
	FlawMissingIsUnavailable Flaw = "missing-is-unavailable"
	// FlawStaleGet does not see an instance in its first second. Get/2.
	FlawStaleGet Flaw = "stale-get"
	// FlawGhosts returns a deleted instance for a second. Get/2.
	FlawGhosts Flaw = "ghosts"
	// FlawGuessesID takes an ID that it cannot read for none. Get/3.
	FlawGuessesID Flaw = "guesses-id"
	// FlawIgnoresID returns whichever incarnation has the name. Get/4.
	FlawIgnoresID Flaw = "ignores-id"
	// FlawPartialNotFound answers NotFound by name although a place did not
	// answer. Get/5.
	FlawPartialNotFound Flaw = "partial-not-found"
	// FlawFirstPlace looks for a name at the place that it prefers alone. Get/5.
	FlawFirstPlace Flaw = "first-place"

	// FlawHidesStopped lists what runs. List/1.
	FlawHidesStopped Flaw = "hides-stopped"
	// FlawHidesLeftovers lists machines alone. List/1.
	FlawHidesLeftovers Flaw = "hides-leftovers"
	// FlawHidesDeleting lists nothing that is being deleted. List/1.
	FlawHidesDeleting Flaw = "hides-deleting"
	// FlawFirstPage lists the first three instances. List/1.
	FlawFirstPage Flaw = "first-page"
	// FlawListsOthers lists what other owners have. List/2.
	FlawListsOthers Flaw = "lists-others"
	// FlawListsUnmarked lists what has no owner's mark. List/2.
	FlawListsUnmarked Flaw = "lists-unmarked"
	// FlawSilentlyPartial lists what answers, without an error. List/3.
	FlawSilentlyPartial Flaw = "silently-partial"
	// FlawAllOrNothing lists nothing when one place does not answer. List/3.
	FlawAllOrNothing Flaw = "all-or-nothing"
	// FlawListsThin lists without IDs. List/4.
	FlawListsThin Flaw = "lists-thin"
	// FlawListsTwice lists each instance twice. List/4.
	FlawListsTwice Flaw = "lists-twice"

	// FlawLeavesDisk deletes the machine alone. Delete/1.
	FlawLeavesDisk Flaw = "leaves-disk"
	// FlawForgetsPending leaves the disk of what has not booted. Delete/1.
	FlawForgetsPending Flaw = "forgets-pending"
	// FlawAcceptedIsGone answers nil as soon as the backend has accepted.
	// Delete/1.
	FlawAcceptedIsGone Flaw = "accepted-is-gone"
	// FlawFaultIsGone takes a disk that it cannot delete for deleted. Delete/1.
	FlawFaultIsGone Flaw = "fault-is-gone"
	// FlawNeverConverges begins anew at each Delete. Delete/2.
	FlawNeverConverges Flaw = "never-converges"
	// FlawNoRetryAfter does not say how long a deletion takes. Delete/2.
	FlawNoRetryAfter Flaw = "no-retry-after"
	// FlawMissingIsError answers NotFound when there is nothing. Delete/3.
	FlawMissingIsError Flaw = "missing-is-error"
	// FlawCutIsGone answers nil for a place that does not answer. Delete/1.
	FlawCutIsGone Flaw = "cut-is-gone"
	// FlawKeepsStopped cannot delete what does not run. Delete/4.
	FlawKeepsStopped Flaw = "keeps-stopped"
	// FlawSkipsLeftovers looks for disks through their machine. Delete/4.
	FlawSkipsLeftovers Flaw = "skips-leftovers"
	// FlawKeepsAbandoned never gives up a place. Delete/5.
	FlawKeepsAbandoned Flaw = "keeps-abandoned"
	// FlawAbandonsSilently gives up without telling. Delete/5.
	FlawAbandonsSilently Flaw = "abandons-silently"
	// FlawGuessesDelete deletes by name when it cannot read the ID. Delete/5.
	FlawGuessesDelete Flaw = "guesses-delete"
	// FlawDeletesSuccessor deletes by name, whatever the ID. Delete/6.
	FlawDeletesSuccessor Flaw = "deletes-successor"
	// FlawDeletesOthers deletes by name, whoever the owner. Delete/6.
	FlawDeletesOthers Flaw = "deletes-others"

	// FlawClashes panics when a List meets a Delete. All/1.
	FlawClashes Flaw = "clashes"
	// FlawOpenAfterClose goes on after Close. All/1.
	FlawOpenAfterClose Flaw = "open-after-close"
	// FlawCloseOnce fails when it is closed again. All/1.
	FlawCloseOnce Flaw = "close-once"
	// FlawIgnoresContext goes on after its context ended. All/2.
	FlawIgnoresContext Flaw = "ignores-context"
	// FlawHangs takes an hour to notice that its context ended. All/2.
	FlawHangs Flaw = "hangs"
	// FlawDeaf waits for its backend, whatever its context does. All/2.
	FlawDeaf Flaw = "deaf"
	// FlawOwnContextError says Canceled in words of its own. All/2.
	FlawOwnContextError Flaw = "own-context-error"
	// FlawBareErrors returns errors that are no *provider.Error. All/3.
	FlawBareErrors Flaw = "bare-errors"
	// FlawSecretInError quotes the spec's password. All/3.
	FlawSecretInError Flaw = "secret-in-error"
	// FlawSecretInLog logs the spec's password. All/3.
	FlawSecretInLog Flaw = "secret-in-log"
	// FlawSecretInInstance returns the spec's password. All/3.
	FlawSecretInInstance Flaw = "secret-in-instance"
	// FlawSecretReadable stores the password in clear. All/3.
	FlawSecretReadable Flaw = "secret-readable"
)
