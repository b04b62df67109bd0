package main

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/crawlfleet/provider/examples/internal/config"
)

const about = `Proxyctl makes, shows and removes proxies by hand, on the providers of proxyd's
configuration (-c, or ` + config.EnvConfig + `; without one, the demo's).

The members of the fleets are named FLEET-0, FLEET-1 and so on. They belong to
the configuration: proxyd makes the ones that are missing, and removes whatever
else it finds under its owner. What is made by hand under another name belongs
to another owner, which proxyd leaves alone: give --adhoc to every command that
is about such proxies.

Exit codes:
`

// run runs one command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.root()
	root.SetArgs(args)
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	err := root.ExecuteContext(ctx)
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(a.stderr, "proxyctl: %s%s\n", strings.TrimRight(line, "\n"), hint(err))
		}
	}
	return exitCode(err)
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "proxyctl",
		Short: "Make, show and remove proxies by hand",
		Long:  about + strings.TrimRight(exitHelp(), "\n"),
		// Errors are printed by run, in one place and in one form.
		SilenceErrors: true, SilenceUsage: true,
		SuggestionsMinimumDistance: 2, // cobra's own, which it sets too late for group
		Args:                       cobra.ArbitraryArgs,
		RunE:                       group,
	}
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return usage("%v; %s --help shows the flags", err, cmd.CommandPath())
	})
	flags := root.PersistentFlags()
	flags.StringVarP(&a.configFile, "config", "c", "", "the configuration `file` of proxyd (default: "+config.EnvConfig+", or the demo's)")
	flags.StringVar(&a.providerName, "provider", "", "the provider's `name` (default: the fleet's, or the only one)")
	flags.BoolVar(&a.adhoc, "adhoc", false, "work on what was made by hand, which proxyd leaves alone")
	flags.StringVarP(&a.output, "output", "o", outputTable, "`format`: table, json, yaml, or url with the credentials")
	flags.DurationVar(&a.timeout, "timeout", 5*time.Minute, "give up after this time; 0 never does")
	_ = root.RegisterFlagCompletionFunc("provider", a.completeProviders)
	_ = root.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(outputs, cobra.ShellCompDirectiveNoFileComp))
	root.AddCommand(a.createCommand(), a.getCommand(), a.listCommand(), a.deleteCommand(), a.waitCommand(),
		a.gcCommand(), a.consoleCommand(), a.configCommand(), a.versionCommand())
	return root
}

// group is what a command does that only groups others.
func group(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return cmd.Help()
	}
	if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
		return usage("there is no command %q; is %s meant?", args[0], strings.Join(near, " or "))
	}
	return usage("there is no command %q; %s --help lists them", args[0], cmd.CommandPath())
}

// names takes from least to most names of instances.
func names(least, most int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		switch {
		case len(args) < least:
			return usage("%s needs the name of an instance; proxyctl list shows them", cmd.CommandPath())
		case len(args) > most:
			return usage("%s takes at most %d names, not %d", cmd.CommandPath(), most, len(args))
		}
		return nil
	}
}

// none takes no arguments.
func none(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return usage("%s takes no arguments, but was given %q", cmd.CommandPath(), args)
	}
	return nil
}

func (a *app) configCommand() *cobra.Command {
	group := &cobra.Command{Use: "config", Short: "Look at the configuration", Args: cobra.ArbitraryArgs, RunE: group}
	group.AddCommand(&cobra.Command{
		Use: "check", Aliases: []string{"validate"}, Short: "Check the configuration without touching a backend",
		Args: none,
		RunE: func(*cobra.Command, []string) error {
			c, err := a.config()
			if err != nil {
				return err
			}
			fmt.Fprintf(a.stdout, "the configuration is valid: %d providers, %d fleets, %d members; the state is in %s\n",
				len(c.Providers), len(c.Fleets), len(c.Owners()), c.StateDir)
			return nil
		},
	})
	return group
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Print the version of this program", Args: none,
		RunE: func(*cobra.Command, []string) error {
			info, ok := debug.ReadBuildInfo()
			if !ok {
				fmt.Fprintln(a.stdout, "proxyctl: built without version information")
				return nil
			}
			revision := ""
			for _, s := range info.Settings {
				if s.Key == "vcs.revision" {
					revision = " " + s.Value
				}
			}
			fmt.Fprintf(a.stdout, "proxyctl %s%s %s\n", info.Main.Version, revision, info.GoVersion)
			return nil
		},
	}
}
