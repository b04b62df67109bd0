package main

import (
	"maps"
	"slices"

	"github.com/spf13/cobra"

	"github.com/crawlfleet/provider/examples/internal/config"
)

// completeFleets, completeProviders and completeMembers complete from the
// configuration alone: a shell must not wait for a backend.
func (a *app) completeFleets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.complete(func(c *config.Config) (words []string) {
		for _, f := range c.Fleets {
			words = append(words, f.Name)
		}
		return words
	})
}

func (a *app) completeProviders(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return a.complete(func(c *config.Config) []string { return slices.Sorted(maps.Keys(c.Providers)) })
}

func (a *app) completeMembers(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return a.complete(func(c *config.Config) (words []string) {
		for _, ref := range c.Owners() {
			if !slices.Contains(args, ref.Name) {
				words = append(words, ref.Name)
			}
		}
		return words
	})
}

func (a *app) complete(words func(*config.Config) []string) ([]string, cobra.ShellCompDirective) {
	c, err := config.Load(a.configFile, a.getenv)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return words(c), cobra.ShellCompDirectiveNoFileComp
}
