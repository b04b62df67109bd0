package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/crawlfleet/provider"
)

// Exit codes that no Kind has.
const (
	exitOK    = 0
	exitOther = 1
	exitUsage = 2
)

// exitCodes are those of the Kinds. They are part of the program's interface:
// scripts depend on them, so none is changed or used again.
var exitCodes = [...]struct {
	code int
	kind provider.Kind
	text string
}{
	{exitOther, provider.Unavailable, "unreachable, failing, timed out, or any other error; a list that is partial"},
	{3, provider.NotFound, "it does not exist"},
	{4, provider.Conflict, "the name is held by something else on the backend"},
	{5, provider.InProgress, "accepted and not finished"},
	{6, provider.Invalid, "this configuration, spec or ID cannot work"},
	{7, provider.Unsupported, "the provider cannot do that"},
	{8, provider.Unauthenticated, "the backend refused the credentials"},
	{9, provider.PermissionDenied, "the credentials do not allow that"},
	{10, provider.QuotaExceeded, "the account's limit is reached"},
	{11, provider.NoCapacity, "there is no room now"},
	{12, provider.RateLimited, "the backend was asked too often"},
	{130, provider.Canceled, "interrupted"},
}

// exitHelp is the table of exit codes for --help.
func exitHelp() string {
	var b strings.Builder
	fmt.Fprintf(&b, "  %3d  %-16s done\n  %3d  %-16s the command line is wrong\n", exitOK, "", exitUsage, "")
	for _, e := range exitCodes {
		fmt.Fprintf(&b, "  %3d  %-16s %s\n", e.code, e.kind, e.text)
	}
	return b.String()
}

// exitCode is the exit code for the error of a command.
func exitCode(err error) int {
	if err == nil {
		return exitOK
	}
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	for _, e := range exitCodes {
		if e.kind == provider.KindOf(err) {
			return e.code
		}
	}
	return exitOther
}

// hint is the way out that this program knows and a provider does not.
func hint(err error) string {
	switch provider.KindOf(err) {
	case provider.NotFound:
		return "; proxyctl list shows what there is"
	case provider.Canceled:
		return "; what was begun may go on, and proxyctl list shows it"
	}
	return ""
}

// usageError is a command line that cannot be run.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
