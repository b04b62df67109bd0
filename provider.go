// Package provider is the contract for programs that rent, start and throw
// away small machines, each of which runs a forward HTTP proxy.
//
// A [Provider] makes machines on one backend (libvirt hosts, a cloud, a
// cluster, or one that somebody else writes) for one owner. [Ensure],
// [Remove], [Wait], [Collector] and [Instrument] are what its callers share.
// The package imports the standard library alone.
//
// # Rules for all methods
//
// The rules here hold for every method and are not repeated below. The full
// list, with the check of the conformance suite behind each, is in
// docs/providers.md; package providertest runs the checks.
//
//   - Owner. A provider serves one owner, named by a unique ID, and sees only
//     that owner's instances. Two owners may use one name on one backend.
//   - Retrying. Calling any method again is always safe, also from another
//     process, also after a crash in the middle of the first call.
//   - Errors. Every error is, or wraps, an [*Error]; callers read it with
//     [KindOf] and [RetryAfter] and with nothing else. What an implementer
//     cannot classify is [Unavailable]. NotFound is a promise: the backend was
//     asked, the place is known to exist, and the instance is not there.
//   - Contexts. A call returns soon after its context ends, with Kind
//     [Canceled] or [Unavailable], and the error matches the context's error.
//     Nothing is owed to an ended context: what a call leaves behind, List
//     shows and Delete removes.
//   - Concurrency. All methods are safe for concurrent use.
//   - Secrets. No credential appears in an error, in a log, or anywhere that
//     another reader of the backend can see in clear.
//   - Logs. An implementer logs to the slog.Logger that it was given, or not
//     at all. It registers nothing, and it never prints or exits.
//
// # The claim
//
// Most rules follow from one pattern, which authors are advised to use. Create
// mints a token ([NewToken]) and makes one exclusive resource under the
// derived name ([BackendName]) that carries owner, name, token and
// [Spec.Hash]: the claim. Whoever loses the race for it reads the winner's
// token. Everything else is named by the token. Delete marks the claim as
// going, removes everything else, and removes the claim last.
package provider

import (
	"cmp"
	"context"
	"io"
	"net/netip"
	"slices"
	"time"
)

// Contract is the revision of the rules that this version of the module
// describes; a provider states in [Info] the one that it was written for.
const Contract = 1

// Provider makes, finds and deletes the instances of one owner on one backend.
//
// No method is ever added to this interface: it grows by fields of its structs
// and by optional interfaces such as [Console], which callers reach with [As].
type Provider interface {
	// Info describes the provider. It costs no call to the backend, never
	// fails, and returns the same for the provider's whole life.
	Info() Info

	// Create makes the instance that spec describes and returns it as soon as
	// the backend has definitely accepted it, which is before its guest has
	// booted. A caller that wants the proxy calls [Wait] afterwards.
	//
	// The implementer refuses a spec that fails [Spec.Validate] (Invalid) and
	// a field that it cannot honour (Unsupported) before it touches the
	// backend. When the owner has an instance of that name already, Create
	// makes nothing and returns the full record of that one, as it is: with
	// another spec, stopped or failed, the caller decides. It completes one
	// that is [Incomplete]. It answers InProgress while the one before it is
	// still being deleted or its creator may be alive, and Conflict when the
	// backend's name is held by something without this owner's mark, which is
	// never adopted. NoCapacity names the Location.
	Create(ctx context.Context, spec Spec) (Instance, error)

	// Get returns the instance that ref names.
	//
	// With an ID it finds that incarnation: another one under the name, or
	// somebody else's, is NotFound, and an ID that cannot be read or placed is
	// Invalid with Field "ID". By name alone it finds the instance wherever it
	// is, and answers Unavailable when a place that might hold it could not be
	// asked. It reads what this provider's calls have written.
	Get(ctx context.Context, ref Ref) (Instance, error)

	// List returns everything of this owner in any state, leftovers and half
	// made ones included (as Incomplete), and nothing of anybody else.
	//
	// When some places could not be asked, the implementer returns what it
	// found together with an error that wraps a [*PartialError]. Callers use
	// such a list, but read nothing from an absence in it. With any other
	// error the list is empty. The caller owns the slice.
	List(ctx context.Context) ([]Instance, error)

	// Delete removes the instance that ref names with all that belongs to it:
	// nil means that nothing of it is left at any configured place.
	//
	// One that is missing, or that by name is not this owner's, is nil too.
	// InProgress means accepted and not finished; the caller calls again after
	// [RetryAfter]. Delete works from every state, for leftovers, and when Get
	// fails for good. With an ID it touches no other incarnation. When the
	// place that the ID names is no longer configured, it looks for the token
	// at the configured places, calls [Abandoned], and answers nil.
	Delete(ctx context.Context, ref Ref) error

	// Close ends all that the provider runs and waits for it; instances live
	// on. It is idempotent. Calls after it fail with an error that matches
	// fs.ErrClosed.
	Close() error
}

// Ref names an instance. It is comparable and stays so.
type Ref struct {
	// Name is the caller's key, unique within the owner and a DNS label. The
	// caller chooses it before Create, so that a caller that crashed before it
	// stored anything finds its instance again.
	Name string
	// ID names one incarnation, and is the implementer's: printable ASCII of
	// at most [MaxID] bytes. Empty means whichever incarnation has the name.
	ID string
}

// String returns the name, and the ID in brackets where there is one.
func (r Ref) String() string {
	if r.ID == "" {
		return r.Name
	}
	return r.Name + " (" + r.ID + ")"
}

// Info is what a provider says of itself.
type Info struct {
	// Name is what the configuration calls this provider: "kvm-home".
	Name string
	// Kind is the sort of backend: "kvm", "gcp", "kubernetes", "local".
	Kind string
	// Owner is the unique ID of the owner that it serves.
	Owner string
	// Contract is the revision of the rules that it was written for.
	Contract int
	// Features lists what it can do beyond the five methods, and the optional
	// fields of [Spec] that it honours. It outranks the method set: a type may
	// have a method that its backend cannot serve.
	Features []Feature
	// Locations lists the values that Spec.Location may have. Empty means that
	// only the empty Location works.
	Locations []string
}

// Has reports whether the provider declares the feature.
func (i Info) Has(f Feature) bool { return slices.Contains(i.Features, f) }

// Feature is something that a provider may or may not be able to do. Unknown
// values are ignored, so that an older caller can read a newer provider.
type Feature string

// The features. Those that begin with "spec." say that Create honours the
// field; without them, a spec with the field set is refused as Unsupported.
const (
	// FeatureConsole: the provider implements [Console].
	FeatureConsole Feature = "console"
	// FeatureHealth: the provider implements Checker of package health.
	FeatureHealth Feature = "health"

	// FeatureImage: Spec.Image.
	FeatureImage Feature = "spec.image"
	// FeatureLocation: Spec.Location.
	FeatureLocation Feature = "spec.location"
	// FeatureSize: Spec.Size.
	FeatureSize Feature = "spec.size"
	// FeaturePort: Spec.Port.
	FeaturePort Feature = "spec.port"
	// FeatureCredentials: Spec.Credentials.
	FeatureCredentials Feature = "spec.credentials"
	// FeatureAllowFrom: Spec.AllowFrom.
	FeatureAllowFrom Feature = "spec.allowFrom"
	// FeaturePreemptible: Spec.Preemptible.
	FeaturePreemptible Feature = "spec.preemptible"
	// FeatureLabels: Spec.Labels.
	FeatureLabels Feature = "spec.labels"
)

// State says how far an instance is. Values that a reader does not know it
// reads as [Unknown]: they reach status fields and outlive a version.
//
// Every state has an object behind it that Delete removes. One that is gone
// has no state; it is NotFound.
type State string

// The states.
const (
	// Unknown: the implementer cannot tell, for instance because the place
	// does not answer. It does not mean stopped.
	Unknown State = ""
	// Pending: accepted and coming up.
	Pending State = "Pending"
	// Running: the machine runs. Whether its proxy works, only a request
	// through Endpoint tells.
	Running State = "Running"
	// Stopped: it has been running and does not run now.
	Stopped State = "Stopped"
	// Failed: it will not come up by itself; Failure, Reason and Message say why.
	Failed State = "Failed"
	// Deleting: a Delete was accepted and has not finished.
	Deleting State = "Deleting"
	// Incomplete: half made, or what is left of one half deleted. Create
	// completes it and Delete removes it.
	Incomplete State = "Incomplete"
)

// Known returns s when this version knows it, and [Unknown] otherwise.
func (s State) Known() State {
	switch s {
	case Pending, Running, Stopped, Failed, Deleting, Incomplete:
		return s
	}
	return Unknown
}

// Instance is one machine as the backend has it now.
type Instance struct {
	Ref
	// State says how far it is.
	State State
	// Failure says what a caller does about a failed one: it is the Kind of
	// error that Create would have returned had it known. Empty otherwise.
	Failure Kind
	// Reason says what happened, as a stable word in upper camel case for
	// programs: one of the constants below, or the implementer's own.
	Reason string
	// Message says the same for a person, without credentials.
	Message string
	// Scheme is that of the proxy's URL: "http" or "https".
	Scheme string
	// Endpoint is host:port of the proxy, where a client connects. Empty until
	// it is known. The host may be a name.
	Endpoint string
	// Egress is the address that targets see, where the backend knows it.
	Egress netip.Addr
	// Addresses are the machine's own, most useful first.
	Addresses []netip.Addr
	// Location is where it is, in the words of Info.Locations; empty for a
	// provider that has but one place.
	Location string
	// Labels are those of its Spec.
	Labels map[string]string
	// SpecHash is the [Spec.Hash] that it was created with. Compare it with
	// [Spec.MatchesHash]. Empty when it is not known.
	SpecHash string
	// Created is when its claim was made, by the backend's clock where it has one.
	Created time.Time
}

// String returns the ref, the state, and what there is of reason, location and
// endpoint, for logs and tests. Without it, fmt would print the Ref alone.
func (i Instance) String() string {
	text := i.Ref.String() + " " + cmp.Or(string(i.State), "Unknown")
	if i.Reason != "" {
		text += " (" + i.Reason + ")"
	}
	if i.Location != "" {
		text += " at " + i.Location
	}
	if i.Endpoint != "" {
		text += ", " + i.Endpoint
	}
	return text
}

// Reasons that several backends share. An implementer adds words of its own
// for what these do not say; callers treat those that they do not know as text.
const (
	// ReasonPreempted: the backend took a preemptible machine back.
	ReasonPreempted = "Preempted"
	// ReasonEvicted: the backend moved it off its place.
	ReasonEvicted = "Evicted"
	// ReasonImagePull: its image cannot be fetched.
	ReasonImagePull = "ImagePull"
	// ReasonUnschedulable: no place takes it.
	ReasonUnschedulable = "Unschedulable"
	// ReasonGuestCrash: what runs inside ended by itself.
	ReasonGuestCrash = "GuestCrash"
	// ReasonOutOfSpace: its disk or its pool is full.
	ReasonOutOfSpace = "OutOfSpace"
	// ReasonPlaceLost: the host or node under it is gone or cut off.
	ReasonPlaceLost = "PlaceLost"
)

// Console is an optional interface of a [Provider]: the log of the boot or of
// the container. A provider that serves it declares [FeatureConsole].
type Console interface {
	// Console copies the log of the instance that ref names to w, and returns
	// nil at its end. The implementer bounds what it holds in memory, calls
	// Write from the calling goroutine only, and stops at the first error of
	// w, which it wraps. Errors are those of Get; Unsupported when there is no
	// log of the kind asked for.
	Console(ctx context.Context, ref Ref, w io.Writer, opts ConsoleOptions) error
}

// ConsoleOptions chooses what of a log to copy. The zero value is all that
// there is now.
type ConsoleOptions struct {
	// Follow goes on with what is written later, until the context ends or the
	// instance does; either end is nil.
	Follow bool
	// Previous asks for the log of the run before the last restart.
	Previous bool
	// Offset skips that many bytes; at or beyond the end nothing is copied.
	// Where older bytes have been dropped, they count as skipped.
	Offset int64
	_      struct{}
}
