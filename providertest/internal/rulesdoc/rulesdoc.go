// Package rulesdoc writes the tables of docs/providers.md.
package rulesdoc

import (
	"fmt"
	"strings"

	"github.com/crawlfleet/provider/providertest"
)

// parts are the generated parts by their name in the document.
var parts = []struct {
	name  string
	write func() string
}{
	{"rules", rules},
	{"unchecked", unchecked},
	{"kinds", kinds},
	{"states", states},
	{"needs", needs},
}

// Refresh returns the document with every generated part written anew. A part
// that the document does not have is an error.
func Refresh(document string) (string, error) {
	for _, part := range parts {
		begin := fmt.Sprintf("<!-- begin generated: %s -->\n", part.name)
		end := fmt.Sprintf("<!-- end generated: %s -->\n", part.name)
		head, rest, ok := strings.Cut(document, begin)
		_, tail, ended := strings.Cut(rest, end)
		if !ok || !ended {
			return "", fmt.Errorf("the document has no part %q; write %s and %s around it",
				part.name, strings.TrimSpace(begin), strings.TrimSpace(end))
		}
		document = head + begin + "\n" + part.write() + "\n" + end + tail
	}
	return document, nil
}

// rules writes a section for each group, and in it each rule with its checks.
func rules() string {
	var b strings.Builder
	group := ""
	for _, r := range providertest.Rules() {
		if g, _, _ := strings.Cut(r.ID, "/"); g != group {
			group = g
			fmt.Fprintf(&b, "### %s\n\n", g)
		}
		fmt.Fprintf(&b, "**%s, %s.** %s: %s\n\n", r.ID, r.Name, r.Level, r.Text)
		fmt.Fprintf(&b, "- Protects: %s\n", r.Protects)
		if len(r.After) > 0 {
			fmt.Fprintf(&b, "- Stands on: %s\n", strings.Join(r.After, ", "))
		}
		for _, c := range r.Checks() {
			fmt.Fprintf(&b, "- `%s`%s: %s\n", c.Name, needing(c.Needs), c.Says)
		}
		if r.Missing != "" {
			fmt.Fprintf(&b, "- Not checked yet: %s\n", r.Missing)
		}
		b.WriteString("\n")
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func needing(needs []providertest.Need) string {
	if len(needs) == 0 {
		return ""
	}
	var words []string
	for _, n := range needs {
		words = append(words, string(n))
	}
	return " (needs " + strings.Join(words, ", ") + ")"
}

// unchecked lists what no check covers.
func unchecked() string {
	var b strings.Builder
	for _, r := range providertest.Rules() {
		if r.Missing != "" {
			fmt.Fprintf(&b, "- %s (%s): %s\n", r.ID, r.Name, r.Missing)
		}
	}
	return b.String()
}

func kinds() string {
	var rows [][]string
	for _, k := range providertest.Advice() {
		rows = append(rows, []string{string(k.Kind), k.Meaning, k.Reconciler})
	}
	return table([]string{"Kind", "Meaning", "A reconciler"}, rows)
}

func states() string {
	var rows [][]string
	for _, s := range providertest.States() {
		name := string(s.State)
		if name == "" {
			name = "(empty)"
		}
		rows = append(rows, []string{name, s.Meaning, s.Reconciler})
	}
	return table([]string{"State", "Meaning", "A reconciler"}, rows)
}

// needs lists each optional interface of a harness with the checks that it
// opens.
func needs() string {
	checks := map[providertest.Need][]string{}
	var order []providertest.Need
	for _, r := range providertest.Rules() {
		for _, c := range r.Checks() {
			for _, n := range c.Needs {
				if checks[n] == nil {
					order = append(order, n)
				}
				checks[n] = append(checks[n], c.Name)
			}
		}
	}
	var rows [][]string
	for _, n := range order {
		rows = append(rows, []string{string(n), strings.Join(checks[n], ", ")})
	}
	return table([]string{"Interface", "Checks that need it"}, rows)
}

// table writes a table of Markdown.
func table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		for _, cell := range cells {
			b.WriteString("| " + strings.ReplaceAll(cell, "|", `\|`) + " ")
		}
		b.WriteString("|\n")
	}
	line(head)
	b.WriteString(strings.Repeat("| --- ", len(head)) + "|\n")
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
