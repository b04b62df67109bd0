package main

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/crawlfleet/provider"
)

// TestLocal goes through the life of a member of the demo's fleet and of a
// proxy made by hand, on the real local provider.
func TestLocal(t *testing.T) {
	c := newCtl(t)
	defer c.run(t.Context(), "delete", "web-0")
	defer c.run(t.Context(), "delete", "try-1", "--adhoc")
	const header = `NAME +PROVIDER +STATE +ENDPOINT +LOCATION +AGE +ID +REASON\n`
	const web0 = header + `web-0 +local +Running +127\.0\.0\.1:\d+ +- +\d+s +1/local/\S+ +-`
	c.steps([]step{
		{"list", 0, ``, `proxyctl: there are no instances`},
		{"list -o json", 0, `\[\]`, ``},
		{"get web-0", 3, ``, `proxyctl: local: Get web-0: NotFound: .*; proxyctl list shows what there is`},
		{"create web-0 --wait", 0, web0, ``},
		{"create web-0", 0, web0, ``}, // again: the same one
		{"list", 0, web0, ``},
		{"wait web-0", 0, web0, ``},
		{"get web-0 --id 1/local/other", 3, ``, `.*NotFound.*`},
		{"get web-0 --id nonsense", 6, ``, `.*Invalid: ID: .*`},
		{"console web-0 --offset 1000000", 0, ``, ``},
		{"console web-0 --previous", 7, ``, `.*Unsupported: Previous: .*`},
		{"gc", 0, ``, `proxyctl: nothing that no fleet asks for`},

		{"create try-1", 2, ``, `proxyctl: try-1 is a member of no fleet, and proxyd would remove it; add --adhoc .* such as web-0`},
		{"create web-3", 2, ``, `proxyctl: web-3 is a member of no fleet.*`},
		{"create try-1 --adhoc --fleet web --wait --label a=b", 0, header + `try-1 .*`, ``},
		{"list", 0, web0, ``},
		{"list --adhoc", 0, header + `try-1 .*`, ``},
		{"gc --apply --grace 0", 0, ``, `proxyctl: nothing that no fleet asks for`}, // not for the collector
		{"create try-1 --adhoc --label a=c", 0, header + `try-1 .*`, `proxyctl: try-1 exists already, made from another spec; delete it first to change it`},
		{"delete --adhoc try-1", 0, `try-1 is gone`, ``},
		{"delete --adhoc try-1", 0, `try-1 is gone`, ``},

		{"delete web-0 web-1", 0, `web-0 is gone\nweb-1 is gone`, ``},
		{"delete web-0 --no-wait", 0, `web-0 is gone`, ``},
		{"list -o yaml", 0, `\[\]`, ``},
	})
}

// TestConsole: -f shows what the guest prints, and ends when the guest does.
func TestConsole(t *testing.T) {
	c := newCtl(t)
	c.steps([]step{{"create web-0 --wait", 0, `.*`, ``}})
	defer c.run(t.Context(), "delete", "web-0")
	followed := make(chan result)
	go func() { followed <- c.run(t.Context(), "console", "web-0", "-f") }()
	// Without -f the log is copied as far as it is; the guest prints its first
	// line soon after it started.
	for c.run(t.Context(), "console", "web-0").stdout == "" {
		time.Sleep(10 * time.Millisecond)
	}
	c.steps([]step{{"delete web-0", 0, `web-0 is gone`, ``}})
	got := <-followed
	if got.code != 0 || !strings.Contains(got.stdout, "level=INFO") {
		t.Errorf("console -f: %+v", got)
	}
}

// TestURL: what -o url prints works as a proxy, for members and for what is
// made by hand, and refuses without the credentials in it.
func TestURL(t *testing.T) {
	c := newCtl(t)
	// The guests may reach the daemon's address, so something listens there.
	daemon := listen(t)
	c.env["PROXYD_LISTEN"] = daemon
	for _, flags := range [][]string{{"web-1"}, {"try", "--adhoc"}} {
		if got := c.run(t.Context(), append([]string{"create", "--wait"}, flags...)...); got.code != 0 {
			t.Fatal(got)
		}
		got := c.run(t.Context(), append([]string{"get", "-o", "url"}, flags...)...)
		proxy, err := url.Parse(strings.TrimSpace(got.stdout))
		if err != nil || got.code != 0 {
			t.Fatal(got, err)
		}
		if status, body := fetch(t, proxy, "http://"+daemon); status != http.StatusOK || body != "daemon" {
			t.Errorf("%v: through the proxy: %d %q", flags, status, body)
		}
		proxy.User = nil
		if status, _ := fetch(t, proxy, "http://"+daemon); status != http.StatusProxyAuthRequired {
			t.Errorf("%v: without credentials: %d, want 407", flags, status)
		}
		if got := c.run(t.Context(), append([]string{"delete"}, flags...)...); got.code != 0 {
			t.Error(got)
		}
	}
}

func listen(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "daemon") })}
	go func() { _ = s.Serve(l) }()
	t.Cleanup(func() { _ = s.Close() })
	return l.Addr().String()
}

func fetch(t *testing.T, proxy *url.URL, target string) (int, string) {
	t.Helper()
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, string(body)
}

// TestFormats: JSON and YAML say the same, in the words that scripts read.
func TestFormats(t *testing.T) {
	c := newCtl(t)
	if got := c.run(t.Context(), "create", "web-2", "--wait"); got.code != 0 {
		t.Fatal(got)
	}
	defer c.run(t.Context(), "delete", "web-2")
	for _, command := range [][]string{{"get", "web-2"}, {"list"}} {
		text := c.run(t.Context(), append(command, "-o", "json")...).stdout
		fromYAML, err := yaml.YAMLToJSON([]byte(c.run(t.Context(), append(command, "-o", "yaml")...).stdout))
		if err != nil {
			t.Fatal(err)
		}
		var a, b any
		if err := json.Unmarshal([]byte(text), &a); err != nil {
			t.Fatalf("%v: %v in %s", command, err, text)
		}
		if err := json.Unmarshal(fromYAML, &b); err != nil {
			t.Fatal(err)
		}
		one, _ := json.Marshal(a)
		two, _ := json.Marshal(b)
		if string(one) != string(two) {
			t.Errorf("%v: JSON is %s, YAML %s", command, one, two)
		}
		if list, ok := a.([]any); ok {
			a = list[0]
		}
		m := a.(map[string]any)
		if m["name"] != "web-2" || m["provider"] != "local" || m["state"] != string(provider.Running) || m["scheme"] != "http" || m["endpoint"] == "" {
			t.Errorf("%v: %s", command, text)
		}
	}
}
