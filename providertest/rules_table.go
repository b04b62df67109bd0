package providertest

// The tables below are the contract's rules. IDs are stable: a rule that goes
// leaves a gap, and a new one gets a new number.

func createRules() []Rule {
	return []Rule{{
		ID: "Create/1", Name: "same name, same instance", Level: Must,
		Text: "Create of a name that exists, again, after a crash, concurrently, or from another process, returns the full record " +
			"of the same instance and makes nothing new.",
		Protects: "A reconciler that crashed between the backend's answer and storing the ID calls Create again; without the rule each crash " +
			"leaves a machine that nobody knows and somebody pays for.",
		Needs: []Need{NeedKiller},
	}, {
		ID: "Create/2", Name: "foreign holder", Level: Must,
		Text:     "When something without this owner's mark holds the derived name, Create answers Conflict and never adopts it.",
		Protects: "What is adopted is later deleted: a reconciler would remove a machine that is somebody else's.",
		Needs:    []Need{NeedSquatter}, After: []string{"Create/1"},
	}, {
		ID: "Create/3", Name: "accepted", Level: Must,
		Text: "Create returns when the backend has definitely accepted the instance, not when its guest has booted; cut off before that, it " +
			"leaves what List shows.",
		Protects: "A reconciler stores the ID that Create returns. An operation that fails after Create returned would look like a machine that vanished, " +
			"and waiting for the boot would hold a worker for minutes.",
		Missing: "everything: it takes faults in the backend's calls",
	}, {
		ID: "Create/4", Name: "bad spec", Level: Must,
		Text: "Create refuses a spec that is not valid (Invalid) or that it cannot honour (Unsupported), naming the Field, before anything exists.",
		Protects: "A field that is dropped in silence gives an open proxy or a machine in the wrong country; one that is refused late leaves half an " +
			"instance at every retry.",
	}, {
		ID: "Create/5", Name: "leftovers are listed", Level: Must,
		Text: "Whatever a failure, a cancellation or a crash of Create leaves behind, List shows and Delete removes. No clean-up is owed on an " +
			"ended context.",
		Protects: "The collector sees what List shows. A disk that no list has is paid for until a person finds it.",
		After:    []string{"Create/1", "List/1", "Delete/1", "All/2"},
		Missing:  "a process that is killed at each call to the backend",
		Needs:    []Need{NeedBreaker},
	}, {
		ID: "Create/6", Name: "over a deletion", Level: Must,
		Text:     "Create over an instance that is being deleted answers InProgress and never returns the dying one; a Create that loses to a Delete answers InProgress.",
		Protects: "A reconciler that replaces a machine would store the ID of the one that is about to vanish, and start again when it is gone.",
		After:    []string{"Create/1", "Delete/1"},
		Missing:  "a Create that loses to a concurrent Delete",
	}, {
		ID: "Create/7", Name: "as it is", Level: Must,
		Text:     "Create over an instance that was made from another spec, is stopped or has failed returns it as it is.",
		Protects: "Replacing is the caller's decision, within its budgets; a provider that replaces by itself takes a whole fleet down at a changed label.",
		Needs:    []Need{NeedStopper}, After: []string{"Create/1"},
	}, {
		ID: "Create/8", Name: "over an incomplete one", Level: Must,
		Text:     "Create over an Incomplete instance completes it, or answers InProgress while its creator may be alive.",
		Protects: "A crash in the middle of Create must not need a person, and two processes that complete one instance must not undo each other's work.",
		Needs:    []Need{NeedWrecker}, After: []string{"Create/1", "List/1"},
	}, {
		ID: "Create/9", Name: "distinct", Level: Must,
		Text:     "Distinct names give distinct instances with distinct IDs, also when they are created at once.",
		Protects: "Two members of a fleet under one ID are deleted together, and one of them is paid for and not used.",
		After:    []string{"Create/1"},
	}}
}

func getRules() []Rule {
	return []Rule{{
		ID: "Get/1", Name: "NotFound is a promise", Level: Must,
		Text: "Get answers NotFound only when the backend says so and the place asked is known to exist. A place that is not configured, unreachable, " +
			"or does not let the provider in is never NotFound.",
		Protects: "Callers read NotFound as: rebuild it. A typo in a host's name must not look like a missing machine, or every machine there is built twice.",
		Needs:    []Need{NeedPlaces, NeedBreaker},
	}, {
		ID: "Get/2", Name: "own writes", Level: Must,
		Text:     "Get reads this provider's own writes: an instance at once after its Create, and NotFound at once after its Delete returned nil.",
		Protects: "A lagging read after Create looks like a machine that is gone, and makes a second one.",
		After:    []string{"Get/1", "Delete/1"},
	}, {
		ID: "Get/3", Name: "unreadable ID", Level: Must,
		Text:     "Get of an ID that the provider cannot parse or place answers Invalid with Field \"ID\".",
		Protects: "An ID of another provider (a proxy was moved) must not read as a missing machine, nor as whichever machine has the name.",
	}, {
		ID: "Get/4", Name: "one incarnation", Level: Must,
		Text:     "Get by ID answers NotFound for another incarnation under the name, and for somebody else's.",
		Protects: "A reconciler that holds the ID of a machine that was replaced would act on the successor.",
		After:    []string{"Get/2"},
	}, {
		ID: "Get/5", Name: "by name", Level: Must,
		Text: "Get by name finds the instance wherever it is, answers Unavailable when a place that might hold it could not be asked, and of two " +
			"incarnations returns the one with the lower (Created, ID).",
		Protects: "A caller that stored nothing has the name alone. NotFound on a partial view makes a second machine.",
		Needs:    []Need{NeedPlaces, NeedBreaker}, After: []string{"Get/2"},
		Missing: "two incarnations at two places",
	}}
}

func listRules() []Rule {
	return []Rule{{
		ID: "List/1", Name: "everything of ours", Level: Must,
		Text:     "List returns every instance of this owner in any state; what is half made or left over (only a disk or a secret remains) is among them as Incomplete.",
		Protects: "The collector deletes what it sees. What List hides is never deleted, and its instance is taken for missing.",
		Needs:    []Need{NeedStopper, NeedWrecker},
	}, {
		ID: "List/2", Name: "nothing of others", Level: Must,
		Text:     "List returns nothing of another owner, nor what carries no owner's mark.",
		Protects: "A collector deletes what is listed and has no owner here: two fleets on one backend would sweep each other.",
		Needs:    []Need{NeedSquatter},
	}, {
		ID: "List/3", Name: "complete or partial", Level: Must,
		Text:     "List is complete, or returns what it found beside a PartialError that names the places not covered.",
		Protects: "A list that is short without saying so makes a reconciler rebuild what it does not see.",
		Needs:    []Need{NeedPlaces, NeedBreaker}, After: []string{"List/1"},
	}, {
		ID: "List/4", Name: "complete entries", Level: Must,
		Text:     "Each entry of List has its name, ID, state and location, and appears once.",
		Protects: "A reconciler observes its fleet by List and asks Get only about what is absent; an entry without an ID cannot be deleted safely.",
		After:    []string{"List/1"},
	}}
}

func deleteRules() []Rule {
	return []Rule{{
		ID: "Delete/1", Name: "nil is gone", Level: Must,
		Text:     "Delete returns nil only when nothing of the instance is left at any configured place: disks, seeds, addresses and secrets included.",
		Protects: "A finalizer is removed at nil. What is left then has no object that remembers it.",
		After:    []string{"Delete/2"},
		Needs:    []Need{NeedPlaces, NeedBreaker},
	}, {
		ID: "Delete/2", Name: "accepted is not gone", Level: Must,
		Text:     "A Delete that was accepted and is not finished answers InProgress with RetryAfter; called again, it converges.",
		Protects: "A caller that takes accepted for gone frees the name too early; one that is told no time asks in a loop until it is rate limited.",
	}, {
		ID: "Delete/3", Name: "missing is nil", Level: Must,
		Text:     "Delete of an instance that is missing, or that by name is not this owner's, answers nil, the place being known to exist.",
		Protects: "A retry after a lost answer must end; an error there keeps an object in deletion for ever.",
		After:    []string{"Delete/1"},
	}, {
		ID: "Delete/4", Name: "from every state", Level: Must,
		Text:     "Delete works from every state, when the main resource is gone and leftovers remain, and when Get fails for good.",
		Protects: "A failed machine that cannot be deleted is paid for until a person comes.",
		Needs:    []Need{NeedStopper, NeedWrecker}, After: []string{"Delete/1"},
		Missing: "an instance whose Get fails for good",
	}, {
		ID: "Delete/5", Name: "place given up", Level: Must,
		Text: "When the place that an ID names is no longer configured, Delete looks for the token at the configured places, calls provider.Abandoned, logs a warning, " +
			"and answers nil. An ID of a foreign format is Invalid. This is the one exception to Delete/1.",
		Protects: "A host that burnt down must not keep its machines' objects in deletion for ever, and giving up must be counted.",
		Needs:    []Need{NeedPlaces}, After: []string{"Delete/1"},
		Missing: "a token that is found at a place under another name",
	}, {
		ID: "Delete/6", Name: "never another", Level: Must,
		Text:     "Delete never touches another owner's instance, nor another incarnation than the ID names.",
		Protects: "A delete that was retried late removes the machine that was made in the meantime.",
		After:    []string{"Delete/1"},
	}}
}

func allRules() []Rule {
	return []Rule{{
		ID: "All/1", Name: "concurrent, and closed", Level: Must,
		Text:     "All methods are safe for concurrent use. After Close nothing of the provider runs and its calls match fs.ErrClosed; Close is idempotent.",
		Protects: "Reconcilers run side by side, and a provider is replaced at a reload while calls are under way.",
		Missing:  "goroutines that outlive Close",
		After:    []string{"Create/1", "Delete/1"},
	}, {
		ID: "All/2", Name: "contexts", Level: Must,
		Text:     "A call ends soon after its context does, with Kind Canceled or Unavailable, and its error matches the context's.",
		Protects: "A shutdown that waits for a hung backend is killed instead; a caller that gave up must not read the outcome as the backend's word.",
		Needs:    []Need{NeedBreaker},
	}, {
		ID: "All/3", Name: "kinds and secrets", Level: Must,
		Text: "Every error is or wraps a *provider.Error with a Kind that says what to do, and unclassified means Unavailable. No credential is in an error, a log, an instance, " +
			"or anywhere that another reader of the backend sees in clear.",
		Protects: "A reconciler decides by Kind alone. Errors and logs travel to status fields, trackers and chats.",
		Needs:    []Need{NeedReadable},
		After:    []string{"All/2"},
	}, {
		ID: "All/4", Name: "logs where it was told", Level: Must,
		Text:     "A provider logs to the slog.Logger that it was given and nowhere else; it never prints or exits.",
		Protects: "A program that prints JSON or draws a terminal is broken by a library that prints.",
		Missing:  "everything",
	}}
}
