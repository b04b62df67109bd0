package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// event is a line of `go test -json`, as `go doc test2json` describes it.
type event struct {
	Action  string
	Package string
	Test    string
	Output  string
}

// key names a test; the Test of a package's own output is empty.
type key struct{ pkg, test string }

// skip is a test that was skipped, with what it said.
type skip struct {
	key
	said string
}

// printer prints a stream of events as go test prints them without -v: the
// output of tests that fail, and a line for each package.
type printer struct {
	w       io.Writer
	output  map[key]*strings.Builder // of tests that have not ended
	open    map[string][]key         // the same in order of first output, by package
	skipped []skip
	passed  int
	failed  int
}

func newPrinter(w io.Writer) *printer {
	return &printer{w: w, output: map[key]*strings.Builder{}, open: map[string][]key{}}
}

// read prints until the stream ends. A line that is not an event is printed as
// it is; an error of reading is one of the process, which its status tells.
func (p *printer) read(r io.Reader) {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		var e event
		switch {
		case len(line) == 0:
		case json.Unmarshal(line, &e) != nil || e.Action == "":
			_, _ = p.w.Write(line)
		default:
			p.event(e)
		}
		if err != nil {
			if !errors.Is(err, io.EOF) {
				fmt.Fprintln(p.w, "gotest: the output of go test cannot be read:", err)
				p.failed++
			}
			return
		}
	}
}

func (p *printer) event(e event) {
	k := key{e.Package, e.Test}
	switch e.Action {
	case "build-output":
		p.print(e.Output)
	case "output":
		if e.Test != "" {
			p.keep(k, e.Output)
			break
		}
		if strings.HasPrefix(e.Output, "FAIL") {
			p.flush(e.Package)
		}
		if e.Output != "PASS\n" {
			p.print(e.Output)
		}
	case "pass", "bench":
		if e.Test != "" {
			p.passed++
		}
		p.drop(k)
	case "skip":
		if e.Test != "" {
			p.skipped = append(p.skipped, skip{k, said(p.drop(k))})
		}
	case "fail":
		if e.Test != "" {
			p.failed++
			p.print(p.drop(k))
		} else {
			p.flush(e.Package)
		}
	}
}

// flush prints what the tests of a package had printed that have not ended,
// because their process died.
func (p *printer) flush(pkg string) {
	for _, k := range p.open[pkg] {
		p.print(p.drop(k))
	}
	delete(p.open, pkg)
}

func (p *printer) print(s string) { _, _ = io.WriteString(p.w, s) }

// keep stores the output of a test until it is known how the test ends.
func (p *printer) keep(k key, s string) {
	b := p.output[k]
	if b == nil {
		b = &strings.Builder{}
		p.output[k] = b
		p.open[k.pkg] = append(p.open[k.pkg], k)
	}
	b.WriteString(s)
}

// drop forgets the output of a test and returns it.
func (p *printer) drop(k key) string {
	b := p.output[k]
	if b == nil {
		return ""
	}
	delete(p.output, k)
	return b.String()
}

// said is what a skipped test gave as its reason, on one line.
func said(output string) string {
	var words []string
	for line := range strings.Lines(output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "===") && !strings.HasPrefix(line, "---") {
			words = append(words, line)
		}
	}
	return strings.Join(words, " ")
}

// report prints the skips and the totals, and returns how many skips are not
// allowed. When strict is false all are.
func (p *printer) report(allowed []allowance, strict bool) int {
	refused := 0
	for _, s := range p.skipped {
		why := "not in the list of allowed skips"
		ok := false
		for _, a := range allowed {
			if a.allows(s.pkg, s.test) {
				why, ok = "allowed: "+a.reason, true
				break
			}
		}
		fmt.Fprintf(p.w, "skipped: %s %s: %s (%s)\n", s.pkg, s.test, s.said, why)
		if strict && !ok {
			refused++
		}
	}
	fmt.Fprintf(p.w, "tests: %d passed, %d failed, %d skipped\n", p.passed, p.failed, len(p.skipped))
	if refused > 0 {
		fmt.Fprintf(p.w, "gotest: %d skips are not allowed in CI; start what they need, or give the reason in the list\n", refused)
	}
	return refused
}
