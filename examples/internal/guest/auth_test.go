package guest

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
)

// countingAuth has the users alice and bob, and counts hashes instead of
// making them.
func countingAuth(t *testing.T, slots int) (*authenticator, *atomic.Int64) {
	t.Helper()
	hash := quickHash(t, "x")
	a, err := newAuthenticator([]provider.GuestUser{{Name: "alice", PasswordHash: hash}, {Name: "bob", PasswordHash: hash}},
		Limits{Hashes: slots})
	if err != nil {
		t.Fatal(err)
	}
	hashes := new(atomic.Int64)
	for name, u := range a.users {
		u.verify = func(password []byte) bool {
			hashes.Add(1)
			return string(password) == name+"-password"
		}
	}
	a.decoy = func([]byte) bool { hashes.Add(1); return true } // even a match is none
	return a, hashes
}

func TestCacheSparesHashes(t *testing.T) {
	a, hashes := countingAuth(t, 1)
	for _, step := range []struct {
		name, password string
		right          bool
		hashes         int64 // of this step
	}{
		{"alice", "alice-password", true, 1},
		{"alice", "alice-password", true, 0},
		{"alice", "wrong", false, 1},
		{"alice", "wrong", false, 0},
		{"alice", "alice-password", true, 0},
		{"bob", "alice-password", false, 1},
		{"bob", "bob-password", true, 1},
		{"bob", "bob-password", true, 0},
		{"nobody", "alice-password", false, 1}, // as much as a wrong password
		{"nobody", "alice-password", false, 0},
		{"", "", false, 1},
		{"alic", "e" + "alice-password", false, 1}, // the same bytes, cut elsewhere
		{"alice", "alice-password" + strings.Repeat("x", 100), false, 1},
	} {
		before := hashes.Load()
		right, err := a.verify(t.Context(), step.name, step.password)
		if err != nil || right != step.right {
			t.Errorf("%s with %s: %v, %v", step.name, step.password, right, err)
		}
		if n := hashes.Load() - before; n != step.hashes {
			t.Errorf("%s with %s: %d hashes; want %d", step.name, step.password, n, step.hashes)
		}
	}
}

// bcrypt compares the first 72 bytes; a longer password is wrong all the same,
// and costs what a wrong one costs.
func TestLongPasswordIsWrong(t *testing.T) {
	longest := strings.Repeat("x", provider.MaxPassword)
	a, err := newAuthenticator([]provider.GuestUser{{Name: "alice", PasswordHash: quickHash(t, longest)}}, Limits{Hashes: 1})
	if err != nil {
		t.Fatal(err)
	}
	for password, want := range map[string]bool{longest: true, longest + "y": false, longest[1:]: false} {
		if got, err := a.verify(t.Context(), "alice", password); got != want || err != nil {
			t.Errorf("%d bytes: %v, %v; want %v", len(password), got, err, want)
		}
	}
}

func TestCacheIsBounded(t *testing.T) {
	a, hashes := countingAuth(t, 1)
	if right, err := a.verify(t.Context(), "alice", "alice-password"); !right || err != nil {
		t.Fatal(right, err)
	}
	for i := range maxWrong + 10 {
		if right, err := a.verify(t.Context(), fmt.Sprint("guess", i), "x"); right || err != nil {
			t.Fatal(right, err)
		}
	}
	if len(a.wrong) != maxWrong || len(a.order) != maxWrong {
		t.Errorf("%d wrong ones in the map and %d in the ring; want %d", len(a.wrong), len(a.order), maxWrong)
	}
	before := hashes.Load()
	for name, want := range map[string]int64{"guess0": 1, fmt.Sprint("guess", maxWrong): 0} {
		if _, err := a.verify(t.Context(), name, "x"); err != nil || hashes.Load()-before != want {
			t.Errorf("%s: %d hashes, %v; want %d", name, hashes.Load()-before, err, want)
		}
		before = hashes.Load()
	}
	if right, err := a.verify(t.Context(), "alice", "alice-password"); !right || err != nil || hashes.Load() != before {
		t.Errorf("guesses pushed the right password out: %v, %v", right, err)
	}
}

// Hashes wait for a slot; those that wait for one that somebody else made take
// its result.
func TestHashesAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, _ := countingAuth(t, 2)
		var running, most, total atomic.Int64
		a.decoy = func([]byte) bool {
			n := running.Add(1)
			for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
			}
			total.Add(1)
			time.Sleep(time.Second)
			running.Add(-1)
			return false
		}
		for i := range 20 {
			go func() { _, _ = a.verify(t.Context(), fmt.Sprint("guess", i%4), "x") }()
		}
		time.Sleep(time.Minute)
		if most.Load() != 2 || total.Load() > 8 || total.Load() < 4 {
			t.Errorf("%d hashes, %d at once; want 4 to 8, 2 at once", total.Load(), most.Load())
		}
	})
}

func TestWaitForHashEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, hashes := countingAuth(t, 1)
		a.slots <- struct{}{} // somebody hashes for ever
		start := time.Now()
		r := request(t, "alice", "alice-password")
		if got := a.check(r); got == nil || got.status != http.StatusServiceUnavailable || time.Since(start) != hashWait {
			t.Errorf("%+v after %v", got, time.Since(start))
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := a.verify(ctx, "alice", "alice-password"); err == nil || hashes.Load() != 0 {
			t.Errorf("%v, %d hashes", err, hashes.Load())
		}
	})
}

func request(t *testing.T, name, password string) *http.Request {
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://host.example/", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(name+":"+password)))
	return r
}

func TestCheckReadsHeader(t *testing.T) {
	a, hashes := countingAuth(t, 1)
	good := "Basic " + base64.StdEncoding.EncodeToString([]byte("alice:alice-password"))
	for _, test := range []struct {
		name   string
		values []string
		want   string // the reason of the refusal
		hashes int64
	}{
		{"none", nil, "asks for credentials", 0},
		{"two", []string{good, good}, "asks for credentials", 0},
		{"another scheme", []string{"Bearer " + good[6:]}, "asks for credentials", 0},
		{"no scheme", []string{good[6:]}, "asks for credentials", 0},
		{"no base64", []string{"Basic alice:alice-password"}, "asks for credentials", 0},
		{"no colon", []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("alice"))}, "asks for credentials", 0},
		{"wrong", []string{"Basic " + base64.StdEncoding.EncodeToString([]byte("alice:no"))}, "are wrong", 1},
		{"right", []string{good}, "", 1},
		{"in small letters", []string{"basic  " + good[6:]}, "", 0},
	} {
		r := request(t, "", "")
		r.Header["Proxy-Authorization"] = test.values
		before := hashes.Load()
		got := a.check(r)
		switch {
		case test.want == "" && got != nil, test.want != "" && (got == nil || got.status != 407 || !strings.Contains(got.reason, test.want)):
			t.Errorf("%s: %+v; want %q", test.name, got, test.want)
		case hashes.Load()-before != test.hashes:
			t.Errorf("%s: %d hashes; want %d", test.name, hashes.Load()-before, test.hashes)
		}
	}
}

func TestUsersAreDistinct(t *testing.T) {
	doc := document(t)
	doc.Users = append(doc.Users, doc.Users[0])
	if _, err := New(doc, Options{}); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "users[1].name") {
		t.Errorf("%v; want Invalid with the field", err)
	}
}
