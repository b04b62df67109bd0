package guest

import (
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
	"golang.org/x/crypto/bcrypt"
)

func TestHashPassword(t *testing.T) {
	hash, err := HashPassword(testPassword)
	if err != nil {
		t.Fatal(err)
	}
	if cost, err := bcrypt.Cost([]byte(hash)); err != nil || cost != HashCost {
		t.Errorf("the cost is %d, %v", cost, err)
	}
	verify, err := parseHash(hash)
	if err != nil {
		t.Fatal(err)
	}
	if !verify([]byte(testPassword)) || verify([]byte(testPassword+"x")) || verify(nil) {
		t.Error("the hash does not tell the right password from wrong ones")
	}
	again, err := HashPassword(testPassword)
	if err != nil || again == hash {
		t.Errorf("the second hash is %v, %v; it needs a salt of its own", again == hash, err)
	}
}

func TestHashPasswordRefuses(t *testing.T) {
	for _, password := range []string{"", strings.Repeat("x", provider.MaxPassword+1)} {
		hash, err := HashPassword(provider.Secret(password))
		if provider.KindOf(err) != provider.Invalid || hash != "" {
			t.Errorf("%d bytes: %q, %v", len(password), hash, err)
		}
		if password != "" && strings.Contains(err.Error(), "xxx") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
	if _, err := HashPassword(provider.Secret(strings.Repeat("x", provider.MaxPassword))); err != nil {
		t.Errorf("the longest password: %v", err)
	}
}

// The hashes were made by other programs: the SHA-512 ones are those of the
// specification of SHA-crypt and of openssl passwd -6, the bcrypt ones those
// of jBCrypt's and Openwall's tests.
func TestHashesOfOthers(t *testing.T) {
	for _, test := range []struct{ hash, password string }{
		{"$6$saltstring$svn8UoSVapNtMuq1ukKS4tPQd8iKwSMHWjl/O817G3uBnIFNjnQJuesI68u4OTLiBFdcbYEdFCoEOfaS35inz1", "Hello world!"},
		{"$6$rounds=10000$saltstringsaltst$OW1/O6BYHV6BcXZu8QVeXbDWra3Oeqh0sbHbbMCVNSnCM/UrjmM0Dp8vOuZeHBy/YTBmSK6H9qs/y3RnOaw5v.", "Hello world!"},
		{"$2a$06$m0CrhHm10qJ3lXRY.5zDGO3rS2KdeeWLuGmsfGlMfOxih58VYVfxe", "a"},
		{"$2a$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"},
		{"$2y$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"},
		{"$2b$05$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW", "U*U"},
	} {
		verify, err := parseHash(test.hash)
		if err != nil {
			t.Errorf("%s: %v", test.hash, err)
			continue
		}
		if !verify([]byte(test.password)) {
			t.Errorf("%s: the right password is refused", test.hash)
		}
		if verify([]byte(test.password + "x")) {
			t.Errorf("%s: a wrong password is taken", test.hash)
		}
	}
}

func TestHashesRefused(t *testing.T) {
	digest := strings.Repeat("a", 86)
	for _, hash := range []string{
		"$2a$", "$2a$10$short", "$2a$15$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
		"$2a$31$CCCCCCCCCCCCCCCCCCCCC.E5YPO9kmyuRGyh0XouQYb4YMJKvyOeW",
		"$6$", "$6$salt", "$6$salt$", "$6$salt$short", "$6$rounds=1000$salt", "$6$rounds=999$salt$" + digest,
		"$6$rounds=1000001$salt$" + digest, "$6$rounds=x$salt$" + digest, "$6$rounds=-1$salt$" + digest,
		"$6$saltsaltsaltsalts$" + digest, "$6$salt$" + digest + "$x", "$6$rounds=5000$salt$" + digest + "a",
	} {
		doc := document(t)
		doc.Users = append(doc.Users, provider.GuestUser{Name: "bob", PasswordHash: hash})
		_, err := New(doc, Options{})
		if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "users[1].passwordHash") {
			t.Errorf("%s: %v; want Invalid with the field", hash, err)
		}
		if err != nil && len(hash) > 4 && strings.Contains(err.Error(), hash[4:]) {
			t.Errorf("the error shows the hash: %v", err)
		}
	}
}
