//go:build unix

package guest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/crawlfleet/provider"
)

// TestMain runs the guest where a test starts this program with that word, as
// other programs do with themselves.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		os.Exit(Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

// write stores a document, or a text as it is.
func write(t *testing.T, document any) string {
	t.Helper()
	text, ok := document.(string)
	if !ok {
		b, err := json.Marshal(document)
		if err != nil {
			t.Fatal(err)
		}
		text = string(b)
	}
	name := filepath.Join(t.TempDir(), "guest.json")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

func TestMainRefuses(t *testing.T) {
	badHash := document(t)
	badHash.Users[0].PasswordHash = "$2a$10$secret"
	good := write(t, document(t))
	for _, test := range []struct {
		name string
		args []string
		code int
		says string
	}{
		{"nothing", nil, 2, "-config FILE"},
		{"an unknown flag", []string{"-x"}, 2, "-x"},
		{"an argument too many", []string{"-config", good, "more"}, 2, "nothing else"},
		{"no number", []string{"-config", good, "-listen-fd", "x"}, 2, "listen-fd"},
		{"no file", []string{"-config", "/nowhere"}, 2, "/nowhere"},
		{"no JSON", []string{"-config", write(t, "port: 1")}, 2, "cannot be read"},
		{"an unknown field", []string{"-config", write(t, `{"version":1,"prot":1}`)}, 2, "prot"},
		{"another version", []string{"-config", write(t, `{"version":2,"port":1}`)}, 2, "version"},
		{"an open proxy", []string{"-config", write(t, `{"version":1,"port":1}`)}, 2, "open proxy"},
		{"a bad hash", []string{"-config", write(t, badHash)}, 2, "users[0].passwordHash"},
		{"too much", []string{"-config", write(t, strings.Repeat(" ", maxDocument+1))}, 2, "more than"},
		{"a socket that is none", []string{"-config", good, "-listen-fd", "1000"}, 1, "-listen-fd 1000"},
		{"help", []string{"-h"}, 0, "listen-fd"},
	} {
		var out, errs bytes.Buffer
		if code := Main(test.args, &out, &errs); code != test.code || !strings.Contains(errs.String(), test.says) {
			t.Errorf("%s: code %d and %q; want %d and %q", test.name, code, errs.String(), test.code, test.says)
		}
		if strings.Contains(errs.String()+out.String(), "secret") || strings.Contains(errs.String(), "$2a$") {
			t.Errorf("%s: shows the hash: %s", test.name, errs.String())
		}
	}
}

func TestMainPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", ":0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	doc := document(t)
	doc.Port = uint16(l.Addr().(*net.TCPAddr).Port)
	var errs bytes.Buffer
	if code := Main([]string{"-config", write(t, doc)}, io.Discard, &errs); code != exitError || !strings.Contains(errs.String(), "address already in use") {
		t.Errorf("code %d and %q", code, errs.String())
	}
}

// start runs the guest as a child on an inherited socket.
func start(t *testing.T, doc provider.Guest) (*exec.Cmd, string, *logBuffer) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close() // the child has its own
	f, err := l.(*net.TCPListener).File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	logs := &logBuffer{}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "guest", "-config", write(t, doc), "-listen-fd", "3")
	cmd.ExtraFiles = []*os.File{f}
	cmd.Stderr = logs
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	// The socket takes connections before the guest does: no need to wait.
	res, err := http.Get("http://" + l.Addr().String() + "/healthz")
	if err != nil {
		t.Fatalf("%v: %s", err, logs)
	}
	res.Body.Close()
	http.DefaultClient.CloseIdleConnections()
	return cmd, l.Addr().String(), logs
}

func TestProcessEndsOnSignals(t *testing.T) {
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		cmd, _, logs := start(t, document(t))
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%v: %v: %s", signal, err, logs)
		}
		if !strings.Contains(logs.String(), "msg=serving address=127.0.0.1:") {
			t.Errorf("the log does not say where it serves: %s", logs)
		}
	}
}

// The port of the document does not count beside a socket, for the loop too.
func TestProcessProxies(t *testing.T) {
	doc := document(t)
	doc.Users[0].PasswordHash = quickHash(t, testPassword)
	doc.Destinations.Allow = []provider.Destination{{Prefix: doc.AllowFrom[0]}}
	_, addr, logs := start(t, doc)
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })}
	go func() { _ = server.Serve(target) }()
	defer server.Close()
	w := &world{addr: addr}
	c := w.client(t)
	if res, body := get(t, c, "http://"+target.Addr().String()+"/"); body != "hello" {
		t.Errorf("%s %q: %s", res.Status, body, logs)
	}
	if res, _ := get(t, c, "http://"+addr+"/healthz"); res.StatusCode != http.StatusForbidden || !strings.Contains(res.Header.Get("Proxy-Status"), "loop") {
		t.Errorf("the guest through itself: %s", res.Status)
	}
}

// A second signal does not wait for the drain.
func TestSecondSignalKills(t *testing.T) {
	doc := document(t)
	doc.Destinations.Allow = []provider.Destination{{Prefix: doc.AllowFrom[0], Ports: []uint16{0}}}
	target, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer target.Close()
	port := target.Addr().(*net.TCPAddr).Port
	doc.Destinations.Allow[0].Ports[0] = uint16(port)
	cmd, addr, logs := start(t, doc)
	c := (&world{addr: addr}).connect(t)
	fmt.Fprintf(c, "CONNECT 127.0.0.1:%d HTTP/1.1\r\nHost: x\r\n%s\r\n", port, credentials())
	if _, err := io.ReadFull(c, make([]byte, len(established))); err != nil {
		t.Fatalf("%v: %s", err, logs)
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	for { // until it has heard the first
		c, err := net.Dial("tcp", addr)
		if err != nil {
			break
		}
		_ = c.Close()
	}
	if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	var exit *exec.ExitError
	if err := cmd.Wait(); !errors.As(err, &exit) || exit.Sys().(syscall.WaitStatus).Signal() != syscall.SIGTERM {
		t.Errorf("ends with %v: %s", err, logs)
	}
}

func TestListen(t *testing.T) {
	l, err := listen(t.Context(), 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if !l.Addr().(*net.TCPAddr).IP.IsUnspecified() {
		t.Errorf("listens on %v and not on all addresses", l.Addr())
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	fd, err := syscall.Dup(int(r.Fd())) // listen closes what it is given
	_ = r.Close()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := listen(t.Context(), 0, fd); err == nil || !strings.Contains(err.Error(), "not a listening socket") {
		t.Errorf("a pipe: %v", err)
	}
}
