package guest

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
)

// maxWrong is how many wrong passwords are remembered, at 32 bytes each. It
// spares the hash to a client that repeats an old password all day.
const maxWrong = 4096

// hashWait bounds how long a request waits for its password to be checked.
const hashWait = 10 * time.Second

// errWrong tells credentials that are wrong from those that are missing.
var errWrong = errors.New("the name or the password does not match")

// digest stands for a name and a password, under a key that no other process
// has. It is kept in place of the password.
type digest [sha256.Size]byte

// user is one of the document's.
type user struct {
	verify verifier
	// right is the digest of the right password, zero until it was seen.
	right digest
}

// authenticator checks credentials. All methods are safe for concurrent use.
type authenticator struct {
	key   []byte
	users map[string]*user
	// decoy is hashed against for names that are not known, so that they take
	// as long as a wrong password.
	decoy verifier
	// slots bounds the hashes at work, so that wrong passwords cannot take all
	// processors.
	slots chan struct{}

	mu sync.Mutex
	// wrong are digests that were refused, and order the same as a ring.
	wrong map[digest]struct{}
	order []digest
	next  int
}

// newAuthenticator reads the hashes of the users. Its error is Invalid and names
// the user by number.
func newAuthenticator(users []provider.GuestUser, limits Limits) (*authenticator, error) {
	a := &authenticator{
		key:   make([]byte, sha256.Size),
		users: make(map[string]*user, len(users)),
		slots: make(chan struct{}, limits.Hashes),
		wrong: make(map[digest]struct{}),
	}
	_, _ = rand.Read(a.key) // never fails, as crypto/rand says
	for i, u := range users {
		verify, err := parseHash(u.PasswordHash)
		if err != nil {
			return nil, invalid(fmt.Sprintf("users[%d].passwordHash", i), err)
		}
		a.users[u.Name] = &user{verify: verify}
		if a.decoy == nil {
			a.decoy = verify
		}
	}
	return a, nil
}

// invalid is the error of a document that the root package's rules let pass.
func invalid(field string, err error) error {
	return &provider.Error{Kind: provider.Invalid, Field: field, Err: err}
}

// check returns nil when the request has the credentials of a user, or when
// there are no users.
func (a *authenticator) check(r *http.Request) *refusal {
	if len(a.users) == 0 {
		return nil
	}
	name, password, ok := basic(r.Header["Proxy-Authorization"])
	if !ok {
		return &refusal{status: http.StatusProxyAuthRequired, token: "http_request_denied",
			reason: "this proxy asks for credentials"}
	}
	right, err := a.verify(r.Context(), name, password)
	switch {
	case err != nil:
		return &refusal{status: http.StatusServiceUnavailable, token: "connection_limit_reached",
			reason: "too many passwords are being checked", err: err}
	case !right:
		return &refusal{status: http.StatusProxyAuthRequired, token: "http_request_denied",
			reason: "the credentials are wrong", err: errWrong}
	}
	return nil
}

// verify reports whether the password is that of the named user. Its error is
// that of ctx, or that the wait for a free slot took too long.
func (a *authenticator) verify(ctx context.Context, name, password string) (bool, error) {
	d := a.digest(name, password)
	if right, known := a.recall(name, d); known {
		return right, nil
	}
	ctx, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	select {
	case a.slots <- struct{}{}:
		defer func() { <-a.slots }()
	case <-ctx.Done():
		return false, fmt.Errorf("waiting to check a password: %w", ctx.Err())
	}
	// Of many requests that begin together, the first one hashes.
	if right, known := a.recall(name, d); known {
		return right, nil
	}
	u, verify := a.users[name], a.decoy
	if u != nil {
		verify = u.verify
	}
	// Hashed in any case. A password that is too long is wrong, although bcrypt
	// would take it for what it begins with.
	match := verify([]byte(password[:min(len(password), provider.MaxPassword)]))
	right := match && u != nil && len(password) <= provider.MaxPassword
	a.remember(u, d, right)
	return right, nil
}

// digest is injective in name and password: the length keeps them apart.
func (a *authenticator) digest(name, password string) digest {
	mac := hmac.New(sha256.New, a.key)
	_, _ = mac.Write(binary.BigEndian.AppendUint64(nil, uint64(len(name)))) // hashes do not fail
	_, _ = mac.Write([]byte(name))
	_, _ = mac.Write([]byte(password))
	return digest(mac.Sum(nil))
}

// recall returns what is known of a digest without a hash.
func (a *authenticator) recall(name string, d digest) (right, known bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if u := a.users[name]; u != nil && u.right != (digest{}) && subtle.ConstantTimeCompare(u.right[:], d[:]) == 1 {
		return true, true
	}
	// The key is random and secret, so that the map's timing tells nothing
	// about a password.
	_, known = a.wrong[d]
	return false, known
}

// remember keeps a result. A right password is kept with its user, where no
// number of wrong ones pushes it out.
func (a *authenticator) remember(u *user, d digest, right bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if right {
		u.right = d
		return
	}
	if len(a.order) < maxWrong {
		a.order = append(a.order, d)
	} else {
		delete(a.wrong, a.order[a.next])
		a.order[a.next] = d
		a.next = (a.next + 1) % maxWrong
	}
	a.wrong[d] = struct{}{}
}

// basic reads the credentials of RFC 7617. More than one header is refused:
// another program could have read the other one.
func basic(values []string) (name, password string, ok bool) {
	if len(values) != 1 {
		return "", "", false
	}
	scheme, encoded, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", "", false
	}
	plain, err := base64.StdEncoding.DecodeString(strings.TrimSpace(encoded))
	if err != nil {
		return "", "", false
	}
	return strings.Cut(string(plain), ":")
}
