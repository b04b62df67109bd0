package main

import (
	"fmt"
	"os"
	"strings"
)

// allowance is a line of the list of allowed skips.
type allowance struct {
	pkg, test string // may end in *
	reason    string
}

// readAllowances reads the list: package, test and reason on each line; lines
// that are empty or begin with # do not count. A line without a reason is an
// error.
func readAllowances(file string) ([]allowance, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("the list of allowed skips cannot be read: %w", err)
	}
	var list []allowance
	for i, line := range strings.Split(string(text), "\n") {
		fields := strings.Fields(line)
		if len(fields) == 0 || strings.HasPrefix(fields[0], "#") {
			continue
		}
		if len(fields) < 3 {
			return nil, fmt.Errorf("%s:%d: write package, test and reason", file, i+1)
		}
		list = append(list, allowance{fields[0], fields[1], strings.Join(fields[2:], " ")})
	}
	return list, nil
}

// allows reports whether the line is about the test. Its package is the end of
// an import path, at a slash.
func (a allowance) allows(pkg, test string) bool {
	return match(a.test, test) && (match(a.pkg, pkg) || suffixes(a.pkg, pkg))
}

func suffixes(pattern, pkg string) bool {
	for {
		_, rest, ok := strings.Cut(pkg, "/")
		if !ok {
			return false
		}
		if match(pattern, rest) {
			return true
		}
		pkg = rest
	}
}

func match(pattern, s string) bool {
	if prefix, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(s, prefix)
	}
	return pattern == s
}
