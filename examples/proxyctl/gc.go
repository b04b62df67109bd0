package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// gcFlags are those of gc.
type gcFlags struct {
	apply       bool
	grace       time.Duration
	maxDeletes  int
	acknowledge int
}

func (a *app) gcCommand() *cobra.Command {
	var f gcFlags
	cmd := &cobra.Command{
		Use: "gc", Short: "Remove what no fleet asks for; without --apply, show it",
		Long: `Remove what no fleet asks for: instances that are not members, and what an
interrupted delete left behind. Without --apply it shows what it would remove.

With --apply it looks twice, --grace apart, and removes what was nobody's both
times, because an instance may have been made for a configuration that this
program has not seen yet. When more than 30 % of the instances are nobody's, and
more than 5, the configuration is more likely wrong than the backend: it refuses
until --acknowledge says how many there are.

What was made with --adhoc belongs to another owner and is left alone. Members
that proxyd is draining after a scale-down are nobody's too: leave those to it.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.gc(cmd.Context(), f) },
	}
	cmd.Flags().BoolVar(&f.apply, "apply", false, "remove them")
	cmd.Flags().DurationVar(&f.grace, "grace", time.Minute, "the time between the two looks; 0 looks once")
	cmd.Flags().IntVar(&f.maxDeletes, "max-deletes", provider.DefaultMaxDeletes, "remove at most that many of one provider")
	cmd.Flags().IntVar(&f.acknowledge, "acknowledge", 0, "remove up to that many although they are suspiciously many")
	return cmd
}

func (a *app) gc(ctx context.Context, f gcFlags) error {
	switch {
	case a.adhoc:
		return usage("what was made with --adhoc has no list of who wants it; delete it by name")
	case f.grace < 0 || f.maxDeletes < 1 || f.acknowledge < 0:
		return usage("--grace and --acknowledge are not negative, and --max-deletes is at least 1")
	}
	if err := a.checkOutput(outputTable, outputJSON, outputYAML); err != nil {
		return err
	}
	c, err := a.prepared()
	if err != nil {
		return err
	}
	backends, err := a.providers(c)
	if err != nil {
		return err
	}
	var found []orphan
	var errs []error
	for _, name := range backends {
		sweep, err := a.sweepProvider(ctx, c, name, f)
		found = append(found, orphans(name, sweep, f.apply)...)
		errs = append(errs, err, failures(sweep))
	}
	err = errors.Join(errs...)
	if err != nil && len(found) == 0 && a.output == outputTable {
		return err // "nothing" would be a lie
	}
	return errors.Join(err, a.printOrphans(found))
}

// sweepProvider sweeps one provider, twice where there is a grace period.
func (a *app) sweepProvider(ctx context.Context, c *config.Config, name string, f gcFlags) (provider.Sweep, error) {
	p, err := a.openProvider(ctx, c, name)
	if err != nil {
		return provider.Sweep{}, err
	}
	collector := &provider.Collector{
		Provider:   p,
		Owners:     func(context.Context) ([]provider.Ref, error) { return c.Owners(), nil },
		Grace:      f.grace,
		MaxDeletes: f.maxDeletes, Acknowledge: f.acknowledge, DryRun: !f.apply,
	}
	if !f.apply || f.grace == 0 {
		collector.Grace = -1
	}
	sweep, err := a.sweepTwice(ctx, collector)
	if tooMany, ok := errors.AsType[*provider.TooManyOrphansError](err); ok {
		err = fmt.Errorf("%w with --acknowledge %d", err, tooMany.Orphans)
	}
	return sweep, errors.Join(err, p.Close())
}

// sweepTwice sweeps, and once more when the grace period of what was found is
// over. The Collector remembers what it saw the first time.
func (a *app) sweepTwice(ctx context.Context, c *provider.Collector) (provider.Sweep, error) {
	sweep, err := a.sweep(ctx, c)
	young := 0
	for _, s := range sweep.Spared {
		if s.Why == provider.SparedGrace {
			young++
		}
	}
	if err != nil || young == 0 {
		return sweep, err
	}
	fmt.Fprintf(a.stderr, "proxyctl: %d of %d instances are nobody's; looking again in %v\n", sweep.Orphans, sweep.Listed, c.Grace)
	t := time.NewTimer(c.Grace)
	defer t.Stop()
	select {
	case <-t.C:
		return a.sweep(ctx, c)
	case <-ctx.Done():
		return sweep, fmt.Errorf("waiting for the second look: %w", ctx.Err())
	}
}

// sweep is one sweep within the time limit.
func (a *app) sweep(ctx context.Context, c *provider.Collector) (provider.Sweep, error) {
	ctx, cancel := a.limit(ctx)
	defer cancel()
	return c.Sweep(ctx)
}

// orphan is one line of the report.
type orphan struct {
	Name     string `json:"name"`
	ID       string `json:"id"`
	Provider string `json:"provider"`
	// Result is "deleted", "deleting", "failed", "would delete" or "spared".
	Result string `json:"result"`
	// Why says more of the last three.
	Why string `json:"why,omitempty"`
}

func orphans(name string, sweep provider.Sweep, applied bool) []orphan {
	var lines []orphan
	for _, d := range sweep.Deleted {
		o := orphan{Name: d.Ref.Name, ID: d.Ref.ID, Provider: name, Result: "deleted"}
		switch {
		case !applied:
			o.Result, o.Why = "would delete", "is "+orUnknown(d.State)
		case provider.KindOf(d.Err) == provider.InProgress:
			o.Result = "deleting"
		case d.Err != nil:
			o.Result, o.Why = "failed", d.Err.Error()
		}
		lines = append(lines, o)
	}
	for _, s := range sweep.Spared {
		lines = append(lines, orphan{Name: s.Ref.Name, ID: s.Ref.ID, Provider: name, Result: "spared", Why: spareText[s.Why]})
	}
	slices.SortStableFunc(lines, func(x, y orphan) int { return cmp.Compare(x.Name, y.Name) })
	return lines
}

// spareText says why an orphan was spared.
var spareText = map[string]string{
	provider.SparedGrace: "is too young; see --grace",
	provider.SparedCap:   "comes in the next run; see --max-deletes",
	provider.SparedGuard: "there are suspiciously many; see --acknowledge",
	provider.SparedOwned: "was asked for meanwhile",
}

// failures joins the deletes that failed, and what a partial list hides.
func failures(sweep provider.Sweep) error {
	errs := []error{sweep.Missing}
	for _, d := range sweep.Deleted {
		if d.Err != nil && provider.KindOf(d.Err) != provider.InProgress {
			errs = append(errs, d.Err)
		}
	}
	return errors.Join(errs...)
}

func (a *app) printOrphans(found []orphan) error {
	if found == nil {
		found = []orphan{} // "[]" in JSON
	}
	if done, err := a.printValue(found); done {
		return err
	}
	if len(found) == 0 {
		fmt.Fprintln(a.stderr, "proxyctl: nothing that no fleet asks for")
		return nil
	}
	lines := [][]string{{"NAME", "PROVIDER", "RESULT", "ID", "WHY"}}
	for _, o := range found {
		lines = append(lines, []string{o.Name, o.Provider, o.Result, o.ID, o.Why})
	}
	return a.printTable(lines)
}
