package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// maxNames guards against a shell pattern that matched too much.
const maxNames = 1000

func (a *app) deleteCommand() *cobra.Command {
	var id string
	var noWait bool
	cmd := &cobra.Command{
		Use: "delete NAME...", Aliases: []string{"rm"}, Short: "Remove instances with all that belongs to them",
		Long: `Remove instances with all that belongs to them, and wait until they are gone.

A name that does not exist is removed already, which is no error. While proxyd
runs it makes the members of its fleets again.`,
		Args: names(1, maxNames), ValidArgsFunction: a.completeMembers,
		RunE: func(cmd *cobra.Command, args []string) error {
			if id != "" && len(args) > 1 {
				return usage("--id is for one name, not for %d", len(args))
			}
			var errs []error
			for _, name := range args {
				errs = append(errs, a.delete(cmd.Context(), provider.Ref{Name: name, ID: id}, noWait))
			}
			return errors.Join(errs...)
		},
	}
	idFlag(cmd, &id)
	cmd.Flags().BoolVar(&noWait, "no-wait", false, "end when the backend has accepted it")
	return cmd
}

func (a *app) delete(ctx context.Context, ref provider.Ref, noWait bool) error {
	if err := ref.Validate(); err != nil {
		return err
	}
	return a.with(ctx, ref.Name, func(ctx context.Context, _ *config.Config, p provider.Provider) error {
		if !noWait {
			if err := provider.Remove(ctx, p, ref); err != nil {
				return err
			}
			fmt.Fprintln(a.stdout, ref.Name, "is gone")
			return nil
		}
		err := p.Delete(ctx, ref)
		switch provider.KindOf(err) {
		case "":
			fmt.Fprintln(a.stdout, ref.Name, "is gone")
		case provider.InProgress:
			fmt.Fprintln(a.stdout, ref.Name, "is being deleted")
		default:
			return err
		}
		return nil
	})
}
