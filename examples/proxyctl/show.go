package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/spf13/cobra"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// idFlag adds --id to a command about one instance.
func idFlag(cmd *cobra.Command, id *string) {
	cmd.Flags().StringVar(id, "id", "", "only this incarnation, by the ID that list shows")
}

func (a *app) getCommand() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "get NAME", Short: "Show one instance", Args: names(1, 1), ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.get(cmd.Context(), provider.Ref{Name: args[0], ID: id})
		},
	}
	idFlag(cmd, &id)
	return cmd
}

func (a *app) get(ctx context.Context, ref provider.Ref) error {
	if err := a.checkOutput(outputs...); err != nil {
		return err
	}
	return a.with(ctx, ref.Name, func(ctx context.Context, c *config.Config, p provider.Provider) error {
		inst, err := p.Get(ctx, ref)
		if err != nil {
			return err
		}
		return a.printOne(c, p, inst)
	})
}

func (a *app) waitCommand() *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use: "wait NAME", Short: "Wait until an instance runs and its proxy has an address", Args: names(1, 1),
		ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.checkOutput(outputs...); err != nil {
				return err
			}
			ref := provider.Ref{Name: args[0], ID: id}
			return a.with(cmd.Context(), ref.Name, func(ctx context.Context, c *config.Config, p provider.Provider) error {
				inst, err := provider.Wait(ctx, p, ref, nil)
				if err != nil {
					return err
				}
				return a.printOne(c, p, inst)
			})
		},
	}
	idFlag(cmd, &id)
	return cmd
}

func (a *app) listCommand() *cobra.Command {
	return &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "Show the instances of all providers, or of --provider",
		Long: `Show the instances of all providers, or of --provider.

When a provider cannot be asked, or only in part, the list shows what was found,
a warning says what it does not cover, and the exit code is that of the error.`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.list(cmd.Context()) },
	}
}

func (a *app) list(ctx context.Context) error {
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
	ctx, cancel := a.limit(ctx)
	defer cancel()
	// Side by side, so that one slow provider does not hold up the others.
	lists, errs := make([][]row, len(backends)), make([]error, len(backends))
	var wg sync.WaitGroup
	for i, name := range backends {
		wg.Go(func() { lists[i], errs[i] = a.listOne(ctx, c, name) })
	}
	wg.Wait()
	rows := slices.Concat(lists...)
	slices.SortFunc(rows, func(x, y row) int {
		return cmp.Or(cmp.Compare(x.Name, y.Name), cmp.Compare(x.Provider, y.Provider), cmp.Compare(x.ID, y.ID))
	})
	if rows == nil {
		rows = []row{} // "[]" in JSON
	}
	err = errors.Join(errs...)
	if err != nil && len(rows) == 0 && a.output == outputTable {
		return err
	}
	if err := a.printRows(rows); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("the list is not complete: %w", err)
	}
	return nil
}

// listOne returns what one provider shows, also beside an error.
func (a *app) listOne(ctx context.Context, c *config.Config, name string) ([]row, error) {
	p, err := a.openProvider(ctx, c, name)
	if err != nil {
		return nil, err
	}
	list, err := p.List(ctx)
	rows := make([]row, 0, len(list))
	for _, inst := range list {
		rows = append(rows, newRow(name, inst))
	}
	return rows, errors.Join(err, p.Close())
}

func (a *app) consoleCommand() *cobra.Command {
	var id string
	var opts provider.ConsoleOptions
	cmd := &cobra.Command{
		Use: "console NAME", Short: "Print the log of an instance's boot or container", Args: names(1, 1),
		ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if opts.Follow && !cmd.Flags().Changed("timeout") {
				a.timeout = 0
			}
			ref := provider.Ref{Name: args[0], ID: id}
			return a.with(cmd.Context(), ref.Name, func(ctx context.Context, _ *config.Config, p provider.Provider) error {
				return console(ctx, p, ref, a.stdout, opts)
			})
		},
	}
	idFlag(cmd, &id)
	cmd.Flags().BoolVarP(&opts.Follow, "follow", "f", false, "go on with what is written later, until Ctrl-C or its end")
	cmd.Flags().BoolVar(&opts.Previous, "previous", false, "the run before the last restart")
	cmd.Flags().Int64Var(&opts.Offset, "offset", 0, "skip that many bytes")
	return cmd
}

func console(ctx context.Context, p provider.Provider, ref provider.Ref, w io.Writer, opts provider.ConsoleOptions) error {
	if opts.Offset < 0 {
		return usage("--offset %d is negative; it is a number of bytes from the beginning", opts.Offset)
	}
	c, ok := provider.As[provider.Console](p)
	if !ok {
		return &provider.Error{Kind: provider.Unsupported, Op: "Console", Provider: p.Info().Name, Ref: ref,
			Err: errors.New("this provider has no console")}
	}
	return c.Console(ctx, ref, w, opts)
}
