package providertest

import (
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
)

// Text returns the report for a person: a line for each check, the reasons
// under those that did not pass, and the verdict at the end.
func (r *Report) Text() string {
	var b strings.Builder
	b.WriteString(r.summary())
	for _, rule := range r.Rules {
		for _, c := range rule.Checks {
			if c.Message != "" {
				fmt.Fprintf(&b, "\n%s, %s:\n  %s\n", c.Name, c.Status, strings.ReplaceAll(c.Message, "\n", "\n  "))
			}
		}
	}
	fmt.Fprintf(&b, "%s\n%s\n", r.unauditedNote(), r.Verdict())
	return b.String()
}

// summary is a line for the run and one for each rule and check.
func (r *Report) summary() string {
	var b strings.Builder
	fmt.Fprintf(&b, "provider %s, kind %s, contract %d; suite for contract %d; %v\n",
		r.Provider.Name, r.Provider.Kind, r.Provider.Contract, r.Contract, r.Took.Round(time.Millisecond))
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, rule := range r.Rules {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", rule.Rule, rule.Level, rule.Status, rule.Name)
		for _, c := range rule.Checks {
			fmt.Fprintf(w, "  %s\t\t%s\t%v\n", c.Name, c.Status, c.Took.Round(time.Millisecond))
		}
	}
	w.Flush()
	return b.String()
}

// unauditedNote says what a report without Audit is worth.
func (r *Report) unauditedNote() string {
	if !r.Unaudited {
		return ""
	}
	return "\nunaudited: the harness cannot look at the backend, so what List hides has been missed\n"
}
