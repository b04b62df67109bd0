// Command gotest runs go test and prints what go test prints, and then what
// was skipped. In CI a skip fails the run unless the list of allowed skips has
// it, because a test whose backend is missing must not look like one that
// passed.
//
//	gotest [-allow FILE] [-strict] GO-TEST-ARGUMENTS...
//
// Strict is the default where the environment has CI=true. The exit status is
// that of go test, or 1 for a skip that is not allowed.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr, os.Getenv("CI") == "true")) }

// run is main with its surroundings handed in. ci is the default of -strict.
func run(args []string, stdout, stderr io.Writer, ci bool) int {
	allowFile, strict, rest := parse(args, ci)
	var allowed []allowance
	if allowFile != "" {
		var err error
		if allowed, err = readAllowances(allowFile); err != nil {
			fmt.Fprintln(stderr, "gotest:", err)
			return 2
		}
	}
	cmd := exec.Command("go", append([]string{"test", "-json"}, rest...)...)
	cmd.Stderr = stderr
	pipe, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		fmt.Fprintln(stderr, "gotest:", err)
		return 2
	}
	p := newPrinter(stdout)
	p.read(pipe)
	status := exitStatus(cmd.Wait())
	refused := p.report(allowed, strict)
	if status == 0 && (refused > 0 || p.failed > 0) {
		status = 1
	}
	return status
}

// parse takes this program's flags off the front; all others are go test's.
func parse(args []string, ci bool) (allowFile string, strict bool, rest []string) {
	strict = ci
	for len(args) > 0 {
		switch {
		case args[0] == "-strict":
			strict, args = true, args[1:]
		case args[0] == "-allow" && len(args) > 1:
			allowFile, args = args[1], args[2:]
		default:
			return allowFile, strict, args
		}
	}
	return allowFile, strict, nil
}

func exitStatus(err error) int {
	if err == nil {
		return 0
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() > 0 {
		return exit.ExitCode()
	}
	return 1
}
