package proxyapi

import (
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/crawlfleet/provider"
)

// Scope widens what a token may do.
type Scope string

// The scopes.
const (
	// ScopeClient takes leases, and reads and releases its own.
	ScopeClient Scope = ""
	// ScopeAdmin reads and releases the leases of all tokens as well, on
	// whatever fleet they are.
	ScopeAdmin Scope = "admin"
)

// Token is somebody who may call the API.
type Token struct {
	// Name is the holder of its leases. Two tokens of one name are one holder,
	// so that a token can be replaced while both work.
	Name string
	// Hash is what is kept of the token itself.
	Hash TokenHash
	// Fleets are those that it may see and use. Empty means all.
	Fleets []string
	// Scope widens what it may do.
	Scope Scope
}

// TokenHash is the SHA-256 of a token. A fast hash will do, because tokens are
// random and long ([NewToken]): nobody guesses them, as passwords are guessed.
type TokenHash [sha256.Size]byte

// hashPrefix names the algorithm in the text of a TokenHash.
const hashPrefix = "sha256:"

// MinToken is the least bytes of a token that [HashToken] takes: 128 bits in
// base64.
const MinToken = 22

// NewToken returns a random token of 256 bits.
func NewToken() provider.Secret {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand says
	return provider.Secret(hex.EncodeToString(b[:]))
}

// HashToken returns what to keep of a token. It refuses one that is too short
// to be random, or that an Authorization header cannot carry (RFC 6750, 2.1).
func HashToken(token provider.Secret) (TokenHash, error) {
	switch {
	case len(token) < MinToken:
		return TokenHash{}, fmt.Errorf("the token has %d bytes; it needs at least %d, and should be random", len(token), MinToken)
	case strings.ContainsFunc(string(token), func(r rune) bool { return r <= ' ' || r > '~' }):
		return TokenHash{}, errors.New("the token has a character other than printable ASCII without space")
	}
	return sha256.Sum256([]byte(token)), nil
}

// MarshalText returns "sha256:" and 64 hexadecimal digits.
func (h TokenHash) MarshalText() ([]byte, error) {
	return []byte(hashPrefix + hex.EncodeToString(h[:])), nil
}

// UnmarshalText reads what MarshalText writes.
func (h *TokenHash) UnmarshalText(text []byte) error {
	digits, ok := strings.CutPrefix(string(text), hashPrefix)
	sum, err := hex.DecodeString(digits)
	if !ok || err != nil || len(sum) != len(h) {
		return fmt.Errorf("is not a token's hash; it is %q and %d hexadecimal digits, as sha256sum prints for the token without a line's end",
			hashPrefix, 2*len(h))
	}
	copy(h[:], sum)
	return nil
}

// SetTokens changes who may call the API, from the next request on. Leases of
// a name that is not among them stay until they expire. Its error names the
// token at fault, and leaves those before in force.
func (s *Server) SetTokens(tokens []Token) error {
	seen := make(map[TokenHash]string, len(tokens))
	for i, t := range tokens {
		other, twice := seen[t.Hash]
		switch {
		case t.Name == "":
			return fmt.Errorf("proxyapi: tokens[%d].name is empty; a lease's holder needs one", i)
		case t.Hash == TokenHash{}:
			return fmt.Errorf("proxyapi: token %q has no hash; make one with HashToken", t.Name)
		case twice:
			return fmt.Errorf("proxyapi: tokens %q and %q are the same; give each its own", other, t.Name)
		case t.Scope != ScopeClient && t.Scope != ScopeAdmin:
			return fmt.Errorf("proxyapi: token %q has the scope %q; it is empty or %q", t.Name, t.Scope, ScopeAdmin)
		}
		seen[t.Hash] = t.Name
	}
	tokens = slices.Clone(tokens)
	s.tokens.Store(&tokens)
	return nil
}

// authenticate returns the token of the request. It compares with all of them,
// in constant time each, so that the time tells nothing of which is near.
func (s *Server) authenticate(r *http.Request) (Token, bool) {
	scheme, secret, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return Token{}, false
	}
	sum := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	// No early end: a find at the front takes as long as one at the back.
	found, tokens := -1, *s.tokens.Load()
	for i := range tokens {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], tokens[i].Hash[:]), i, found)
	}
	if found < 0 {
		return Token{}, false
	}
	return tokens[found], true
}

// sees reports whether the token may see and use a fleet.
func (t Token) sees(fleet string) bool { return len(t.Fleets) == 0 || slices.Contains(t.Fleets, fleet) }

// holder is whose leases the token sees; empty is everybody's.
func (t Token) holder() string {
	if t.Scope == ScopeAdmin {
		return ""
	}
	return t.Name
}
