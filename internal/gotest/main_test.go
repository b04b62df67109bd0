package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// module writes a module of one package with the test file given, and makes it
// the working directory. What go finds in the environment of this test does
// not reach it.
func module(t *testing.T, test string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", "module example.com/m\n\ngo 1.26\n")
	write("m_test.go", "package m\n\nimport \"testing\"\n\n"+test)
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")
	t.Setenv("GOFLAGS", "")
}

func TestRun(t *testing.T) {
	const skipping = `
func TestBackend(t *testing.T) { t.Skip("no backend here") }
func TestOther(t *testing.T) { t.Log("unseen") }
`
	tests := []struct {
		name   string
		test   string
		allow  string
		args   []string
		ci     bool
		status int
		want   []string // regular expressions
		not    string
	}{
		{name: "pass", test: `func TestA(t *testing.T) { t.Log("unseen") }`, ci: true,
			want: []string{`(?m)^ok  \texample.com/m\t`, `(?m)^tests: 1 passed, 0 failed, 0 skipped$`}, not: "unseen"},
		{name: "fail", test: `func TestA(t *testing.T) { t.Run("sub", func(t *testing.T) { t.Error("seen") }) }`, status: 1,
			want: []string{`--- FAIL: TestA/sub`, `seen`, `(?m)^FAIL\texample.com/m\t`, `0 passed, 2 failed`}},
		{name: "panic", test: `func TestA(t *testing.T) { t.Log("before"); panic("boom") }`, status: 1,
			want: []string{`before`, `panic: boom`, `(?m)^FAIL\texample.com/m\t`}},
		{name: "time-out", test: `func TestA(t *testing.T) { println("before"); select {} }`, args: []string{"-timeout=1s"}, status: 1,
			want: []string{`before`, `test timed out|all goroutines are asleep`, `(?m)^FAIL\texample.com/m\t`}},
		{name: "does not compile", test: `func TestA(t *testing.T) { undefined() }`, status: 1,
			want: []string{`undefined: undefined`, `build failed`}},
		{name: "skip", test: skipping,
			want: []string{`skipped: example.com/m TestBackend: .*no backend here \(not in the list`, `1 passed, 0 failed, 1 skipped`}, not: "unseen"},
		{name: "skip in CI", test: skipping, ci: true, status: 1,
			want: []string{`(?m)^ok  `, `1 skips are not allowed in CI`}},
		{name: "skip with -strict", test: skipping, args: []string{"-strict"}, status: 1,
			want: []string{`1 skips are not allowed in CI`}},
		{name: "allowed skip in CI", test: skipping, ci: true, allow: "# comment\n\nm TestBackend it has none\n",
			want: []string{`skipped: .*no backend here \(allowed: it has none\)`}},
		{name: "another skip allowed in CI", test: skipping, ci: true, allow: "m TestOther it has none", status: 1,
			want: []string{`1 skips are not allowed in CI`}},
		{name: "allowed without a reason", test: skipping, allow: "m TestBackend", status: 2,
			want: []string{`allow:1: write package, test and reason`}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			module(t, test.test)
			args := test.args
			if test.allow != "" {
				if err := os.WriteFile("allow", []byte(test.allow), 0o644); err != nil {
					t.Fatal(err)
				}
				args = append(args, "-allow", "allow")
			}
			var out, errs bytes.Buffer
			if status := run(append(args, "-count=1", "."), &out, &errs, test.ci); status != test.status {
				t.Errorf("status %d, want %d", status, test.status)
			}
			for _, want := range test.want {
				if !regexp.MustCompile(want).MatchString(out.String() + errs.String()) {
					t.Errorf("no %s in the output", want)
				}
			}
			if test.not != "" && strings.Contains(out.String(), test.not) {
				t.Errorf("%s in the output", test.not)
			}
			if t.Failed() {
				t.Logf("output:\n%s%s", &out, &errs)
			}
		})
	}
}

func TestMissingListOfSkips(t *testing.T) {
	var out bytes.Buffer
	if status := run([]string{"-allow", filepath.Join(t.TempDir(), "none")}, &out, &out, false); status != 2 {
		t.Errorf("status %d, want 2; output %s", status, &out)
	}
}

func TestAllows(t *testing.T) {
	for _, test := range []struct {
		pkg, test string
		want      bool
	}{
		{"example.com/m/kvm", "TestReal", true},
		{"example.com/m/kvm", "TestReal/sub", false},
		{"kvm", "TestReal", true},
		{"example.com/m/notkvm", "TestReal", false},
		{"example.com/m/kvm/inner", "TestReal", false},
	} {
		if got := (allowance{pkg: "kvm", test: "TestReal"}).allows(test.pkg, test.test); got != test.want {
			t.Errorf("allows(%s, %s) = %t", test.pkg, test.test, got)
		}
	}
	wide := allowance{pkg: "m/kvm*", test: "TestReal*"}
	if !wide.allows("example.com/m/kvm/inner", "TestReal/sub") || wide.allows("example.com/m/gcp", "TestReal") {
		t.Error("a pattern that ends in * does not match what begins with it, or matches more")
	}
}
