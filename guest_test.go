package provider_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

const hash = "$2a$10$N9qo8uLOickgx2ZMRZoMyeIjZAgcfl7p92ldGxad68LJZdL17lhWy"

func TestGuestRoundTrip(t *testing.T) {
	want := provider.NewGuest(valid(), 3128, hash, provider.Destinations{
		Allow: []provider.Destination{{Prefix: netip.MustParsePrefix("127.0.0.1/32"), Ports: []uint16{8899}}},
		Deny:  []netip.Prefix{netip.MustParsePrefix("192.0.2.1/32")},
	})
	document, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(document), password) {
		t.Error("the document has the password")
	}
	got, err := provider.ParseGuest(document)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(got)
	if err != nil || string(again) != string(document) {
		t.Errorf("got  %s\nwant %s (%v)", again, document, err)
	}
}

func TestNewGuestWithoutCredentials(t *testing.T) {
	s := valid()
	s.Credentials = provider.Credentials{}
	g := provider.NewGuest(s, 1, "", provider.Destinations{})
	if len(g.Users) != 0 || g.Validate() != nil {
		t.Errorf("got %+v, %v", g, g.Validate())
	}
}

func TestParseGuestRefuses(t *testing.T) {
	tests := []struct{ field, document string }{
		{"guest", ``},
		{"guest", `[]`},
		{"guest", `{"version":1,"port":1,"allowFrom":["10.0.0.0/8"],"typo":1}`},
		{"guest", `{"version":1,"port":1,"allowFrom":["10.0.0.0/8"]} {}`},
		{"guest", `{"version":1,"port":1,"allowFrom":["10.0.0.0/8"]} ]`},
		{"guest", `{"version":1,"port":70000,"allowFrom":["10.0.0.0/8"]}`},
		{"version", `{"port":1,"allowFrom":["10.0.0.0/8"]}`},
		{"version", `{"version":2,"port":1,"allowFrom":["10.0.0.0/8"]}`},
		{"port", `{"version":1,"allowFrom":["10.0.0.0/8"]}`},
		{"users", `{"version":1,"port":1}`},
		{"users[0].name", `{"version":1,"port":1,"users":[{"name":"a:b","passwordHash":"` + hash + `"}]}`},
		{"users[0].name", `{"version":1,"port":1,"users":[{"name":"","passwordHash":"` + hash + `"}]}`},
		{"users[0].passwordHash", `{"version":1,"port":1,"users":[{"name":"a","passwordHash":"plain"}]}`},
		{"users[0].passwordHash", `{"version":1,"port":1,"users":[{"name":"a","passwordHash":"$6$a\nb"}]}`},
		{"users[1].name", `{"version":1,"port":1,"users":[{"name":"a","passwordHash":"` + hash + `"},{"name":"a","passwordHash":"` + hash + `"}]}`},
		{"allowFrom[0]", `{"version":1,"port":1,"allowFrom":["10.0.0.1/8"]}`},
		{"destinations.allow[0].prefix", `{"version":1,"port":1,"allowFrom":["10.0.0.0/8"],"destinations":{"allow":[{}]}}`},
		{"destinations.deny[0]", `{"version":1,"port":1,"allowFrom":["10.0.0.0/8"],"destinations":{"deny":["10.0.0.1/8"]}}`},
	}
	for _, tt := range tests {
		_, err := provider.ParseGuest([]byte(tt.document))
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Invalid || e.Field != tt.field {
			t.Errorf("%s: got %v, want Invalid of field %s", tt.document, err, tt.field)
		} else if strings.Contains(err.Error(), hash) {
			t.Errorf("the text shows the hash: %v", err)
		}
	}
}

func FuzzParseGuest(f *testing.F) {
	f.Add([]byte(`{"version":1,"port":3128,"users":[{"name":"a","passwordHash":"` + hash + `"}]}`))
	f.Add([]byte(`{"version":1,"port":1,"allowFrom":["::/0"],"destinations":{"allow":[{"prefix":"::1/128","ports":[1]}]}}`))
	f.Fuzz(func(t *testing.T, document []byte) {
		g, err := provider.ParseGuest(document)
		if err != nil {
			return
		}
		// What was accepted is never an open proxy and survives a round trip.
		if len(g.Users) == 0 && len(g.AllowFrom) == 0 {
			t.Error("an open proxy was accepted")
		}
		again, err := json.Marshal(g)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := provider.ParseGuest(again); err != nil {
			t.Errorf("%s: %v", again, err)
		}
	})
}
