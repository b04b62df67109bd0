package proxyapi

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

func TestHashToken(t *testing.T) {
	hash, err := HashToken("0123456789abcdefghijkl")
	if err != nil {
		t.Fatal(err)
	}
	// printf %s 0123456789abcdefghijkl | sha256sum
	const want = "sha256:26594ba2c73ebc172047f2305663bc2c5e6ff60a88182eef43e353f48fc95b94"
	text, err := hash.MarshalText()
	if err != nil || string(text) != want {
		t.Errorf("the hash is %s, %v; want %s", text, err, want)
	}
	var again TokenHash
	if err := again.UnmarshalText(text); err != nil || again != hash {
		t.Errorf("the text reads as %x, %v", again, err)
	}
	for _, token := range []provider.Secret{"", "short", "0123456789abcdefghijk", "0123456789abcdef ghijklmn", "0123456789abcdefghijk\xff", "0123456789abcdefghijklé"} {
		_, err := HashToken(token)
		if err == nil {
			t.Errorf("the token %q is taken", string(token))
		} else if token != "" && strings.Contains(err.Error(), string(token)) {
			t.Errorf("the error shows the token: %v", err)
		}
	}
}

func TestTokenHashText(t *testing.T) {
	digits := strings.Repeat("0f", 32)
	for _, text := range []string{"", digits, "sha256:", "sha256:" + digits[2:], "sha256:" + digits + "00", "sha512:" + digits, "sha256:" + strings.Repeat("zz", 32)} {
		var h TokenHash
		if err := h.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is taken for a hash", text)
		} else if h != (TokenHash{}) {
			t.Errorf("%q was refused and left %x", text, h)
		}
	}
	var doc struct{ Hash TokenHash }
	if err := json.Unmarshal([]byte(`{"Hash": "sha256:`+strings.ToUpper(digits)+`"}`), &doc); err != nil || doc.Hash[0] != 0x0f {
		t.Errorf("in capitals and in JSON: %x, %v", doc.Hash, err)
	}
}

func TestNewToken(t *testing.T) {
	seen := make(map[provider.Secret]bool)
	for range 100 {
		token := NewToken()
		if _, err := HashToken(token); err != nil || len(token) != 64 || seen[token] {
			t.Fatalf("NewToken: %d bytes, seen before: %v, %v", len(token), seen[token], err)
		}
		seen[token] = true
	}
}

func TestSetTokens(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	a.call("GET", "/v1/proxies", crawlerToken, "")
	good := token(t, "crawler", "another-token-0123456789abcdef")
	for _, tt := range []struct {
		name   string
		tokens []Token
		want   string
	}{
		{"no name", []Token{good, {Hash: TokenHash{1}}}, "tokens[1].name"},
		{"no hash", []Token{{Name: "empty"}}, `"empty" has no hash`},
		{"one token twice", []Token{good, {Name: "again", Hash: good.Hash}}, `"crawler" and "again"`},
		{"unknown scope", []Token{{Name: "root", Hash: TokenHash{1}, Scope: "root"}}, `scope "root"`},
	} {
		if err := a.server.SetTokens(tt.tokens); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v; want one with %s", tt.name, err, tt.want)
		}
		if got := a.call("GET", "/v1/proxies", crawlerToken, ""); got.StatusCode != 200 {
			t.Errorf("%s: the tokens before are not in force: %d", tt.name, got.StatusCode)
		}
	}

	// A token replaced under its name keeps the leases of that name.
	list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, ""), 201)
	tokens := []Token{good}
	if err := a.server.SetTokens(tokens); err != nil {
		t.Fatal(err)
	}
	tokens[0].Hash = TokenHash{} // the Server has its own
	a.wantProblem(a.call("GET", "/v1/proxies", crawlerToken, ""), 401, CodeUnauthenticated, "")
	wantJSON[Lease](a, a.call("GET", "/v1/leases/"+list.Leases[0].ID, "another-token-0123456789abcdef", ""), 200)

	if err := a.server.SetTokens(nil); err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"another-token-0123456789abcdef", ""} {
		a.wantProblem(a.call("GET", "/v1/proxies", secret, ""), 401, CodeUnauthenticated, "")
	}
}

// Each token is found among many, wherever it stands, while they change.
func TestManyTokens(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	var tokens []Token
	secret := func(i int) string { return fmt.Sprintf("token-%03d-0123456789abcdef", i) }
	for i := range 100 {
		tokens = append(tokens, token(t, fmt.Sprint("holder-", i), secret(i)))
	}
	if err := a.server.SetTokens(tokens); err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for range 20 {
			if err := a.server.SetTokens(tokens); err != nil {
				t.Errorf("SetTokens: %v", err)
			}
		}
	})
	for _, i := range []int{0, 1, 50, 98, 99} {
		list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", secret(i), ""), 201)
		if got := list.Leases[0].Holder; got != fmt.Sprint("holder-", i) {
			t.Errorf("token %d is the holder %s", i, got)
		}
	}
	wg.Wait()
}
