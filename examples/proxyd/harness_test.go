package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/crawlfleet/provider/examples/internal/guest"
	"github.com/crawlfleet/provider/examples/internal/proxyapi"
)

// asProxyd makes the test binary be proxyd, in a process that a test can kill.
const asProxyd = "PROXYD_TEST_PROCESS"

func TestMain(m *testing.M) {
	switch {
	case len(os.Args) > 1 && os.Args[1] == guestCommand:
		os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
	case os.Getenv(asProxyd) != "":
		main()
	}
	os.Exit(m.Run())
}

// token is that of every daemon here but where a test says otherwise.
const token = "0123456789abcdef0123456789abcdef"

// patient is how long a test waits for what must come: far longer than it
// takes, on a machine with too much to do.
const patient = 60 * time.Second

// site is a state directory with an address, where daemons run one after
// another. The tests of this package run one after another too, because they
// count the guests of this binary.
type site struct {
	t      *testing.T
	dir    string // has the state directory and the configuration
	listen string
}

func newSite(t *testing.T) *site {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	s := &site{t: t, dir: t.TempDir(), listen: l.Addr().String()}
	t.Cleanup(func() {
		for _, pid := range guests(t) {
			t.Errorf("a guest is left: process %d", pid)
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	return s
}

func (s *site) state() string { return filepath.Join(s.dir, "state") }

func (s *site) configFile() string { return filepath.Join(s.dir, "proxyd.yaml") }

// configure writes a configuration with one fleet, in one step as a careful
// editor does.
func (s *site) configure(replicas int, more string) {
	s.t.Helper()
	text := fmt.Sprintf("owner: test\napi: {listen: %q}\nstateDir: state\ncheck: {interval: 1s, timeout: 1s}\nlimits: {drain: 0s}\n"+
		"providers:\n  here: {kind: local}\nfleets:\n  - {name: web, provider: here, replicas: %d}\n%s", s.listen, replicas, more)
	s.write(text)
}

func (s *site) write(text string) {
	s.t.Helper()
	next := s.configFile() + ".next"
	if err := os.WriteFile(next, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(next, s.configFile()); err != nil {
		s.t.Fatal(err)
	}
}

// process is a daemon in a process of its own.
type process struct {
	*site
	cmd    *exec.Cmd
	out    buffer
	errors buffer
	done   chan struct{} // closed when it has ended
}

// buffer may be written to and read at once.
type buffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

// start starts proxyd at the site.
func (s *site) start(args ...string) *process {
	s.t.Helper()
	p := &process{site: s, done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], args...)
	p.cmd.Env = append(os.Environ(), asProxyd+"=1", "PROXYD_TOKEN="+token)
	if !slices.Contains(args, "-config") {
		p.cmd.Args = append(p.cmd.Args, "-state-dir", s.state(), "-listen", s.listen)
	}
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if err := p.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	go func() { defer close(p.done); _ = p.cmd.Wait() }()
	s.t.Cleanup(func() { p.signal(syscall.SIGKILL); <-p.done })
	return p
}

func (p *process) signal(sig os.Signal) { _ = p.cmd.Process.Signal(sig) }

// end sends a signal and waits for the end.
func (p *process) end(sig os.Signal) int {
	p.t.Helper()
	p.signal(sig)
	return p.wait()
}

// wait waits for the end and returns the exit code.
func (p *process) wait() int {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(patient):
		p.t.Fatalf("it does not end:\n%s", p.errors.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// eventually waits until what is true.
func (p *process) eventually(what string, is func() bool) {
	p.t.Helper()
	for deadline := time.Now().Add(patient); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.t.Fatalf("not in time: %s\n%s", what, p.errors.String())
		}
	}
}

// says waits until the log, or the screen, has a text.
func (p *process) says(text string) {
	p.t.Helper()
	p.eventually("the log says "+text, func() bool { return strings.Contains(p.errors.String(), text) })
}

// call calls the API and decodes the answer. It reports the status, and 0 when
// nobody answers.
func (p *process) call(method, path, body string, into any) int {
	p.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, "http://"+p.listen+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+token)
	req.Header.Set("Content-Type", "application/json")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 10 * time.Second}
	resp, err := client.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err == nil && into != nil && resp.StatusCode < 300 {
		err = json.Unmarshal(data, into)
	}
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode
}

// members returns the IDs of the members by name, as the API has them.
func (p *process) members() map[string]string {
	p.t.Helper()
	var list proxyapi.ProxyList
	p.call("GET", "/v1/proxies", "", &list)
	out := map[string]string{}
	for _, proxy := range list.Proxies {
		if _, twice := out[proxy.Name]; twice {
			p.t.Errorf("%s is there twice", proxy.Name)
		}
		out[proxy.Name] = proxy.ID
	}
	return out
}

// settled waits until so many members work and no other is there.
func (p *process) settled(n int) map[string]string {
	p.t.Helper()
	p.eventually(fmt.Sprintf("%d members work", n), func() bool {
		var list proxyapi.ProxyList
		if p.call("GET", "/v1/proxies", "", &list) != http.StatusOK || len(list.Proxies) != n {
			return false
		}
		return !slices.ContainsFunc(list.Proxies, func(x proxyapi.Proxy) bool { return !x.Working || x.Draining })
	})
	return p.members()
}

// audit looks at what is really there: so many guests run, each of which is in
// the state directory, with nothing half made or left over.
func (s *site) audit(n int) {
	s.t.Helper()
	if pids := guests(s.t); len(pids) != n {
		s.t.Errorf("%d guests run, want %d", len(pids), n)
	}
	var names []string
	for _, path := range s.glob("state/here/claims/*") {
		text, err := os.Readlink(path)
		var record struct{ Name string }
		if err == nil {
			err = json.Unmarshal([]byte(text), &record)
		}
		if err != nil {
			s.t.Errorf("%s: %v", path, err)
		}
		names = append(names, record.Name)
	}
	slices.Sort(names)
	var want []string
	for i := range n {
		want = append(want, "web-"+strconv.Itoa(i))
	}
	if !slices.Equal(names, want) {
		s.t.Errorf("claimed are %v, want %v", names, want)
	}
	if dirs := s.glob("state/here/instances/*"); len(dirs) != n {
		s.t.Errorf("%d directories of instances, want %d: %v", len(dirs), n, dirs)
	}
	stray := slices.Concat(s.glob("state/here/locks/*"), s.glob("state/here/instances/*/*.new"), s.glob("state/here/instances/*/going"), s.glob("state/*.tmp"))
	if len(stray) > 0 {
		s.t.Errorf("left over: %v", stray)
	}
}

func (s *site) glob(pattern string) []string {
	s.t.Helper()
	paths, err := filepath.Glob(filepath.Join(s.dir, pattern))
	if err != nil {
		s.t.Fatal(err)
	}
	return paths
}

// guests returns the processes that are guests of this test binary.
func guests(t *testing.T) []int {
	t.Helper()
	out, err := exec.Command("ps", "-axo", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatalf("ps: %v", err)
	}
	line := regexp.MustCompile(`^\s*(\d+)\s+([^Z\s]\S*)\s+` + regexp.QuoteMeta(os.Args[0]) + ` guest `)
	var pids []int
	for text := range strings.Lines(string(out)) {
		if m := line.FindStringSubmatch(text); m != nil {
			pid, _ := strconv.Atoi(m[1])
			pids = append(pids, pid)
		}
	}
	return pids
}
