package provider

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// MinBackendName is the least that the limit of [BackendName] may be: prefix,
// digest, and one character of the name.
const MinBackendName = len(backendPrefix) + 2 + digestLen

const (
	// backendPrefix is the version of the derivation, and makes the name begin
	// with a letter, which GCE asks for.
	backendPrefix = "p1-"
	// digestLen is in characters of five bits. A hundred bits make a clash
	// among a million names less likely than one in 10^18.
	digestLen = 20
)

var lowerBase32 = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)

// BackendName derives the name that a backend knows an instance by, from its
// owner and its name: a DNS label of at most limit bytes that begins with a
// letter, with the name in front for the eye and a digest of both behind it.
// Equal arguments give equal names for ever, because backends store them; a
// new derivation gets a new prefix.
//
// The limit is a constant of the backend. BackendName panics when it is under
// [MinBackendName], which no test of a provider can miss.
func BackendName(owner, name string, limit int) string {
	if limit < MinBackendName {
		panic(fmt.Sprintf("provider.BackendName: limit %d is under %d", limit, MinBackendName))
	}
	limit = min(limit, MaxName)
	// The length in front keeps owner and name apart, whatever is in them.
	sum := sha256.Sum256(fmt.Appendf(nil, "%d:%s%s", len(owner), owner, name))
	digest := lowerBase32.EncodeToString(sum[:])[:digestLen]
	shown := strings.Map(func(r rune) rune {
		if r < 0x80 && alnum(byte(r)) {
			return r
		}
		return '-'
	}, name)
	shown = strings.Trim(shown[:min(len(shown), limit-MinBackendName+1)], "-")
	if shown == "" {
		return backendPrefix + digest
	}
	return backendPrefix + shown + "-" + digest
}

// NewToken returns a random token for a claim, in the form of a version 4
// UUID, which libvirt and GCE ask for.
func NewToken() string {
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails, as crypto/rand says
	b[6] = b[6]&0x0f | 0x40
	b[8] = b[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
}

// MaxID is the most bytes that a [Ref.ID] may have.
const MaxID = 512

// idVersion is the form that [FormatID] writes.
const idVersion = "1"

// FormatID returns a [Ref.ID] of a place and the token of a claim. Providers
// are free to use another form; this one serves most.
func FormatID(place, token string) string {
	return idVersion + "/" + url.PathEscape(place) + "/" + url.PathEscape(token)
}

// ParseID takes apart what [FormatID] made. Anything else is an [*Error] of
// Kind Invalid with Field "ID".
func ParseID(id string) (place, token string, err error) {
	if err := validateID(id); err != nil {
		return "", "", err
	}
	parts := strings.Split(id, "/")
	if len(parts) != 3 || parts[0] != idVersion {
		return "", "", invalid("ID", "%q has not the form %s/place/token; it is another provider's", id, idVersion)
	}
	place, placeErr := url.PathUnescape(parts[1])
	token, tokenErr := url.PathUnescape(parts[2])
	if err := errors.Join(placeErr, tokenErr); err != nil || token == "" {
		return "", "", invalid("ID", "%q cannot be read; it is another provider's", id)
	}
	return place, token, nil
}

// Validate checks what holds for a ref on every provider: a name as in
// [ValidateName], and an ID that is printable ASCII of at most [MaxID] bytes.
func (r Ref) Validate() error {
	if err := ValidateName(r.Name); err != nil {
		return err
	}
	if r.ID == "" {
		return nil
	}
	return validateID(r.ID)
}

func validateID(id string) error {
	switch {
	case len(id) > MaxID:
		return invalid("ID", "has %d bytes; at most %d are allowed", len(id), MaxID)
	case !graphic(id):
		return invalid("ID", "has a character other than printable ASCII without space")
	}
	return nil
}
