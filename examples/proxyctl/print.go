package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/crawlfleet/provider"
)

// The values of --output.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
	outputURL   = "url"
)

var outputs = []string{outputTable, outputJSON, outputYAML, outputURL}

// row is an instance as this program prints it: the fields of
// [provider.Instance] in JSON's words, and the provider's name.
type row struct {
	Name      string            `json:"name"`
	ID        string            `json:"id"`
	Provider  string            `json:"provider"`
	State     provider.State    `json:"state"`
	Failure   provider.Kind     `json:"failure,omitempty"`
	Reason    string            `json:"reason,omitempty"`
	Message   string            `json:"message,omitempty"`
	Scheme    string            `json:"scheme,omitempty"`
	Endpoint  string            `json:"endpoint,omitempty"`
	Egress    netip.Addr        `json:"egress,omitzero"`
	Addresses []netip.Addr      `json:"addresses,omitempty"`
	Location  string            `json:"location,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	SpecHash  string            `json:"specHash,omitempty"`
	Created   time.Time         `json:"created,omitzero"`
}

func newRow(name string, i provider.Instance) row {
	return row{
		Name: i.Name, ID: i.ID, Provider: name, State: i.State, Failure: i.Failure, Reason: i.Reason, Message: i.Message,
		Scheme: i.Scheme, Endpoint: i.Endpoint, Egress: i.Egress, Addresses: i.Addresses, Location: i.Location,
		Labels: i.Labels, SpecHash: i.SpecHash, Created: i.Created,
	}
}

// checkOutput refuses a format that the command does not have.
func (a *app) checkOutput(formats ...string) error {
	for _, f := range formats {
		if a.output == f {
			return nil
		}
	}
	return usage("the output %q is not one of %s", a.output, strings.Join(formats, ", "))
}

// printValue prints v as JSON or YAML, and reports whether that was asked for.
func (a *app) printValue(v any) (bool, error) {
	if a.output != outputJSON && a.output != outputYAML {
		return false, nil
	}
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return true, fmt.Errorf("encoding the output: %w", err)
	}
	if a.output == outputYAML {
		if text, err = yaml.JSONToYAML(text); err != nil {
			return true, fmt.Errorf("encoding the output: %w", err)
		}
	}
	_, err = fmt.Fprintln(a.stdout, strings.TrimRight(string(text), "\n"))
	return true, err
}

// printRows prints a list of instances.
func (a *app) printRows(rows []row) error {
	if done, err := a.printValue(rows); done {
		return err
	}
	if len(rows) == 0 {
		fmt.Fprintln(a.stderr, "proxyctl: there are no instances")
		return nil
	}
	lines := [][]string{{"NAME", "PROVIDER", "STATE", "ENDPOINT", "LOCATION", "AGE", "ID", "REASON"}}
	for _, r := range rows {
		lines = append(lines, []string{r.Name, r.Provider, orUnknown(r.State), r.Endpoint, r.Location, age(r.Created), r.ID, r.why()})
	}
	return a.printTable(lines)
}

// printTable prints lines with aligned columns; an empty cell is a dash, so
// that every line has as many words as the first.
func (a *app) printTable(lines [][]string) error {
	w := tabwriter.NewWriter(a.stdout, 0, 8, 2, ' ', 0)
	for _, line := range lines {
		for i, cell := range line {
			if i > 0 {
				fmt.Fprint(w, "\t")
			}
			if cell == "" {
				cell = "-"
			}
			fmt.Fprint(w, cell)
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

func (r row) why() string {
	if r.Reason != "" && r.Message != "" {
		return r.Reason + ": " + r.Message
	}
	return r.Reason + r.Message
}

func orUnknown(s provider.State) string {
	if s == provider.Unknown {
		return "Unknown"
	}
	return string(s)
}

// age is the time since t, as coarse as a person reads it.
func age(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	switch d := max(0, time.Since(t)); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	default:
		return fmt.Sprintf("%dd", d/(24*time.Hour))
	}
}

// proxyURL is what curl -x takes.
func proxyURL(i provider.Instance, c provider.Credentials) (string, error) {
	if i.Endpoint == "" {
		return "", &provider.Error{Kind: provider.InProgress, Ref: i.Ref, Err: fmt.Errorf("it has no endpoint yet; proxyctl wait %s waits for one", i.Name)}
	}
	u := url.URL{Scheme: i.Scheme, Host: i.Endpoint}
	if c.Username != "" {
		u.User = url.UserPassword(c.Username, string(c.Password))
	}
	return u.String(), nil
}
