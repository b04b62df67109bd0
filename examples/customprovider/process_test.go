//go:build linux

package customprovider

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/crawlfleet/provider"
)

const cont = syscall.SIGCONT

func signalTo(t *testing.T, pid int, sig syscall.Signal) {
	t.Helper()
	if err := syscall.Kill(pid, sig); err != nil {
		t.Fatalf("signal %d: %v", pid, err)
	}
}

// kill ends a process, as a crash would, and waits until it has: its first
// thread may be a zombie while others still have its files.
func kill(t *testing.T, pid int) {
	t.Helper()
	signalTo(t, pid, syscall.SIGKILL)
	eventually(t, "it has ended", func() bool {
		s, ok := see(pid)
		threads, err := os.ReadDir(fmt.Sprintf("/proc/%d/task", pid))
		return !ok || s.zombie && err == nil && len(threads) == 1
	})
}

// stop stops a process, as Ctrl-Z would, and waits until it has.
func stop(t *testing.T, pid int) {
	t.Helper()
	signalTo(t, pid, syscall.SIGSTOP)
	t.Cleanup(func() { _ = syscall.Kill(pid, syscall.SIGCONT) })
	eventually(t, "it has stopped", func() bool {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		return err == nil && strings.Contains(string(stat), ") T ")
	})
}

func TestKilledGuestIsStopped(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	inst := create(t, p, testSpec("a"))
	eventually(t, "it logs", func() bool { return lastLine(filepath.Join(w.guests()[w.guest("a")], "log")) != "" })
	kill(t, w.guest("a"))
	got := get(t, p, inst.Ref)
	if got.State != provider.Stopped || got.Reason != provider.ReasonGuestCrash || !strings.Contains(got.Message, "its last line is") {
		t.Errorf("a killed guest is %q, %q: %q", got.State, got.Reason, got.Message)
	}
	if err := p.Delete(t.Context(), inst.Ref); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

func TestNoZombies(t *testing.T) {
	t.Run("of an open provider", func(t *testing.T) {
		w := newWorld(t)
		p := w.open()
		create(t, p, testSpec("a"))
		pid := w.guest("a")
		kill(t, pid)
		eventually(t, "nobody is a zombie", func() bool { return !slices.Contains(w.zombies(), pid) })
	})
	t.Run("of a closed provider", func(t *testing.T) {
		for _, meet := range []func(p *Provider) error{
			func(p *Provider) error { return p.Delete(t.Context(), provider.Ref{Name: "a"}) },
			func(p *Provider) error { _, err := p.List(t.Context()); return err },
		} {
			w := newWorld(t)
			p, q := w.open(), w.open()
			create(t, p, testSpec("a"))
			pid := w.guest("a")
			if err := p.Close(); err != nil {
				t.Fatal(err)
			}
			kill(t, pid)
			if !slices.Contains(w.zombies(), pid) {
				t.Error("it is no zombie although nobody reaps it: the test shows nothing")
			}
			if err := meet(q); err != nil {
				t.Fatal(err)
			}
			if slices.Contains(w.zombies(), pid) {
				t.Error("it is a zombie although a provider has met it")
			}
		}
	})
}

func TestGuestInheritsNothingElse(t *testing.T) {
	t.Setenv("CUSTOMPROVIDER_TOKEN", "opensesame")
	w := newWorld(t)
	config := w.config()
	config.Command = config.Command[2:] // without env and its argument
	p := w.openAs(config)
	create(t, p, testSpec("first")) // its descriptors must not reach the second
	create(t, p, testSpec("a"))
	pid := w.guest("a")
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || string(environ) != guestPath+"\x00" {
		t.Errorf("the environment is %q, %v", environ, err)
	}
	// What Go's runtime opens for itself.
	own := func(target string) bool {
		return strings.HasPrefix(target, "anon_inode:[event") || strings.HasPrefix(target, "/sys/fs/cgroup/")
	}
	links, err := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	var sockets int
	for _, link := range links {
		target, err := os.Readlink(link)
		if err != nil || own(target) {
			continue
		}
		switch {
		case strings.HasPrefix(target, "socket:"):
			sockets++
		case strings.HasPrefix(target, "pipe:") && filepath.Base(link) == "0":
		case filepath.Dir(target) == w.guests()[pid] && slices.Contains([]string{"log", "alive"}, filepath.Base(target)):
		case inheritable(link):
			// The test program itself was started with it.
		default:
			t.Errorf("descriptor %s is %s", filepath.Base(link), target)
		}
	}
	if sockets > 2 {
		t.Errorf("it has %d sockets, want the listener alone and at most its copy", sockets)
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	if session := fields[3]; session != fmt.Sprint(pid) {
		t.Errorf("its session is %s, want one of its own", session)
	}
}

// inheritable reports whether this program has the same descriptor and passes
// it to every child, because whoever started it did not mark it.
func inheritable(link string) bool {
	fd, err := strconv.Atoi(filepath.Base(link))
	if err != nil || fd <= listenFD {
		return false
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0)
	return err == nil && flags&unix.FD_CLOEXEC == 0
}

func TestGuestSurvivesItsManager(t *testing.T) {
	w := newWorld(t)
	manager, line := w.manager("-do", "create")
	var made provider.Instance
	if err := json.Unmarshal([]byte(line), &made); err != nil {
		t.Fatalf("the manager printed %q: %v", line, err)
	}
	kill(t, manager.Process.Pid)
	p := w.open()
	got := get(t, p, made.Ref)
	if got.State != provider.Running || got.Endpoint != made.Endpoint {
		t.Errorf("after its manager's death it is %q at %s, want Running at %s", got.State, got.Endpoint, made.Endpoint)
	}
	conn, err := net.Dial("tcp", got.Endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "GET http://127.0.0.1:1/ HTTP/1.1\r\nHost: 127.0.0.1:1\r\nConnection: close\r\n\r\n"); err != nil {
		t.Fatal(err)
	}
	answer, err := io.ReadAll(conn)
	if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 403") {
		t.Errorf("the guest answers %q, %v; a loopback destination is Forbidden", answer, err)
	}
	if again := create(t, p, testSpec("a")); again.Ref != made.Ref {
		t.Errorf("Create made %s, want %s", again.Ref, made.Ref)
	}
	if err := p.Delete(t.Context(), made.Ref); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

// TestRecycledProcessID writes the ID of a process of somebody else into the
// record, as if the guest had died and its ID had been given away.
func TestRecycledProcessID(t *testing.T) {
	bystander := exec.Command("sleep", "1000")
	if err := bystander.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = bystander.Process.Kill()
		_ = bystander.Wait()
	})
	// The guests must not start in the clock tick of its start, or the record
	// would mean it: one that gets an ID later cannot have that start.
	before := startOf(bystander.Process.Pid)
	eventually(t, "the clock has ticked", func() bool {
		probe := exec.Command("sleep", "1000")
		if err := probe.Start(); err != nil {
			t.Fatal(err)
		}
		start := startOf(probe.Process.Pid)
		_ = probe.Process.Kill()
		_ = probe.Wait()
		return start != before
	})
	unharmed := func(t *testing.T) {
		t.Helper()
		if s, ok := see(bystander.Process.Pid); !ok || s.zombie {
			t.Fatal("the bystander was killed")
		}
	}
	// recycled replaces the ID and keeps the start, which is the guest's.
	recycled := func(t *testing.T, dir string) {
		t.Helper()
		g, err := readProcess(dir)
		if err != nil {
			t.Fatal(err)
		}
		g.PID = bystander.Process.Pid
		if err := writeJSON(filepath.Join(dir, "process.json"), g); err != nil {
			t.Fatal(err)
		}
	}
	t.Run("the guest is dead", func(t *testing.T) {
		w := newWorld(t)
		p := w.open()
		inst := create(t, p, testSpec("a"))
		pid := w.guest("a")
		dir := w.guests()[pid]
		kill(t, pid)
		recycled(t, dir)
		if got := get(t, p, inst.Ref); got.State != provider.Stopped {
			t.Errorf("it is %q: the bystander is taken for it", got.State)
		}
		if err := p.Delete(t.Context(), inst.Ref); err != nil {
			t.Fatal(err)
		}
		unharmed(t)
		w.nothing()
	})
	t.Run("the guest lives", func(t *testing.T) {
		w := newWorld(t)
		p := w.open()
		inst := create(t, p, testSpec("a"))
		pid := w.guest("a")
		recycled(t, w.guests()[pid])
		err := p.Delete(t.Context(), inst.Ref)
		wantKind(t, "Delete with a record of another process", err, provider.Unavailable)
		if !strings.Contains(err.Error(), "alive") {
			t.Errorf("the error does not say what to do: %v", err)
		}
		unharmed(t)
		// The way out that the error names.
		kill(t, pid)
		if err := p.Delete(t.Context(), inst.Ref); err != nil {
			t.Fatal(err)
		}
		unharmed(t)
		w.nothing()
	})
}

func TestUnreadableRecords(t *testing.T) {
	for _, tt := range []struct {
		file string
		dead bool
		want provider.State
	}{
		{"started.json", false, provider.Unknown},
		{"started.json", true, provider.Stopped},
		{"process.json", true, provider.Stopped},
	} {
		w := newWorld(t)
		p := w.open()
		inst := create(t, p, testSpec("a"))
		pid := w.guest("a")
		if err := os.WriteFile(filepath.Join(w.guests()[pid], tt.file), []byte("{"), 0o600); err != nil {
			t.Fatal(err)
		}
		if tt.dead {
			kill(t, pid)
		}
		if got := get(t, p, inst.Ref); got.State != tt.want || got.Message == "" {
			t.Errorf("with %s unreadable it is %q: %q, want %q", tt.file, got.State, got.Message, tt.want)
		}
		if err := p.Delete(t.Context(), inst.Ref); err != nil {
			t.Errorf("Delete: %v", err)
		}
		w.nothing()
	}
}

func TestCommandThatCannotRun(t *testing.T) {
	program := filepath.Join(t.TempDir(), "guest")
	if err := os.WriteFile(program, []byte("not a program"), 0o700); err != nil {
		t.Fatal(err)
	}
	w := newWorld(t)
	config := w.config()
	config.Command = []string{program}
	p := w.openAs(config)
	_, err := p.Create(t.Context(), testSpec("a"))
	if e := wantKind(t, "Create", err, provider.Invalid); e.Field != "Command" {
		t.Errorf("it names Field %q", e.Field)
	}
	if got := list(t, p); len(got) != 1 || got[0].State != provider.Incomplete {
		t.Errorf("List shows %v", got)
	}
	if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

func TestGuestThatDoesNotRead(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Command = []string{"/bin/sh", "-c", "echo 'no such option' >&2; exit 3"}
	p := w.openAs(config)
	p.step = func(_ context.Context, what string, do func() error) error {
		if what == "hand over document" {
			eventually(t, "the guest ends", func() bool { return len(w.guests()) == 0 })
		}
		return do()
	}
	_, err := p.Create(t.Context(), testSpec("a"))
	wantKind(t, "Create", err, provider.Unavailable)
	if !strings.Contains(err.Error(), "no such option") {
		t.Errorf("the error does not say why: %v", err)
	}
}

func TestGuestThatEndsAtOnce(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Command = []string{"/bin/sh", "-c", "cat >/dev/null; echo 'no such thing' >&2; exit 3"}
	p := w.openAs(config)
	inst := create(t, p, testSpec("a"))
	eventually(t, "it is Stopped", func() bool {
		inst = get(t, p, inst.Ref)
		return inst.State == provider.Stopped
	})
	if !strings.Contains(inst.Message, "no such thing") {
		t.Errorf("the message is %q", inst.Message)
	}
}
