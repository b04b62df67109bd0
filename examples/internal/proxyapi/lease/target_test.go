package lease

import (
	"errors"
	"strings"
	"testing"
)

func TestNormalizeTarget(t *testing.T) {
	for _, tt := range []struct{ target, want string }{
		{"", ""},
		{"example.com", "example.com"},
		{"EXAMPLE.Com.", "example.com"},
		{"example.com:8443", "example.com"},
		{"example.com/path?q=1#f", "example.com"},
		{"example.com:80/http://other.example/", "example.com"},
		{"example.com?next=https://other.example", "example.com"},
		{"https://Example.com:443/path", "example.com"},
		{"https://user:secret@example.com/", "example.com"},
		{"HTTPS://EXAMPLE.COM", "example.com"},
		{"//example.com/x", "example.com"},
		{"bücher.example", "xn--bcher-kva.example"},
		{"BÜCHER.example:80", "xn--bcher-kva.example"},
		{"xn--bcher-kva.example", "xn--bcher-kva.example"},
		{"例え。テスト", "xn--r8jz45g.xn--zckzah"},
		{"my_host.example", "my_host.example"},
		{"localhost", "localhost"},
		{"192.0.2.1", "192.0.2.1"},
		{"192.0.2.1:80", "192.0.2.1"},
		{"http://[2001:DB8:0::1]:8080/", "2001:db8::1"},
		{"[2001:db8::1]:80", "2001:db8::1"},
		{"[2001:db8::1]", "2001:db8::1"},
		{"2001:db8::1", "2001:db8::1"},
		{"::ffff:192.0.2.1", "192.0.2.1"},
		{"fe80::1%eth0", "fe80::1"},
	} {
		got, err := NormalizeTarget(tt.target)
		if err != nil || got != tt.want {
			t.Errorf("NormalizeTarget(%q) = %q, %v; want %q", tt.target, got, err, tt.want)
		}
	}
}

func TestNormalizeTargetRefuses(t *testing.T) {
	for _, target := range []string{
		"exa mple.com", "http://", "https:///path", ":80", ".", "..", "a..b", ".example.com", "example.com:port",
		"http://exa%20mple.com/", "[::1", "exam\x00ple.com", "example.com\n", "ex*mple.com", "a@", "\xff.example", "\ufffd.example", "%ff00",
		strings.Repeat("a", 64) + ".example", strings.Repeat("a.", 127) + "aa", strings.Repeat("a", MaxTarget+1),
		"https://user:hunter2@/",
	} {
		got, err := NormalizeTarget(target)
		refused, ok := errors.AsType[*FieldError](err)
		if !ok || refused.Field != "target" || got != "" {
			t.Errorf("NormalizeTarget(%.40q) = %q, %v; want it refused", target, got, err)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("the error shows the URL's password: %v", err)
		}
	}
}

func FuzzNormalizeTarget(f *testing.F) {
	for _, seed := range []string{"", "example.com:80", "https://u:p@BÜCHER.example/x", "[::1]:80", "xn--a", "１２７.0.0.1", "a.b.", "ß.de", "faß.example."} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, target string) {
		host, err := NormalizeTarget(target)
		if err != nil {
			if host != "" {
				t.Fatalf("NormalizeTarget(%q) = %q beside an error", target, host)
			}
			return
		}
		again, err := NormalizeTarget(host)
		if err != nil || again != host {
			t.Fatalf("NormalizeTarget(%q) = %q, and of that %q, %v; want one form", target, host, again, err)
		}
		if len(host) > maxHost || strings.ContainsAny(host, " /?#@[]%\x00") || host != strings.ToLower(host) {
			t.Fatalf("NormalizeTarget(%q) = %q, which is no bare host", target, host)
		}
	})
}
