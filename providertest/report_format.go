package providertest

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"time"
)

// MarshalJSON writes the report with its verdict, in lower camel case, and
// durations in seconds, for programs that are not written in Go.
func (r *Report) MarshalJSON() ([]byte, error) {
	return json.Marshal(r.document())
}

// jsonReport is the form of a report as JSON. Fields are added to it and never
// renamed.
type jsonReport struct {
	Verdict   Verdict      `json:"verdict"`
	Unaudited bool         `json:"unaudited"`
	Contract  int          `json:"contract"`
	Provider  jsonProvider `json:"provider"`
	Started   time.Time    `json:"started"`
	Seconds   float64      `json:"seconds"`
	Rules     []jsonRule   `json:"rules"`
}

type jsonProvider struct {
	Name     string `json:"name"`
	Kind     string `json:"kind"`
	Contract int    `json:"contract"`
}

type jsonRule struct {
	ID     string      `json:"id"`
	Name   string      `json:"name"`
	Level  Level       `json:"level"`
	Status Status      `json:"status"`
	Checks []jsonCheck `json:"checks"`
}

type jsonCheck struct {
	Name    string  `json:"name"`
	Status  Status  `json:"status"`
	Message string  `json:"message,omitempty"`
	Seconds float64 `json:"seconds"`
}

func (r *Report) document() jsonReport {
	d := jsonReport{Verdict: r.Verdict(), Unaudited: r.Unaudited, Contract: r.Contract, Started: r.Started, Seconds: r.Took.Seconds(),
		Provider: jsonProvider{Name: r.Provider.Name, Kind: r.Provider.Kind, Contract: r.Provider.Contract}, Rules: []jsonRule{}}
	for _, rule := range r.Rules {
		jr := jsonRule{ID: rule.Rule, Name: rule.Name, Level: rule.Level, Status: rule.Status, Checks: []jsonCheck{}}
		for _, c := range rule.Checks {
			jr.Checks = append(jr.Checks, jsonCheck{Name: c.Name, Status: c.Status, Message: c.Message, Seconds: c.Took.Seconds()})
		}
		d.Rules = append(d.Rules, jr)
	}
	return d
}

// junitSuite is the form of a report that CI systems read.
type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Stamp    string      `xml:"timestamp,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string     `xml:"classname,attr"`
	Name    string     `xml:"name,attr"`
	Time    string     `xml:"time,attr"`
	Failure *junitNote `xml:"failure"`
	Error   *junitNote `xml:"error"`
	Skipped *junitNote `xml:"skipped"`
}

type junitNote struct {
	Message string `xml:"message,attr"`
	Text    string `xml:",chardata"`
}

// JUnit returns the report in the XML form of JUnit: a case for each check,
// with its rule as the class. Failed is a failure; blocked and inconclusive are
// errors, because they are neither; skipped and not applicable are skipped.
func (r *Report) JUnit() ([]byte, error) {
	suite := junitSuite{Name: "provider " + r.Provider.Name, Time: seconds(r.Took), Stamp: r.Started.UTC().Format(time.RFC3339)}
	for _, rule := range r.Rules {
		for _, c := range rule.Checks {
			suite.add(rule, c)
		}
	}
	text, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("the report cannot be written as XML: %w", err)
	}
	return append([]byte(xml.Header), append(text, '\n')...), nil
}

func (s *junitSuite) add(rule RuleResult, c CheckResult) {
	note := &junitNote{Message: string(c.Status), Text: c.Message}
	jc := junitCase{Class: rule.Rule, Name: c.Name, Time: seconds(c.Took)}
	s.Tests++
	switch c.Status {
	case Failed:
		jc.Failure = note
		s.Failures++
	case Blocked, Inconclusive:
		jc.Error = note
		s.Errors++
	case Skipped, NotApplicable:
		jc.Skipped = note
		s.Skipped++
	}
	s.Cases = append(s.Cases, jc)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3f", d.Seconds()) }
