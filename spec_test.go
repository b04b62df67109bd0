package provider_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

// password is what no output may show.
const password = "correct-horse-battery"

// valid returns a spec with every field set.
func valid() provider.Spec {
	return provider.Spec{
		Name:        "web-1",
		Image:       "squid",
		Location:    "host-a",
		Size:        provider.Size{MilliCPU: 500, MemoryBytes: 512 << 20, DiskBytes: 4 << 30},
		Port:        3128,
		Credentials: provider.Credentials{Username: "crawler", Password: password},
		AllowFrom:   []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")},
		Preemptible: true,
		Labels:      map[string]string{"team": "search", "example.org/tier": ""},
		Revision:    "2026-11",
	}
}

func TestValidateAccepts(t *testing.T) {
	tests := map[string]func(*provider.Spec){
		"every field":             func(*provider.Spec) {},
		"least with credentials":  func(s *provider.Spec) { *s = provider.Spec{Name: "a", Credentials: s.Credentials} },
		"least with networks":     func(s *provider.Spec) { *s = provider.Spec{Name: "a", AllowFrom: s.AllowFrom} },
		"longest name":            func(s *provider.Spec) { s.Name = strings.Repeat("a", 63) },
		"name of digits":          func(s *provider.Spec) { s.Name = "0" },
		"password at the limit":   func(s *provider.Spec) { s.Credentials.Password = provider.Secret(strings.Repeat("~", 72)) },
		"anywhere, with password": func(s *provider.Spec) { s.AllowFrom = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")} },
		"unique local IPv6, open": func(s *provider.Spec) {
			s.Credentials = provider.Credentials{}
			s.AllowFrom = []netip.Prefix{netip.MustParsePrefix("fc00::/7"), netip.MustParsePrefix("fd00::/8"), netip.MustParsePrefix("8.0.0.0/8")}
		},
		"upper-case label key": func(s *provider.Spec) { s.Labels = map[string]string{"Team_A.b/C-d": "ä"} },
	}
	for name, change := range tests {
		t.Run(name, func(t *testing.T) {
			s := valid()
			change(&s)
			if err := s.Validate(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestValidateRefuses(t *testing.T) {
	networks := func(texts ...string) (ps []netip.Prefix) {
		for _, text := range texts {
			ps = append(ps, netip.MustParsePrefix(text))
		}
		return ps
	}
	many := map[string]string{}
	for i := range provider.MaxLabels + 1 {
		many[fmt.Sprint("k", i)] = ""
	}
	tests := []struct {
		field  string
		change func(*provider.Spec)
	}{
		{"Name", func(s *provider.Spec) { s.Name = "" }},
		{"Name", func(s *provider.Spec) { s.Name = strings.Repeat("a", 64) }},
		{"Name", func(s *provider.Spec) { s.Name = "Web" }},
		{"Name", func(s *provider.Spec) { s.Name = "-web" }},
		{"Name", func(s *provider.Spec) { s.Name = "web-" }},
		{"Name", func(s *provider.Spec) { s.Name = "we.b" }},
		{"Name", func(s *provider.Spec) { s.Name = "wéb" }},
		{"Name", func(s *provider.Spec) { s.Name = "web\n" }},
		{"Image", func(s *provider.Spec) { s.Image = strings.Repeat("i", 1025) }},
		{"Image", func(s *provider.Spec) { s.Image = "a\nb" }},
		{"Image", func(s *provider.Spec) { s.Image = "a\xff" }},
		{"Location", func(s *provider.Spec) { s.Location = "a\x00" }},
		{"Location", func(s *provider.Spec) { s.Location = "a\u2028b" }},
		{"Size.MilliCPU", func(s *provider.Spec) { s.Size.MilliCPU = -1 }},
		{"Size.MilliCPU", func(s *provider.Spec) { s.Size.MilliCPU = provider.MaxMilliCPU + 1 }},
		{"Size.MemoryBytes", func(s *provider.Spec) { s.Size.MemoryBytes = 512 }},
		{"Size.MemoryBytes", func(s *provider.Spec) { s.Size.MemoryBytes = -1 }},
		{"Size.DiskBytes", func(s *provider.Spec) { s.Size.DiskBytes = provider.MaxBytes + 1 }},
		{"Credentials.Username", func(s *provider.Spec) { s.Credentials.Username = "" }},
		{"Credentials.Username", func(s *provider.Spec) { s.Credentials.Username = "a:b" }},
		{"Credentials.Username", func(s *provider.Spec) { s.Credentials.Username = "a b" }},
		{"Credentials.Username", func(s *provider.Spec) { s.Credentials.Username = strings.Repeat("u", 65) }},
		{"Credentials.Password", func(s *provider.Spec) { s.Credentials.Password = "" }},
		{"Credentials.Password", func(s *provider.Spec) { s.Credentials.Password += "\n" }},
		{"Credentials.Password", func(s *provider.Spec) { s.Credentials.Password += "ä" }},
		{"Credentials.Password", func(s *provider.Spec) { s.Credentials.Password = provider.Secret(strings.Repeat("p", 73)) }},
		{"AllowFrom", func(s *provider.Spec) { s.AllowFrom, s.Credentials = nil, provider.Credentials{} }},
		{"AllowFrom", func(s *provider.Spec) { s.AllowFrom = make([]netip.Prefix, provider.MaxAllowFrom+1) }},
		{"AllowFrom[1]", func(s *provider.Spec) { s.AllowFrom[1] = netip.Prefix{} }},
		{"AllowFrom[0]", func(s *provider.Spec) { s.AllowFrom = networks("10.1.2.3/8") }},
		{"AllowFrom[0]", func(s *provider.Spec) { s.AllowFrom = networks("::ffff:10.0.0.0/104") }},
		{"AllowFrom[1]", func(s *provider.Spec) {
			s.Credentials = provider.Credentials{}
			s.AllowFrom = networks("10.0.0.0/8", "0.0.0.0/0")
		}},
		{"AllowFrom[0]", func(s *provider.Spec) {
			s.Credentials = provider.Credentials{}
			s.AllowFrom = networks("128.0.0.0/1", "0.0.0.0/1")
		}},
		{"AllowFrom[0]", func(s *provider.Spec) {
			s.Credentials = provider.Credentials{}
			s.AllowFrom = networks("2000::/3")
		}},
		{"Labels", func(s *provider.Spec) { s.Labels = many }},
		{"Labels", func(s *provider.Spec) { s.Labels = map[string]string{"": ""} }},
		{"Labels", func(s *provider.Spec) { s.Labels = map[string]string{"-a": ""} }},
		{"Labels", func(s *provider.Spec) { s.Labels = map[string]string{"a b": ""} }},
		{"Labels", func(s *provider.Spec) { s.Labels = map[string]string{"\x10": ""} }},
		{"Labels", func(s *provider.Spec) { s.Labels = map[string]string{strings.Repeat("k", 64): ""} }},
		{`Labels["team"]`, func(s *provider.Spec) { s.Labels["team"] = "a\tb" }},
		{`Labels["team"]`, func(s *provider.Spec) { s.Labels["team"] = strings.Repeat("v", 257) }},
		{"Revision", func(s *provider.Spec) { s.Revision = strings.Repeat("r", 257) }},
	}
	for _, tt := range tests {
		s := valid()
		tt.change(&s)
		err := s.Validate()
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Invalid || e.Field != tt.field {
			t.Errorf("got %v, want Invalid of field %s", err, tt.field)
			continue
		}
		if strings.Contains(err.Error(), password) || strings.ContainsAny(err.Error(), "\n\x00") {
			t.Errorf("the text shows the password or breaks the line: %q", err)
		}
	}
}

func TestSecretShowsNothing(t *testing.T) {
	s := valid()
	var out bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%d", "%10.3s"} {
		fmt.Fprintf(&out, verb+"\n", s.Credentials.Password)
		fmt.Fprintf(&out, verb+"\n", s)
		fmt.Fprintf(&out, verb+"\n", &s.Credentials)
	}
	for _, h := range []slog.Handler{slog.NewTextHandler(&out, nil), slog.NewJSONHandler(&out, nil)} {
		slog.New(h).Info("m", "secret", s.Credentials.Password, "spec", s, "credentials", s.Credentials)
	}
	if err := json.NewEncoder(&out).Encode(s); err != nil {
		t.Fatal(err)
	}
	for _, leak := range []string{password, fmt.Sprintf("%x", password), "correct"} {
		if strings.Contains(out.String(), leak) {
			t.Errorf("%q appears in\n%s", leak, out.String())
		}
	}
	if n := strings.Count(out.String(), provider.Redacted); n < 20 {
		t.Errorf("redacted %d times; the test does not print what it should", n)
	}
	if got := fmt.Sprint(provider.Secret("")); got != "" {
		t.Errorf("an empty secret prints %q", got)
	}
}
