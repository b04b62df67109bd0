package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"

	"github.com/crawlfleet/provider/examples/internal/config"
)

// errHelp says that help was asked for and given.
var errHelp = errors.New("help")

const usage = `proxyd keeps fleets of forward proxies and hands them out.

Usage:
  proxyd [flags]                 three proxies as processes of this machine, to try it
  proxyd -config FILE [flags]    what the file asks for
  proxyd -check-config -config FILE

Without a file, the proxies are deleted when proxyd ends (Ctrl-C or SIGTERM); with
one they are left running, and the next start goes on with them. -keep and
-keep=false change that. A second Ctrl-C ends it at once.

SIGHUP, or a change of the file, reads it again. A file that cannot be used is
refused, and the one before stays in force.

Environment:
  %s  the file           %s  the state directory
  %s  host:port          %s      one more token of the client API
Flags win over the environment, and that over the file.

Flags:
`

// options are what the flags say.
type options struct {
	config    string // the file; empty is the embedded default
	check     bool
	keep      bool
	logFormat string
	verbose   bool
	version   bool
	terminal  bool // a person watches
	getenv    func(string) string
}

// parse reads the flags. Its error is for the user.
func parse(args []string, sys surroundings) (*options, error) {
	o := &options{terminal: isTerminal(sys.stderr)}
	var listen, stateDir string
	flags := flag.NewFlagSet("proxyd", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.StringVar(&o.config, "config", "", "the configuration `file`")
	flags.BoolVar(&o.check, "check-config", false, "check the configuration and end")
	flags.StringVar(&listen, "listen", "", "`host:port` of the client API, in place of api.listen")
	flags.StringVar(&stateDir, "state-dir", "", "the state `directory`, in place of stateDir")
	flags.BoolVar(&o.keep, "keep", false, "leave the proxies running at the end (default with -config)")
	flags.StringVar(&o.logFormat, "log-format", "text", "`format` of the log: text or json")
	flags.BoolVar(&o.verbose, "v", false, "log every call and check")
	flags.BoolVar(&o.version, "version", false, "print the version and end")
	err := flags.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fmt.Fprintf(sys.stdout, usage, config.EnvConfig, config.EnvStateDir, config.EnvListen, config.EnvToken)
		flags.SetOutput(sys.stdout)
		flags.PrintDefaults()
		return nil, errHelp
	case err != nil:
		return nil, fmt.Errorf("%w; -help lists the flags", err)
	case flags.NArg() > 0:
		return nil, fmt.Errorf("%q is no flag; -help lists them", flags.Arg(0))
	case o.logFormat != "text" && o.logFormat != "json":
		return nil, fmt.Errorf("-log-format %q is neither text nor json", o.logFormat)
	}
	o.config = cmp.Or(o.config, sys.getenv(config.EnvConfig))
	set := map[string]bool{}
	flags.Visit(func(f *flag.Flag) { set[f.Name] = true })
	if !set["keep"] {
		o.keep = o.config != ""
	}
	// The flags answer in place of the environment.
	o.getenv = func(key string) string {
		switch {
		case key == config.EnvListen && listen != "":
			return listen
		case key == config.EnvStateDir && stateDir != "":
			return stateDir
		}
		return sys.getenv(key)
	}
	return o, nil
}

// source names where the configuration comes from.
func (o *options) source() string { return cmp.Or(o.config, "the embedded configuration") }

// live reports whether progress is drawn for a person.
func (o *options) live() bool { return o.terminal && o.logFormat == "text" && !o.verbose }

// level is what is logged. Who sees the progress is not told it twice.
func (o *options) level() slog.Level {
	switch {
	case o.verbose:
		return slog.LevelDebug
	case o.live():
		return slog.LevelWarn
	}
	return slog.LevelInfo
}
