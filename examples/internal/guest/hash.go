package guest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/crawlfleet/provider"
	"github.com/go-crypt/crypt/algorithm/shacrypt"
	"golang.org/x/crypto/bcrypt"
)

// Bounds of what one check of a password may cost, so that a document cannot
// turn every wrong password into minutes of work.
const (
	// HashCost is the cost of the hashes that [HashPassword] makes, about a
	// twentieth of a second. It is x/crypto's default and not more, because
	// passwords here are random and the machines small. The form, $2a$, is read by
	// crypt(3) of Debian too, and so by squid's basic_ncsa_auth.
	HashCost = bcrypt.DefaultCost
	// maxHashCost of bcrypt is under two seconds.
	maxHashCost = 14
	// maxRounds of SHA-512 crypt is about as much.
	maxRounds = 1_000_000
	// defaultRounds is what crypt(3) takes where a hash does not say.
	defaultRounds = shacrypt.IterationsDefaultOmitted
	// sha512Len is the length of the digest of SHA-512 crypt in its base64.
	sha512Len = 86
)

// HashPassword returns a salted bcrypt hash for [provider.GuestUser]. Its error
// is Invalid for a password that is empty or longer than
// [provider.MaxPassword], and never shows it.
func HashPassword(password provider.Secret) (string, error) {
	if password == "" || len(password) > provider.MaxPassword {
		return "", &provider.Error{Kind: provider.Invalid, Field: "Credentials.Password",
			Err: fmt.Errorf("is not 1 to %d bytes long", provider.MaxPassword)}
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), HashCost)
	if err != nil {
		return "", fmt.Errorf("hashing a password: %w", err)
	}
	return string(hash), nil
}

// verifier reports whether a password is the one that was hashed. It takes the
// same time for every wrong password of the same length.
type verifier func(password []byte) bool

// parseHash returns the check of a hash in the form of crypt(3), or what is
// wrong with it, without a part of it.
func parseHash(hash string) (verifier, error) {
	if strings.HasPrefix(hash, "$6$") {
		return parseSHA512(hash)
	}
	cost, err := bcrypt.Cost([]byte(hash))
	switch {
	case err != nil:
		return nil, errors.New("is not a complete bcrypt hash")
	case cost > maxHashCost:
		return nil, fmt.Errorf("has a cost of %d; at most %d is allowed", cost, maxHashCost)
	}
	return func(password []byte) bool {
		return bcrypt.CompareHashAndPassword([]byte(hash), password) == nil
	}, nil
}

// parseSHA512 reads $6$[rounds=N$]salt$digest. crypt(3) takes rounds out of
// bounds and long salts too, and corrects them in what it returns, so that a
// hash that has them was not made by it.
func parseSHA512(hash string) (verifier, error) {
	parts := strings.Split(hash, "$")[2:] // behind "$6$"
	rounds := defaultRounds
	if n, ok := strings.CutPrefix(parts[0], "rounds="); ok {
		var err error
		if rounds, err = strconv.Atoi(n); err != nil || rounds < shacrypt.IterationsMin || rounds > maxRounds {
			return nil, fmt.Errorf("has rounds outside %d to %d", shacrypt.IterationsMin, maxRounds)
		}
		parts = parts[1:]
	}
	if len(parts) != 2 || len(parts[0]) > shacrypt.SaltLengthMax || len(parts[1]) != sha512Len {
		return nil, errors.New("is not a complete SHA-512 hash")
	}
	digest, err := shacrypt.DecodeVariant(shacrypt.VariantSHA512)(hash)
	if err != nil {
		return nil, errors.New("is not a SHA-512 hash") // the cause may quote it
	}
	return digest.MatchBytes, nil
}
