package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider/examples/internal/daemon"
	"github.com/crawlfleet/provider/examples/internal/fleet"
)

// runs runs the program in this process, for what ends by itself.
func runs(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errors bytes.Buffer
	dir := t.TempDir()
	code = run(args, surroundings{stdout: &out, stderr: &errors, getenv: func(key string) string {
		return map[string]string{"HOME": dir}[key]
	}})
	return code, out.String(), errors.String()
}

func TestRun(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	good := write("good.yaml", "owner: a\nproviders:\n  here: {kind: local}\nfleets:\n  - {name: web, provider: here, replicas: 2}\n")
	bad := write("bad.yaml", "owner: a\nproviders:\n  here: {kind: local, colour: red}\nfleets:\n  - {name: web, provider: there, replicas: 2}\n")
	for _, test := range []struct {
		name        string
		args        []string
		code        int
		out, errors string // parts
	}{
		{"help", []string{"-help"}, exitOK, "-keep", ""},
		{"version", []string{"-version"}, exitOK, "proxyd ", ""},
		{"unknown flag", []string{"-colour"}, exitUsage, "", "-help lists"},
		{"argument", []string{"start"}, exitUsage, "", `"start" is no flag`},
		{"log format", []string{"-log-format", "xml"}, exitUsage, "", "neither text nor json"},
		{"check of the default", []string{"-check-config"}, exitOK, "the embedded configuration is good: 1 providers, 1 fleets", ""},
		{"check of a good file", []string{"-check-config", "-config", good}, exitOK, good + " is good", ""},
		{"check of a bad file", []string{"-check-config", "-config", bad}, exitUsage, "", "fleets[0].provider"},
		{"check of the example", []string{"-check-config", "-config", "proxyd.example.yaml"}, exitOK, "1 providers, 2 fleets", ""},
		{"check of no file", []string{"-check-config", "-config", filepath.Join(dir, "none")}, exitUsage, "", "none"},
		{"start of a bad file", []string{"-config", bad}, exitUsage, "", "fleets[0].provider"},
		{"start at no address", []string{"-listen", "nowhere", "-state-dir", dir}, exitUsage, "", "host:port"},
	} {
		t.Run(test.name, func(t *testing.T) {
			code, out, errors := runs(t, test.args...)
			if code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
			if !strings.Contains(out, test.out) || test.out == "" && out != "" {
				t.Errorf("standard output %q, want %q in it", out, test.out)
			}
			if !strings.Contains(errors, test.errors) || test.errors == "" && errors != "" {
				t.Errorf("standard error %q, want %q in it", errors, test.errors)
			}
		})
	}
}

func TestKeepByDefault(t *testing.T) {
	for _, test := range []struct {
		args []string
		env  string
		want bool
	}{
		{nil, "", false},
		{[]string{"-keep"}, "", true},
		{[]string{"-config", "x"}, "", true},
		{nil, "x", true},
		{[]string{"-config", "x", "-keep=false"}, "", false},
		{[]string{"-keep=false"}, "x", false},
	} {
		o, err := parse(test.args, surroundings{getenv: func(string) string { return test.env }})
		if err != nil || o.keep != test.want {
			t.Errorf("%v with %q: keep %v, %v; want %v", test.args, test.env, o.keep, err, test.want)
		}
	}
}

// The first signal ends the run, an echo of it does nothing, and a later one
// ends it at once.
func TestEndings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		signals, reload := make(chan os.Signal), make(chan os.Signal, 1)
		ctx, hard, stop := endings(signals, reload, newScreen(&bytes.Buffer{}, false), true)
		defer stop()
		for range 3 {
			signals <- syscall.SIGHUP
		}
		synctest.Wait()
		if len(reload) != 1 || ctx.Err() != nil {
			t.Errorf("%d reloads wait, ended %v", len(reload), ctx.Err())
		}
		signals <- os.Interrupt
		synctest.Wait()
		if ctx.Err() == nil || hard.Err() != nil {
			t.Errorf("after one: %v, %v", ctx.Err(), hard.Err())
		}
		signals <- os.Interrupt
		synctest.Wait()
		if hard.Err() != nil {
			t.Error("an echo ended it at once")
		}
		time.Sleep(again + time.Millisecond)
		signals <- syscall.SIGTERM
		synctest.Wait()
		if hard.Err() == nil {
			t.Error("a second one did not end it at once")
		}
	})
}

// The log goes above the progress, which is drawn over itself.
func TestScreen(t *testing.T) {
	var b bytes.Buffer
	s := newScreen(&b, true)
	s.show("web: 1 of 2\n  web-0\n")
	s.show("web: 1 of 2\n  web-0\n")
	s.say("a line")
	s.show("web: 2 of 2\n")
	s.show("")
	const up2, up1 = "\x1b[2A\x1b[J", "\x1b[1A\x1b[J"
	want := "web: 1 of 2\n  web-0\n" + up2 + "a line\nweb: 1 of 2\n  web-0\n" + up2 + "web: 2 of 2\n" + up1
	if b.String() != want {
		t.Errorf("got %q\nwant %q", b.String(), want)
	}
	b.Reset()
	s = newScreen(&b, false)
	s.show("web: 1 of 2\n")
	s.say("a line")
	if b.String() != "a line\n" {
		t.Errorf("without a terminal %q", b.String())
	}
}

func TestProgress(t *testing.T) {
	fleets := []daemon.Fleet{{
		Status: fleet.Status{Fleet: "web", Replicas: 2, Working: 1, Present: 1}, Provider: "here",
		Members: []daemon.Member{
			{Name: "web-0", Phase: daemon.PhaseWorks, Detail: "127.0.0.1:1"},
			{Name: "web-1", Phase: daemon.PhaseChecking, Detail: strings.Repeat("x", 200)},
		},
	}}
	got := progress(fleets)
	want := "web at here: 1 of 2 work\n  web-0        works  127.0.0.1:1\n  web-1        checking  " + strings.Repeat("x", 79-25) + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	for range 1000 {
		fleets[0].Members = append(fleets[0].Members, daemon.Member{Name: "web-2", Phase: daemon.PhaseWaiting})
	}
	if n := strings.Count(progress(fleets), "\n"); n > maxLines+2 {
		t.Errorf("a large fleet takes %d lines", n)
	}
}
