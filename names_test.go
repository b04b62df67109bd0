package provider_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

var label = regexp.MustCompile(`^[a-z]([-a-z0-9]*[a-z0-9])?$`)

// TestBackendNameGolden pins the derivation: the names are stored on backends,
// and a change would orphan every instance there is.
func TestBackendNameGolden(t *testing.T) {
	tests := []struct {
		owner, name string
		limit       int
		want        string
	}{
		{"fleet-1", "web-1", 63, "p1-web-1-dqd4y77sfckxw37jq6km"},
		{"fleet-2", "web-1", 63, "p1-web-1-qdjmg6i2uc2sbf67v53w"},
		{"fleet-1", strings.Repeat("a", 63), 63, "p1-aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa-3f7h2gpcdxwgjdt2ytf6"},
		{"fleet-1", "a-------------------b", 30, "p1-a-hcrpgfpepvgvgexpyir5"},
		{"fleet-1", "web-1", 25, "p1-w-dqd4y77sfckxw37jq6km"},
		{"", "", 63, "p1-xj3iwmy73bwozab34bhf"},
		{"Ünïcode owner\n", "web-1", 40, "p1-web-1-54lvzfhgzv63opxegwju"},
	}
	for _, tt := range tests {
		got := provider.BackendName(tt.owner, tt.name, tt.limit)
		if got != tt.want {
			t.Errorf("BackendName(%q, %q, %d) = %q, want %q", tt.owner, tt.name, tt.limit, got, tt.want)
		}
	}
}

func TestBackendNameForm(t *testing.T) {
	for _, limit := range []int{provider.MinBackendName, 30, 40, 62, 63, 253} {
		for _, name := range []string{"a", "a-b", strings.Repeat("x", 63), "a" + strings.Repeat("-", 61) + "b", "---", "ÄÖ", "A.b"} {
			got := provider.BackendName("owner", name, limit)
			if len(got) > min(limit, 63) || !label.MatchString(got) {
				t.Errorf("BackendName(owner, %q, %d) = %q", name, limit, got)
			}
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("a limit that is too small did not panic")
		}
	}()
	provider.BackendName("owner", "name", provider.MinBackendName-1)
}

// TestBackendNameMillion makes a million names, of owners and names that are
// alike, and of pairs whose concatenation is the same.
func TestBackendNameMillion(t *testing.T) {
	seen := make(map[string]struct{}, 1_000_000)
	for owner := range 1000 {
		for name := range 1000 {
			seen[provider.BackendName(fmt.Sprint("o", owner), fmt.Sprint("web-", name), provider.MinBackendName)] = struct{}{}
		}
	}
	if len(seen) != 1_000_000 {
		t.Errorf("%d distinct names of 1000000", len(seen))
	}
	if provider.BackendName("a", "bc", 63) == provider.BackendName("ab", "c", 63) {
		t.Error("owner and name run into each other")
	}
}

func TestNewToken(t *testing.T) {
	uuid4 := regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)
	a, b := provider.NewToken(), provider.NewToken()
	if !uuid4.MatchString(a) || !uuid4.MatchString(b) || a == b {
		t.Errorf("got %q and %q", a, b)
	}
}

func TestIDRoundTrip(t *testing.T) {
	for _, place := range []string{"", "host-a", "europe-west1-b", "a/b c", "Ä%2F"} {
		token := provider.NewToken()
		id := provider.FormatID(place, token)
		gotPlace, gotToken, err := provider.ParseID(id)
		if err != nil || gotPlace != place || gotToken != token {
			t.Errorf("ParseID(%q) = %q, %q, %v", id, gotPlace, gotToken, err)
		}
		if err := (provider.Ref{Name: "web-1", ID: id}).Validate(); err != nil {
			t.Errorf("the ID of place %q is not valid: %v", place, err)
		}
	}
}

func TestParseIDRefuses(t *testing.T) {
	for _, id := range []string{
		"", "x", "2/host/token", "1/host", "1/host/", "1/host/token/more", "1/%zz/token", "1/host/%",
		"1/host/to ken", "1/host/tok\x00en", "1/host/" + strings.Repeat("t", provider.MaxID),
	} {
		_, _, err := provider.ParseID(id)
		e, ok := errors.AsType[*provider.Error](err)
		if !ok || e.Kind != provider.Invalid || e.Field != "ID" {
			t.Errorf("ParseID(%.40q): got %v, want Invalid of field ID", id, err)
		}
	}
}

func TestRefValidate(t *testing.T) {
	if err := (provider.Ref{Name: "web-1"}).Validate(); err != nil {
		t.Error(err)
	}
	for _, ref := range []provider.Ref{{}, {ID: "1/a/b"}, {Name: "UP"}, {Name: "web-1", ID: "a\nb"}} {
		if err := ref.Validate(); provider.KindOf(err) != provider.Invalid {
			t.Errorf("%q: got %v", ref, err)
		}
	}
}

// TestHashGolden compares with what every release has written so far. Lines of
// testdata/hashes.txt are added and never changed.
func TestHashGolden(t *testing.T) {
	specs := map[string]provider.Spec{
		"empty":   {},
		"name":    {Name: "web-1"},
		"full":    valid(),
		"labels":  {Name: "web-1", Labels: map[string]string{"a": "", "b": "=\n"}},
		"network": {Name: "web-1", AllowFrom: valid().AllowFrom[:1]},
	}
	f, err := os.Open("testdata/hashes.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	pinned := 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		name, want, ok := strings.Cut(lines.Text(), " ")
		if !ok || strings.HasPrefix(name, "#") {
			continue
		}
		pinned++
		s, ok := specs[name]
		if !ok {
			t.Errorf("no spec is called %q", name)
			continue
		}
		if !s.MatchesHash(want) {
			t.Errorf("%s: %s does not match any more", name, want)
		}
		if version, _, _ := strings.Cut(s.Hash(), ":"); strings.HasPrefix(want, version+":") && s.Hash() != want {
			t.Errorf("%s: Hash is %s, was %s", name, s.Hash(), want)
		}
	}
	if pinned < len(specs) {
		t.Errorf("%d hashes are pinned, want one for each of %d specs", pinned, len(specs))
	}
}

func TestHashCountsEveryField(t *testing.T) {
	changes := map[string]func(*provider.Spec){
		"Name":             func(s *provider.Spec) { s.Name = "x" },
		"Image":            func(s *provider.Spec) { s.Image = "x" },
		"Location":         func(s *provider.Spec) { s.Location = "x" },
		"Size.MilliCPU":    func(s *provider.Spec) { s.Size.MilliCPU++ },
		"Size.MemoryBytes": func(s *provider.Spec) { s.Size.MemoryBytes++ },
		"Size.DiskBytes":   func(s *provider.Spec) { s.Size.DiskBytes++ },
		"Port":             func(s *provider.Spec) { s.Port++ },
		"AllowFrom":        func(s *provider.Spec) { s.AllowFrom = s.AllowFrom[:1] },
		"Preemptible":      func(s *provider.Spec) { s.Preemptible = false },
		"Labels":           func(s *provider.Spec) { delete(s.Labels, "example.org/tier") },
		"Revision":         func(s *provider.Spec) { s.Revision = "" },
	}
	seen := map[string]string{valid().Hash(): "none"}
	for name, change := range changes {
		s := valid()
		change(&s)
		if other, twice := seen[s.Hash()]; twice {
			t.Errorf("changing %s gives the hash of changing %s", name, other)
		}
		seen[s.Hash()] = name
		if s.MatchesHash(valid().Hash()) {
			t.Errorf("changing %s still matches", name)
		}
	}
}

func TestHashIgnores(t *testing.T) {
	s := valid()
	s.Credentials = provider.Credentials{Username: "other", Password: "other"}
	s.AllowFrom[0], s.AllowFrom[1] = s.AllowFrom[1], s.AllowFrom[0]
	s.AllowFrom = append(s.AllowFrom, s.AllowFrom[0])
	if s.Hash() != valid().Hash() {
		t.Error("credentials, the order of AllowFrom, or a network given twice count")
	}
}

func TestMatchesHashWithoutEvidence(t *testing.T) {
	for _, hash := range []string{"", "99:abc", "garbage"} {
		if !valid().MatchesHash(hash) {
			t.Errorf("%q accuses an instance", hash)
		}
	}
	if valid().MatchesHash("1:") {
		t.Error("an empty digest of a known algorithm matches")
	}
}
