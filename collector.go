package provider

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Defaults of a [Collector].
const (
	// DefaultGrace is longer than a caller needs between a Create and storing
	// what it returned, retries included.
	DefaultGrace = 15 * time.Minute
	// DefaultMaxDeletes bounds what one wrong sweep can do.
	DefaultMaxDeletes = 20
	// DefaultMaxShare and FewOrphans are the guard against a list of owners
	// that is wrong: more orphans than that share of all, and more than that
	// many, are taken for a fault of the list. Restarts with an empty cache
	// have cost others whole fleets (machine-controller-manager#583).
	DefaultMaxShare = 0.3
	FewOrphans      = 5
)

// Collector deletes the instances of one provider that nobody owns any more:
// what a crashed caller forgot, and what half a Delete left.
//
// An instance is owned when an owner without an ID has its name, or one with
// an ID has its ID. It is deleted when it has been an orphan in every sweep for
// the grace period, beginning with the first sweep of this Collector that saw
// it; its Created can only make that longer. A restart forgets what was seen,
// and so only delays.
//
// Whatever is in doubt is spared. A List that fails or a list of owners that
// cannot be read ends the sweep; a partial List hides instances and accuses
// none. The fields are not changed after the first Sweep.
type Collector struct {
	// Provider is whose instances are swept. Required.
	Provider Provider
	// Owners returns a Ref for everything that may own an instance of the
	// Provider's owner, whatever provider it names: an object that is moving
	// from one to another owns both. Required. A sweep calls it after the List
	// and again before each delete, on its own goroutine.
	Owners func(context.Context) ([]Ref, error)
	// Grace is how long an orphan is spared. Zero is [DefaultGrace]; negative
	// is none, for a person who has looked.
	Grace time.Duration
	// MaxDeletes caps the Delete calls of a sweep; the others wait for the
	// next one. Zero is [DefaultMaxDeletes].
	MaxDeletes int
	// MaxShare is the share of orphans, of all that the List shows, above
	// which a sweep refuses to delete when they are also more than
	// [FewOrphans]. Zero is [DefaultMaxShare]; one switches the guard off.
	MaxShare float64
	// Acknowledge is how many orphans an operator has looked at and released:
	// up to that many, the guard lets a sweep delete.
	Acknowledge int
	// DryRun reports what a sweep would delete and deletes nothing. It counts
	// as seeing the orphans.
	DryRun bool
	// Logger is told of each delete and of a refused sweep. Nil is silence.
	Logger *slog.Logger
	// Now is the clock. Nil is time.Now.
	Now func() time.Time

	mu    sync.Mutex
	first map[Ref]time.Time // since when each orphan has been one
}

// Sweep is the report of one sweep.
type Sweep struct {
	// Listed is how many instances the List showed.
	Listed int
	// Missing is the error of a partial List, nil when it covered everything.
	Missing error
	// Orphans is how many of those listed nobody owns.
	Orphans int
	// Spared are the orphans that the sweep left alone, in the List's order.
	Spared []Spared
	// Deleted are those that it called Delete for, in that order; under DryRun
	// those that it would have.
	Deleted []Deleted
}

// Spared is an orphan that a sweep left alone.
type Spared struct {
	// Ref names it.
	Ref Ref
	// Why is one of the constants below.
	Why string
	// Until is when the grace period ends, for [SparedGrace].
	Until time.Time
}

// Why an orphan was spared.
const (
	// SparedGrace: it has not been an orphan for long enough.
	SparedGrace = "grace"
	// SparedCap: the sweep had made MaxDeletes deletes.
	SparedCap = "cap"
	// SparedGuard: there are too many orphans; see MaxShare.
	SparedGuard = "guard"
	// SparedOwned: it had an owner when the owners were read again.
	SparedOwned = "owned"
)

// Deleted is an orphan that a sweep called Delete for.
type Deleted struct {
	// Ref names it.
	Ref Ref
	// State is what the List said.
	State State
	// Err is the error of Delete: nil when nothing of it is left, InProgress
	// when the backend goes on and a later sweep finishes it.
	Err error
}

// TooManyOrphansError is the error of a sweep that the guard refused. Its Kind
// is Invalid, Field "Acknowledge": somebody has to look, because the list of
// owners is probably wrong.
type TooManyOrphansError struct {
	// Orphans of Listed instances have no owner.
	Orphans, Listed int
}

// Error says how many there are and how to go on.
func (e *TooManyOrphansError) Error() string {
	return fmt.Sprintf("%d of %d instances have no owner; the list of owners may be wrong. "+
		"When it is right, acknowledge that many orphans", e.Orphans, e.Listed)
}

// Sweep looks once and deletes what has been an orphan for long enough.
//
// The report is valid beside any error. The error is that of the List or of
// Owners, a [*TooManyOrphansError], or the context's; a Delete that fails is in
// the report and stops nothing. Sweeps of one Collector wait for each other.
func (c *Collector) Sweep(ctx context.Context) (Sweep, error) {
	c.mu.Lock()
	defer c.mu.Unlock()

	var sweep Sweep
	// The backend is listed before the owners are read: an instance that is
	// made in between is not in the list, and one whose owner was stored in
	// between has that owner.
	list, err := c.Provider.List(ctx)
	if err != nil {
		if _, partial := errors.AsType[*PartialError](err); !partial {
			return sweep, c.fail(err)
		}
		sweep.Missing = err
	}
	owners, err := c.Owners(ctx)
	if err != nil {
		return sweep, c.fail(fmt.Errorf("the owners cannot be read: %w", err))
	}
	sweep.Listed = len(list)
	orphans := newOwnership(owners).orphans(list)
	sweep.Orphans = len(orphans)
	now := c.now()
	c.remember(list, orphans, now, sweep.Missing != nil)

	if c.tooMany(sweep) {
		for _, inst := range orphans {
			sweep.Spared = append(sweep.Spared, Spared{Ref: inst.Ref, Why: SparedGuard})
		}
		err := &TooManyOrphansError{Orphans: sweep.Orphans, Listed: sweep.Listed}
		c.logger().WarnContext(ctx, "sweep refused", "provider", c.Provider.Info().Name, "error", err)
		return sweep, c.fail(&Error{Kind: Invalid, Field: "Acknowledge", Err: err})
	}
	return sweep, c.delete(ctx, orphans, now, &sweep)
}

// delete goes over the orphans and deletes the ripe ones within the cap.
func (c *Collector) delete(ctx context.Context, orphans []*Instance, now time.Time, sweep *Sweep) error {
	for _, inst := range orphans {
		spare := func(why string, until time.Time) {
			sweep.Spared = append(sweep.Spared, Spared{Ref: inst.Ref, Why: why, Until: until})
		}
		if until := c.ripe(inst); now.Before(until) {
			spare(SparedGrace, until)
			continue
		}
		if len(sweep.Deleted) >= cmp.Or(c.MaxDeletes, DefaultMaxDeletes) {
			spare(SparedCap, time.Time{})
			continue
		}
		owners, err := c.Owners(ctx)
		if err != nil {
			return c.fail(fmt.Errorf("the owners cannot be read again: %w", err))
		}
		if slices.ContainsFunc(owners, func(o Ref) bool { return owns(o, inst.Ref) }) {
			delete(c.first, inst.Ref)
			spare(SparedOwned, time.Time{})
			continue
		}
		err = nil
		if !c.DryRun {
			err = c.Provider.Delete(ctx, inst.Ref)
			c.logger().InfoContext(ctx, "orphan deleted", "provider", c.Provider.Info().Name,
				"name", inst.Name, "id", inst.ID, "state", inst.State, "error", err)
		}
		if err == nil && !c.DryRun {
			delete(c.first, inst.Ref)
		}
		sweep.Deleted = append(sweep.Deleted, Deleted{Ref: inst.Ref, State: inst.State, Err: err})
		if ctx.Err() != nil {
			return c.fail(ctx.Err())
		}
	}
	return nil
}

// remember notes since when each orphan has been one, and forgets those that
// are none any more. What a partial list does not show stays as it was.
func (c *Collector) remember(list []Instance, orphans []*Instance, now time.Time, partial bool) {
	seen := make(map[Ref]time.Time, len(orphans))
	if partial {
		maps.Copy(seen, c.first)
		for i := range list {
			delete(seen, list[i].Ref)
		}
	}
	for _, inst := range orphans {
		since, ok := c.first[inst.Ref]
		if !ok {
			since = now
		}
		seen[inst.Ref] = since
	}
	c.first = seen
}

// ripe is when the grace period of an orphan ends.
func (c *Collector) ripe(inst *Instance) time.Time {
	grace := cmp.Or(c.Grace, DefaultGrace)
	if grace < 0 {
		return time.Time{}
	}
	since := c.first[inst.Ref]
	if inst.Created.After(since) {
		since = inst.Created
	}
	return since.Add(grace)
}

// tooMany is the guard. It needs no memory, so that no restart loses it.
func (c *Collector) tooMany(s Sweep) bool {
	share := cmp.Or(c.MaxShare, DefaultMaxShare)
	return s.Orphans > FewOrphans && s.Orphans > c.Acknowledge &&
		float64(s.Orphans) > share*float64(s.Listed)
}

func (c *Collector) fail(err error) error {
	return &Error{Op: "Sweep", Provider: c.Provider.Info().Name, Err: err}
}

func (c *Collector) now() time.Time {
	if c.Now != nil {
		return c.Now()
	}
	return time.Now()
}

func (c *Collector) logger() *slog.Logger {
	if c.Logger != nil {
		return c.Logger
	}
	return slog.New(slog.DiscardHandler)
}

// owns reports whether the owner protects the instance: by name when it has
// stored no ID yet, or when the instance has none to compare.
func owns(owner, inst Ref) bool {
	if owner.ID == "" || inst.ID == "" {
		return owner.Name == inst.Name
	}
	return owner.ID == inst.ID
}

// ownership answers the question of owns for many instances.
type ownership struct {
	names map[string]bool // protected whatever the ID
	known map[string]bool // of any owner
	ids   map[string]bool
}

func newOwnership(owners []Ref) ownership {
	o := ownership{names: map[string]bool{}, known: map[string]bool{}, ids: map[string]bool{}}
	for _, r := range owners {
		o.known[r.Name] = true
		if r.ID == "" {
			o.names[r.Name] = true
		} else {
			o.ids[r.ID] = true
		}
	}
	return o
}

func (o ownership) orphans(list []Instance) []*Instance {
	var orphans []*Instance
	for i := range list {
		inst := &list[i]
		if o.names[inst.Name] || o.ids[inst.ID] || inst.ID == "" && o.known[inst.Name] {
			continue
		}
		orphans = append(orphans, inst)
	}
	return orphans
}
