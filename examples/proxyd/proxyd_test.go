package main

import (
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/crawlfleet/provider/examples/internal/proxyapi"
)

// The demo starts, hands out a proxy that works, and leaves nothing.
func TestDemo(t *testing.T) {
	s := newSite(t)
	p := s.start()
	p.settled(3)
	p.says("ready in")
	if n := len(guests(t)); n != 3 {
		t.Errorf("%d guests run", n)
	}
	var list proxyapi.LeaseList
	if code := p.call("POST", "/v1/leases", "{}", &list); code != http.StatusCreated && code != http.StatusOK {
		t.Fatalf("POST /v1/leases: %d", code)
	}
	proxy, err := url.Parse(list.Leases[0].URL)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
	resp, err := client.Get("http://" + s.listen + "/v1/whoami")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if body, _ := io.ReadAll(resp.Body); !strings.Contains(string(body), `"127.0.0.1"`) {
		t.Errorf("through the proxy came %s", body)
	}
	if code := p.end(os.Interrupt); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.errors.String())
	}
	s.audit0()
	if secret := list.Leases[0].URL; strings.Contains(p.errors.String(), proxy.User.String()) || strings.Contains(p.errors.String(), secret) {
		t.Error("a password is in the log")
	}
}

// audit0 checks that nothing is left of the demo.
func (s *site) audit0() {
	s.t.Helper()
	if pids := guests(s.t); len(pids) != 0 {
		s.t.Errorf("%d guests are left", len(pids))
	}
	for _, dir := range []string{"claims", "instances", "locks"} {
		if left := s.glob("state/*/" + dir + "/*"); len(left) > 0 {
			s.t.Errorf("left: %v", left)
		}
	}
}

// The commands work as they are printed, one after another, in a shell whose
// environment names another proxy.
func TestPrintedCommands(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is not installed, which the commands are for")
	}
	s := newSite(t)
	p := s.start()
	p.eventually("the commands are printed", func() bool { return strings.Contains(p.out.String(), "/v1/whoami") })
	script := strings.ReplaceAll(p.out.String(), "TOKEN=...", "TOKEN="+token)
	for _, env := range [][]string{nil, {"http_proxy=http://127.0.0.1:1", "no_proxy=127.0.0.1"}} {
		sh := exec.Command("sh", "-eu")
		sh.Env = append(os.Environ(), env...)
		sh.Stdin = strings.NewReader(script)
		out, err := sh.CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s\n%s", err, script, out)
		}
		for _, want := range []string{`"name":"web-2"`, "\nhttp://web:", `{"address":"127.0.0.1"}`} {
			if !strings.Contains(string(out), want) {
				t.Errorf("no %s in\n%s", want, out)
			}
		}
	}
	p.end(syscall.SIGTERM)
	s.audit0()
}

// Without a token the daemon makes one, and prints it where it is needed.
func TestTokenPerStart(t *testing.T) {
	s := newSite(t)
	t.Setenv("PROXYD_TOKEN", "")
	p := &process{site: s, done: make(chan struct{})}
	p.cmd = exec.Command(os.Args[0], "-listen", s.listen, "-state-dir", s.state())
	p.cmd.Env = append(os.Environ(), asProxyd+"=1")
	p.cmd.Stdout, p.cmd.Stderr = &p.out, &p.errors
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() { defer close(p.done); _ = p.cmd.Wait() }()
	p.eventually("the commands are printed", func() bool { return strings.Contains(p.out.String(), "/v1/whoami") })
	_, rest, _ := strings.Cut(p.out.String(), "Bearer ")
	made, _, _ := strings.Cut(rest, `"`)
	req, err := http.NewRequestWithContext(t.Context(), "GET", "http://"+s.listen+"/v1/proxies", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+made)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK || len(made) < proxyapi.MinToken {
		t.Errorf("the token %q gives %d", made, resp.StatusCode)
	}
	if strings.Contains(p.errors.String(), made) {
		t.Error("the token is in the log")
	}
	p.end(os.Interrupt)
	s.audit0()
}

// With -keep the proxies stay, and the next start has the same ones.
func TestKeepAdopts(t *testing.T) {
	s := newSite(t)
	p := s.start("-keep")
	before := p.settled(3)
	if code := p.end(os.Interrupt); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if n := len(guests(t)); n != 3 {
		t.Errorf("%d guests run on", n)
	}
	p = s.start()
	if after := p.settled(3); !sameIDs(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	p.end(os.Interrupt)
	s.audit0()
}

func sameIDs(a, b map[string]string) bool {
	for name, id := range a {
		if b[name] != id {
			return false
		}
	}
	return len(a) == len(b)
}

// With a configuration the proxies stay unless -keep=false says otherwise, and
// kill -9 makes no difference.
func TestConfigKeeps(t *testing.T) {
	s := newSite(t)
	s.configure(2, "")
	p := s.start("-config", s.configFile())
	before := p.settled(2)
	p.end(syscall.SIGTERM)
	s.audit(2)
	p = s.start("-config", s.configFile())
	if after := p.settled(2); !sameIDs(before, after) {
		t.Errorf("before %v, after %v", before, after)
	}
	p.end(syscall.SIGKILL)
	p = s.start("-config", s.configFile(), "-keep=false")
	if after := p.settled(2); !sameIDs(before, after) {
		t.Errorf("before %v, after kill -9 %v", before, after)
	}
	if code := p.end(syscall.SIGTERM); code != exitOK {
		t.Errorf("exit code %d\n%s", code, p.errors.String())
	}
	s.audit(0)
}

func TestReload(t *testing.T) {
	s := newSite(t)
	s.configure(2, "")
	p := s.start("-config", s.configFile(), "-keep=false")
	before := p.settled(2)

	t.Run("up, by the watch", func(t *testing.T) {
		s.configure(4, "")
		if after := p.settled(4); after["web-0"] != before["web-0"] || after["web-1"] != before["web-1"] {
			t.Errorf("before %v, after %v", before, after)
		}
	})
	t.Run("down, by SIGHUP", func(t *testing.T) {
		s.configure(1, "")
		p.signal(syscall.SIGHUP)
		if after := p.settled(1); after["web-0"] != before["web-0"] {
			t.Errorf("before %v, after %v", before, after)
		}
		s.audit(1)
	})
	if err := os.WriteFile(s.configFile()+".secret", []byte("another-password"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, text, says string }{
		{"not YAML", "owner: [", "the configuration is refused"},
		{"an unknown key", "owner: test\nowners: x\n", "owners"},
		{"another owner", strings.Replace(s.text(), "owner: test", "owner: other", 1), "owner: changes from"},
		{"another address", strings.Replace(s.text(), `"`+s.listen+`"`, "127.0.0.1:1", 1), "api.listen: changes from"},
		{"another directory", strings.Replace(s.text(), "stateDir: state", "stateDir: other", 1), "stateDir: changes from"},
		{"other credentials under the old revision", strings.Replace(s.text(), "replicas: 1", "replicas: 1, spec: {credentials: {username: web, passwordFile: proxyd.yaml.secret}}", 1), "fleets[0].spec.revision"},
		{"a provider dropped", strings.ReplaceAll(s.text(), "here", "there"), "providers.here: is dropped"},
	} {
		t.Run(test.name, func(t *testing.T) {
			seen := len(p.errors.String())
			s.write(test.text)
			p.eventually("the log says "+test.says, func() bool { return strings.Contains(p.errors.String()[seen:], test.says) })
			if after := p.settled(1); after["web-0"] != before["web-0"] {
				t.Errorf("the member is another one: %v", after)
			}
		})
	}
	t.Run("good again", func(t *testing.T) {
		s.configure(2, "")
		p.settled(2)
	})
	p.end(os.Interrupt)
	s.audit(0)
}

func (s *site) text() string {
	s.t.Helper()
	text, err := os.ReadFile(s.configFile())
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text)
}

// A configuration in a volume of Kubernetes is a link through a link, of which
// the second is replaced.
func TestReloadThroughLinks(t *testing.T) {
	s := newSite(t)
	version := func(n, replicas int) {
		dir := filepath.Join(s.dir, "..v"+strconv.Itoa(n))
		s.configure(replicas, "")
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(s.configFile(), filepath.Join(dir, "proxyd.yaml")); err != nil {
			t.Fatal(err)
		}
		next := filepath.Join(s.dir, "..data_tmp")
		if err := os.Symlink(dir, next); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(next, filepath.Join(s.dir, "..data")); err != nil {
			t.Fatal(err)
		}
	}
	version(1, 1)
	link := filepath.Join(s.dir, "mounted.yaml")
	if err := os.Symlink(filepath.Join("..data", "proxyd.yaml"), link); err != nil {
		t.Fatal(err)
	}
	p := s.start("-config", link, "-keep=false")
	p.settled(1)
	version(2, 2)
	p.settled(2)
	version(3, 1)
	p.settled(1)
	p.end(os.Interrupt)
	s.audit0()
}

// A guest that is killed is replaced under its name.
func TestKilledGuestIsReplaced(t *testing.T) {
	s := newSite(t)
	s.configure(2, "")
	p := s.start("-config", s.configFile(), "-keep=false")
	before := p.settled(2)
	pid := guests(t)[0]
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	p.eventually("a member is another instance", func() bool { return !sameIDs(before, p.members()) })
	after := p.settled(2)
	if after["web-0"] == before["web-0"] == (after["web-1"] == before["web-1"]) {
		t.Errorf("before %v, after %v; exactly one is replaced", before, after)
	}
	p.end(os.Interrupt)
	s.audit(0)
}

func TestOneDaemonPerStateDirectory(t *testing.T) {
	s := newSite(t)
	p := s.start()
	p.settled(3)
	other := *s
	other.listen = "127.0.0.1:0"
	q := other.start()
	if code := q.wait(); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	if want := "process ID " + strconv.Itoa(p.cmd.Process.Pid); !strings.Contains(q.errors.String(), want) {
		t.Errorf("the error does not name the %s:\n%s", want, q.errors.String())
	}
	p.settled(3)
	p.end(syscall.SIGKILL)
	q = s.start() // the lock went with the process
	q.settled(3)
	q.end(os.Interrupt)
	s.audit0()
}

func TestBusyAddress(t *testing.T) {
	s := newSite(t)
	l, err := net.Listen("tcp", s.listen)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p := s.start()
	if code := p.wait(); code != exitUsage {
		t.Errorf("exit code %d", code)
	}
	if !strings.Contains(p.errors.String(), "-listen") {
		t.Errorf("the error does not name the way out:\n%s", p.errors.String())
	}
}
