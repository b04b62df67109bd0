package providertest

import (
	"context"

	"github.com/crawlfleet/provider"
)

// Harness connects the suite to one backend. The suite calls the provider for
// what a rule is about, and the harness for everything else: what it prepares
// and what it finds must not pass through the code under test.
//
// All methods may be called at once. What a harness can do beyond these four
// methods it says by the optional interfaces below; a check that needs one
// which is missing is skipped. A method of an optional interface that returns
// an error matching errors.ErrUnsupported says that the backend has no such
// thing, and its text says why: the check is then not applicable.
type Harness interface {
	// Open returns a provider as a new process of the owner's program would
	// build it: two that are open at once share nothing in memory, and opening
	// one after the other was closed is a restart. The suite closes it.
	Open(ctx context.Context, owner string) (provider.Provider, error)

	// Spec returns a valid spec of that name for the cheapest instance that
	// the backend has. The suite changes its credentials, labels and revision
	// where Info says that they are honoured.
	Spec(name string) provider.Spec

	// Audit returns everything that the backend holds for the owner: machines,
	// disks, seeds, addresses, secrets, files, processes. It asks the backend
	// and never the provider. A harness that cannot look returns an error that
	// matches errors.ErrUnsupported; the suite then judges by List, and the
	// report says "unaudited".
	Audit(ctx context.Context, owner string) ([]Resource, error)

	// Purge removes everything that this harness's checks have made, squatters
	// included, by a back door and never by the provider, and undoes what the
	// optional interfaces did.
	Purge(ctx context.Context) error
}

// Resource is one thing that a backend holds. It is comparable.
type Resource struct {
	// Type is the backend's word for its sort: "domain", "volume", "process".
	Type string
	// ID tells it from others of its type.
	ID string
	// Instance is the name (Ref.Name) of the instance that it belongs to.
	// A machine has one; for the rest it is empty when the harness cannot tell.
	Instance string
	// Machine says that this is the machine itself (the process, domain, VM or
	// pod, running or not): the suite counts these as instances.
	Machine bool
}

// Killer is an optional interface of a [Harness].
type Killer interface {
	// Kill ends a provider that Open returned as SIGKILL ends its process:
	// no deferred call runs, nothing is flushed. Without it the suite calls
	// Close where a rule is about a restart.
	Kill(p provider.Provider) error
}

// Stopper is an optional interface of a [Harness].
type Stopper interface {
	// Stop ends the machine from outside, as a crash of the guest or a power
	// cut would, and leaves everything else in place. The suite waits until
	// the provider reports it Stopped or Failed.
	Stop(ctx context.Context, owner string, ref provider.Ref) error
}

// Wrecker is an optional interface of a [Harness].
type Wrecker interface {
	// Wreck removes the instance's machine behind the provider's back and
	// leaves the rest that belongs to it (a disk, a secret, a directory). It
	// is unsupported where a machine is all that there is.
	Wreck(ctx context.Context, owner string, ref provider.Ref) error
}

// Squatter is an optional interface of a [Harness].
type Squatter interface {
	// Squat puts something that does not carry this owner's mark under the
	// name that the provider derives for the owner's instance of that name
	// (see provider.BackendName). The function that it returns reports an
	// error when that something is gone or changed. It is unsupported where
	// nobody else can hold such a name.
	Squat(ctx context.Context, owner, name string) (intact func(context.Context) error, err error)
}

// Places is an optional interface of a [Harness] whose provider keeps
// instances at one place or several, as listed in Info.Locations. A location
// may be "" for a provider that has but one place.
type Places interface {
	// Cut makes the place unreachable for every provider of this harness, open
	// now or later, until mend is called. What is there goes on.
	Cut(ctx context.Context, location string) (mend func(), err error)
	// Drop leaves the place out of the configuration of providers that are
	// opened from now on, until restore is called.
	Drop(ctx context.Context, location string) (restore func(), err error)
}

// Readable is an optional interface of a [Harness].
type Readable interface {
	// Dump returns what another reader of the backend can see in clear of the
	// owner's instances: metadata, descriptions, logs. The suite searches it
	// for credentials.
	Dump(ctx context.Context, owner string) ([]byte, error)
}
