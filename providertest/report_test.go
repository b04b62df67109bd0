package providertest

import (
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/crawlfleet/provider"
)

// sample is a report with a check of every status.
func sample() *Report {
	return &Report{
		Provider: provider.Info{Name: "p", Kind: "k", Contract: 1}, Contract: 1,
		Started: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Took: 1500 * time.Millisecond,
		Rules: []RuleResult{
			{Rule: "Create/1", Name: "one", Level: Must, Status: Failed, Checks: []CheckResult{
				{Name: "Create/A", Status: Failed, Message: "two\nlines", Took: time.Second},
				{Name: "Create/B", Status: Passed},
				{Name: "Create/C", Status: Blocked, Message: "by another"},
				{Name: "Create/D", Status: Inconclusive, Message: "<full>"},
			}},
			{Rule: "Get/1", Name: "two", Level: Should, Status: Skipped, Checks: []CheckResult{
				{Name: "Get/A", Status: Skipped, Message: "no Places"},
				{Name: "Get/B", Status: NotApplicable, Message: "no such thing"},
			}},
			{Rule: "All/4", Name: "three", Level: Must, Status: Unchecked},
		},
	}
}

func TestText(t *testing.T) {
	want := `provider p, kind k, contract 1; suite for contract 1; 1.5s
Create/1    MUST    failed          one
  Create/A          failed          1s
  Create/B          passed          0s
  Create/C          blocked         0s
  Create/D          inconclusive    0s
Get/1       SHOULD  skipped         two
  Get/A             skipped         0s
  Get/B             not applicable  0s
All/4       MUST    unchecked       three

Create/A, failed:
  two
  lines

Create/C, blocked:
  by another

Create/D, inconclusive:
  <full>

Get/A, skipped:
  no Places

Get/B, not applicable:
  no such thing

not conformant
`
	if diff := cmp.Diff(want, sample().Text()); diff != "" {
		t.Errorf("the text differs (-want +got):\n%s", diff)
	}
}

func TestVerdict(t *testing.T) {
	for _, tt := range []struct {
		level     Level
		status    Status
		unaudited bool
		want      Verdict
	}{
		{Must, Passed, false, Conformant},
		{Must, Passed, true, Unproven},
		{Must, NotApplicable, false, Conformant},
		{Must, Unchecked, false, Conformant},
		{Must, Inconclusive, false, Unproven},
		{Must, Failed, false, NotConformant},
		{Must, Failed, true, NotConformant},
		{Must, Blocked, false, NotConformant},
		{Must, Skipped, false, NotConformant},
		{Should, Failed, false, Conformant},
		{May, Skipped, false, Conformant},
	} {
		r := &Report{Unaudited: tt.unaudited, Rules: []RuleResult{{Level: Must, Status: Passed}, {Level: tt.level, Status: tt.status}}}
		if got := r.Verdict(); got != tt.want {
			t.Errorf("%s %s, unaudited %v: the verdict is %s, want %s", tt.level, tt.status, tt.unaudited, got, tt.want)
		}
	}
}

func TestJSON(t *testing.T) {
	text, err := json.Marshal(sample())
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Verdict  string
		Seconds  float64
		Provider map[string]any
		Rules    []struct {
			ID     string
			Status string
			Checks []map[string]any
		}
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Verdict != "not conformant" || got.Seconds != 1.5 || got.Provider["kind"] != "k" || len(got.Rules) != 3 {
		t.Errorf("the document is %s", text)
	}
	want := map[string]any{"name": "Create/A", "status": "failed", "message": "two\nlines", "seconds": 1.0}
	if diff := cmp.Diff(want, got.Rules[0].Checks[0]); diff != "" {
		t.Errorf("the first check differs (-want +got):\n%s", diff)
	}
	if got.Rules[2].Checks == nil {
		t.Error("a rule without checks has null and not an empty list")
	}
}

func TestJUnit(t *testing.T) {
	text, err := sample().JUnit()
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasPrefix(string(text), xml.Header) {
		t.Errorf("there is no XML header:\n%s", text)
	}
	var got junitSuite
	if err := xml.Unmarshal(text, &got); err != nil {
		t.Fatal(err)
	}
	if got.Tests != 6 || got.Failures != 1 || got.Errors != 2 || got.Skipped != 2 || len(got.Cases) != 6 || got.Time != "1.500" {
		t.Errorf("the counts are wrong:\n%s", text)
	}
	first, full := got.Cases[0], got.Cases[3]
	if first.Class != "Create/1" || first.Failure == nil || first.Failure.Text != "two\nlines" || first.Error != nil || first.Skipped != nil {
		t.Errorf("the case that failed is %+v", first)
	}
	if full.Error == nil || full.Error.Text != "<full>" {
		t.Errorf("the case that is inconclusive is %+v", full)
	}
	if passed := got.Cases[1]; passed.Failure != nil || passed.Error != nil || passed.Skipped != nil {
		t.Errorf("the case that passed is %+v", passed)
	}
}
