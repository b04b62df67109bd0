package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/crawlfleet/provider"
)

// Error is the error of a configuration that cannot be used. It holds every
// fault that was found, and its Kind is [provider.Invalid].
type Error struct {
	// File is the name of the file, or "default" for the embedded one.
	File string
	// Faults are in the order of the file, at least one.
	Faults []Fault
}

// Fault is one thing wrong in the file.
type Fault struct {
	// Path is the key in dots and brackets: "fleets[1].spec.size.memory".
	// Empty for a fault of the whole file.
	Path string
	// Line counts from 1. Zero when the fault stands nowhere in particular.
	Line int
	// Text says what is wrong and what to write. It shows no secret.
	Text string
}

// Error returns a line "file:line: path: text" for each fault.
func (e *Error) Error() string {
	lines := make([]string, len(e.Faults))
	for i, f := range e.Faults {
		lines[i] = e.File
		if f.Line > 0 {
			lines[i] += fmt.Sprintf(":%d", f.Line)
		}
		if f.Path != "" {
			lines[i] += ": " + f.Path
		}
		lines[i] += ": " + f.Text
	}
	return strings.Join(lines, "\n")
}

// Unwrap gives the error its Kind, for provider.KindOf.
func (e *Error) Unwrap() error { return &provider.Error{Kind: provider.Invalid} }

// source knows where the keys of a file stand and gathers its faults.
type source struct {
	file   string
	lines  map[string]int
	faults []Fault
}

// fault notes that something is wrong at path, and finds its line: that of the
// key, or of the nearest key around it when the key itself is missing.
func (s *source) fault(path, format string, args ...any) {
	s.faults = append(s.faults, Fault{Path: path, Line: s.line(path), Text: fmt.Sprintf(format, args...)})
}

func (s *source) line(path string) int {
	for path != "" {
		if n, ok := s.lines[path]; ok {
			return n
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// err returns the faults gathered so far as one error, and forgets them.
func (s *source) err() error {
	if len(s.faults) == 0 {
		return nil
	}
	faults := s.faults
	s.faults = nil
	slices.SortStableFunc(faults, func(a, b Fault) int { return a.Line - b.Line })
	return &Error{File: s.file, Faults: faults}
}
