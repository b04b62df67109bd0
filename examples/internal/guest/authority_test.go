package guest

import (
	"net/netip"
	"strings"
	"testing"
)

func TestParseAuthority(t *testing.T) {
	for _, test := range []struct {
		in       string
		fallback uint16
		host     string // empty when it is refused
		port     uint16
		address  bool
	}{
		{"example.com:443", 0, "example.com", 443, false},
		{"example.com", 80, "example.com", 80, false},
		{"example.com:", 80, "example.com", 80, false},
		{"example.com.:8080", 80, "example.com.", 8080, false},
		{"EXAMPLE.com:0080", 80, "EXAMPLE.com", 80, false},
		{"xn--bcher-kva.example:443", 0, "xn--bcher-kva.example", 443, false},
		{"_dmarc.a-b.example", 80, "_dmarc.a-b.example", 80, false},
		{"1e100.net", 80, "1e100.net", 80, false},
		{"1.2.3.4x", 80, "1.2.3.4x", 80, false},
		{"192.0.2.1:65535", 0, "192.0.2.1", 65535, true},
		{"[2001:db8::1]:443", 0, "2001:db8::1", 443, true},
		{"[::ffff:127.0.0.1]", 80, "::ffff:127.0.0.1", 80, true},

		{"", 80, "", 0, false},
		{":80", 80, "", 0, false},
		{".", 80, "", 0, false},
		{"a..b", 80, "", 0, false},
		{".a", 80, "", 0, false},
		{"example.com", 0, "", 0, false},
		{"example.com:", 0, "", 0, false},
		{"example.com:0", 80, "", 0, false},
		{"example.com:65536", 80, "", 0, false},
		{"example.com:+80", 80, "", 0, false},
		{"example.com:-1", 80, "", 0, false},
		{"example.com:80:80", 80, "", 0, false},
		{"example.com:http", 80, "", 0, false},
		{"user@example.com:80", 0, "", 0, false},
		{"example.com:80/path", 0, "", 0, false},
		{"example.com/path:80", 0, "", 0, false},
		{"exa mple.com:80", 0, "", 0, false},
		{"exam\x00ple.com:80", 0, "", 0, false},
		{"bücher.example:80", 0, "", 0, false},
		{"a,b:80", 0, "", 0, false},
		{"::1", 80, "", 0, false},
		{"2001:db8::1", 80, "", 0, false},
		{"[::1", 80, "", 0, false},
		{"[]:80", 80, "", 0, false},
		{"[::1]80", 80, "", 0, false},
		{"[::1]x:80", 80, "", 0, false},
		{"[fe80::1%eth0]:80", 80, "", 0, false},
		{"[127.0.0.1]:80", 80, "", 0, false},
		{"[example.com]:80", 80, "", 0, false},
		{"2130706433", 80, "", 0, false},
		{"0x7f000001", 80, "", 0, false},
		{"0X7F.1", 80, "", 0, false},
		{"0x", 80, "", 0, false},
		{"017700000001", 80, "", 0, false},
		{"0177.0.0.1", 80, "", 0, false},
		{"127.1", 80, "", 0, false},
		{"127.0.0.1.", 80, "", 0, false},
		{"1.2.3.256", 80, "", 0, false},
		{"example.0x7f", 80, "", 0, false},
		{strings.Repeat("a", 64) + ".example", 80, "", 0, false},
		{strings.Repeat("a.", 127), 80, strings.Repeat("a.", 127), 80, false},
		{strings.Repeat("a.", 127) + "b", 80, "", 0, false},
	} {
		got, err := parseAuthority(test.in, test.fallback)
		if test.host == "" {
			if err == nil {
				t.Errorf("parseAuthority(%q, %d) = %v; it is to be refused", test.in, test.fallback, got)
			}
			continue
		}
		if err != nil || got.host != test.host || got.port != test.port || got.addr.IsValid() != test.address {
			t.Errorf("parseAuthority(%q, %d) = %+v, %v; want %s, %d, address %v",
				test.in, test.fallback, got, err, test.host, test.port, test.address)
		}
	}
}

// What is accepted means one host to every reader: written again it reads the
// same, and nothing but an address in its usual form is taken for one.
func FuzzParseAuthority(f *testing.F) {
	for _, seed := range []string{
		"example.com:443", "[::1]:80", "127.0.0.1", "0x7f.1:80", "a@b:1", "[fe80::1%25eth0]:80", "a.:", "١٢٧.0.0.1:80", "a:80:80",
	} {
		f.Add(seed, uint16(80))
		f.Add(seed, uint16(0))
	}
	f.Fuzz(func(t *testing.T, s string, fallback uint16) {
		a, err := parseAuthority(s, fallback)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\r\n") {
				t.Errorf("the error of %q has a line break", s)
			}
			return
		}
		again, err := parseAuthority(a.String(), 0)
		if err != nil || again != a {
			t.Errorf("%q is read as %+v, and that, written as %q, as %+v, %v", s, a, a, again, err)
		}
		if strings.ContainsAny(a.host, "@/\\?#%[] \t\r\n\x00") || a.port == 0 {
			t.Errorf("%q is read as %+v", s, a)
		}
		if addr, err := netip.ParseAddr(a.host); (err == nil) != a.addr.IsValid() || addr != a.addr {
			t.Errorf("%q has the host %q and the address %v", s, a.host, a.addr)
		}
	})
}
