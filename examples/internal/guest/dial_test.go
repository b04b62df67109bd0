package guest

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/crawlfleet/provider"
)

// scriptedDialer answers by address.
type scriptedDialer struct {
	dialed []string
	answer func(ctx context.Context, address string) (net.Conn, error)
}

func (d *scriptedDialer) DialContext(ctx context.Context, _, address string) (net.Conn, error) {
	d.dialed = append(d.dialed, address)
	return d.answer(ctx, address)
}

func connected(context.Context, string) (net.Conn, error) {
	c, _ := net.Pipe()
	return c, nil
}

func reacherFor(t *testing.T, answers ...string) (*reacher, *fakeResolver, *scriptedDialer) {
	resolver := &fakeResolver{answers: map[string][]string{"host.example": answers}}
	dialer := &scriptedDialer{answer: connected}
	return &reacher{
		rules: rulesFor(provider.Destinations{}), resolver: resolver, dialer: dialer,
		timeout: time.Minute, ends: t.Context(),
	}, resolver, dialer
}

func mustAuthority(t *testing.T, s string) authority {
	t.Helper()
	a, err := parseAuthority(s, 80)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestDialOnlyWhatWasChecked(t *testing.T) {
	for _, test := range []struct {
		name, host string
		answers    []string
		dialed     []string // nil when it is refused
	}{
		{"a public name", "host.example", []string{"93.184.216.34"}, []string{"93.184.216.34:80"}},
		{"of IPv6", "host.example", []string{"2606:4700::1111"}, []string{"[2606:4700::1111]:80"}},
		{"an IPv4 address in IPv6 form", "host.example", []string{"::ffff:93.184.216.34"}, []string{"93.184.216.34:80"}},
		{"an address", "93.184.216.34", nil, []string{"93.184.216.34:80"}},
		{"a name that leads inside", "host.example", []string{"10.0.0.1"}, nil},
		{"to the metadata service", "host.example", []string{"169.254.169.254"}, nil},
		{"to loopback in IPv6 form", "host.example", []string{"::ffff:127.0.0.1"}, nil},
		{"one that leads inside and outside", "host.example", []string{"10.0.0.1 93.184.216.34 ::1"}, []string{"93.184.216.34:80"}},
		{"rebinding: inside at the second look", "host.example", []string{"93.184.216.34", "127.0.0.1"}, []string{"93.184.216.34:80"}},
		{"an address inside", "127.0.0.1", nil, nil},
		{"another", "[fd00::1]", nil, nil},
	} {
		t.Run(test.name, func(t *testing.T) {
			reach, resolver, dialer := reacherFor(t, test.answers...)
			conn, err := reach.dial(t.Context(), mustAuthority(t, test.host), false)
			var refused *refusal
			if test.dialed == nil && !errors.As(err, &refused) || test.dialed != nil && err != nil {
				t.Errorf("error %v", err)
			}
			if (conn != nil) != (err == nil) {
				t.Errorf("connection %v beside error %v", conn, err)
			}
			if !slices.Equal(dialer.dialed, test.dialed) {
				t.Errorf("dialled %q; want %q", dialer.dialed, test.dialed)
			}
			if want := min(len(test.answers), 1); resolver.calls != want {
				t.Errorf("resolved %d times; want %d", resolver.calls, want)
			}
		})
	}
}

func TestDialUnknownName(t *testing.T) {
	reach, _, dialer := reacherFor(t)
	_, err := reach.dial(t.Context(), mustAuthority(t, "other.example"), false)
	if r := refusalOf(err); r.status != 502 || r.token != "dns_error" || len(dialer.dialed) != 0 {
		t.Errorf("%v becomes %+v", err, r)
	}
	reach.resolver = emptyResolver{}
	_, err = reach.dial(t.Context(), mustAuthority(t, "other.example"), false)
	if r := refusalOf(err); r.status != 502 || r.token != "dns_error" {
		t.Errorf("no addresses: %v becomes %+v", err, r)
	}
}

type emptyResolver struct{}

func (emptyResolver) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return nil, nil
}

// An address that does not answer does not keep the guest from the next one.
func TestDialTriesTheNextAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reach, _, dialer := reacherFor(t, "2606:4700::1111 1.1.1.1")
		dialer.answer = func(ctx context.Context, address string) (net.Conn, error) {
			if address == "1.1.1.1:80" {
				return connected(ctx, address)
			}
			<-ctx.Done()
			return nil, ctx.Err()
		}
		start := time.Now()
		if _, err := reach.dial(t.Context(), mustAuthority(t, "host.example"), false); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != dialEach {
			t.Errorf("took %v; want %v", took, dialEach)
		}
	})
}

func TestDialGivesUp(t *testing.T) {
	hang := func(ctx context.Context, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	many := strings.Repeat("1.1.1.1 ", maxAddresses+3)
	for _, test := range []struct {
		name, answers string
		timeout, took time.Duration
		dials         int
	}{
		{"the last address may take all that is left", "1.1.1.1", time.Minute, time.Minute, 1},
		{"the total is kept", many, 7 * time.Second, 7 * time.Second, 2},
		{"only so many are tried", many, time.Hour, time.Hour, maxAddresses},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				reach, _, dialer := reacherFor(t, test.answers)
				reach.timeout, dialer.answer = test.timeout, hang
				start := time.Now()
				_, err := reach.dial(t.Context(), mustAuthority(t, "host.example"), false)
				if r := refusalOf(err); r.status != 504 || r.token != "connection_timeout" {
					t.Errorf("%v becomes %+v", err, r)
				}
				if took := time.Since(start); took != test.took || len(dialer.dialed) != test.dials {
					t.Errorf("took %v and %d dials; want %v and %d", took, len(dialer.dialed), test.took, test.dials)
				}
			})
		})
	}
}

// The guest's end ends a connection that is being made, although the request
// that asked for it does not end it.
func TestDialEndsWithTheGuest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reach, _, dialer := reacherFor(t, "1.1.1.1")
		ends, end := context.WithCancel(t.Context())
		reach.ends = ends
		dialer.answer = func(ctx context.Context, _ string) (net.Conn, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		time.AfterFunc(time.Second, end)
		start := time.Now()
		if _, err := reach.dial(t.Context(), mustAuthority(t, "host.example"), false); err == nil || time.Since(start) != time.Second {
			t.Errorf("%v after %v", err, time.Since(start))
		}
	})
}

func TestOwnAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reads := 0
		var fail error
		own := ownAddresses(func() ([]net.Addr, error) {
			reads++
			return []net.Addr{
				&net.IPNet{IP: net.IPv4(10, 0, 0, byte(reads)), Mask: net.CIDRMask(24, 32)},
				&net.UnixAddr{Name: "other"},
			}, fail
		})
		is := func(want string) {
			t.Helper()
			if got := own(); !slices.Equal(got, []netip.Addr{netip.MustParseAddr(want)}) {
				t.Errorf("addresses %v; want %s", got, want)
			}
		}
		is("10.0.0.1")
		time.Sleep(ownMaxAge - 1)
		is("10.0.0.1")
		time.Sleep(time.Nanosecond)
		is("10.0.0.2")
		fail = errors.New("no netlink")
		time.Sleep(ownMaxAge)
		is("10.0.0.2") // the last known ones
		if reads != 3 {
			t.Errorf("%d reads; want 3", reads)
		}
	})
}
