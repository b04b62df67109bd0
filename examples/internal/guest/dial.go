package guest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// Resolver turns a name into addresses. *net.Resolver is one.
type Resolver interface {
	// LookupNetIP returns the addresses of a host, in the order in which they
	// are to be tried. The network is "ip". It is called concurrently.
	LookupNetIP(ctx context.Context, network, host string) ([]netip.Addr, error)
}

// Dialer connects to a target. *net.Dialer is one.
type Dialer interface {
	// DialContext connects to address, which is an IP address and a port and
	// never a name. The network is "tcp". It is called concurrently.
	DialContext(ctx context.Context, network, address string) (net.Conn, error)
}

// Bounds of connecting to a name that has many addresses.
const (
	// maxAddresses is how many are tried.
	maxAddresses = 4
	// dialEach is how long one may take, as far as another is left to try.
	dialEach = 5 * time.Second
)

// reacher connects to targets within the rules.
type reacher struct {
	rules    *rules
	resolver Resolver
	dialer   Dialer
	timeout  time.Duration
	// ends is when no connection is made any more. The HTTP transport finishes
	// a connection whose request has gone, for the next one.
	ends context.Context
}

// dial resolves the host once, asks the rules about every address, and
// connects to one that they allow: the address that was checked is the one
// that is dialled. Its error is a *refusal when the rules allow none.
func (d *reacher) dial(ctx context.Context, to authority, connect bool) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, d.timeout)
	defer cancel()
	defer context.AfterFunc(d.ends, cancel)()
	addrs, err := d.resolve(ctx, to)
	if err != nil {
		return nil, err
	}
	var refused *refusal
	addrs = slices.DeleteFunc(addrs, func(addr netip.Addr) bool {
		r := d.rules.check(addr, to.port, connect)
		if r != nil && refused == nil {
			refused = r
		}
		return r != nil
	})
	if len(addrs) == 0 {
		return nil, refused
	}
	return d.first(ctx, addrs[:min(len(addrs), maxAddresses)], to.port)
}

// resolve returns the addresses of the host, in a slice of its own.
func (d *reacher) resolve(ctx context.Context, to authority) ([]netip.Addr, error) {
	if to.addr.IsValid() {
		return []netip.Addr{to.addr}, nil
	}
	addrs, err := d.resolver.LookupNetIP(ctx, "ip", to.host)
	if err != nil {
		return nil, fmt.Errorf("resolving the target: %w", err)
	}
	if len(addrs) == 0 {
		return nil, &net.DNSError{Err: "no addresses", Name: to.host, IsNotFound: true}
	}
	return slices.Clone(addrs), nil
}

// first connects to the first of the addresses that answers, one after another:
// the resolver has put them in the order of RFC 6724, and an address family
// that the machine lacks fails at once.
func (d *reacher) first(ctx context.Context, addrs []netip.Addr, port uint16) (net.Conn, error) {
	var errs []error
	for i, addr := range addrs {
		each, cancel := ctx, context.CancelFunc(func() {})
		if i < len(addrs)-1 {
			each, cancel = context.WithTimeout(ctx, dialEach)
		}
		conn, err := d.dialer.DialContext(each, "tcp", netip.AddrPortFrom(addr.Unmap(), port).String())
		cancel()
		if err == nil {
			return conn, nil
		}
		errs = append(errs, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, fmt.Errorf("connecting to the target: %w", errors.Join(errs...))
}

// ownMaxAge is how long the machine's addresses are kept: they change when an
// address is assigned late.
const ownMaxAge = 10 * time.Second

// ownAddresses returns a function that returns the addresses of the machine's
// interfaces, from a copy of at most ownMaxAge. When they cannot be read it
// returns the last ones.
func ownAddresses(read func() ([]net.Addr, error)) func() []netip.Addr {
	var mu sync.Mutex
	var addrs []netip.Addr
	var at time.Time
	return func() []netip.Addr {
		mu.Lock()
		defer mu.Unlock()
		if addrs != nil && time.Since(at) < ownMaxAge {
			return addrs
		}
		found, err := read()
		if err != nil {
			return addrs
		}
		addrs, at = make([]netip.Addr, 0, len(found)), time.Now()
		for _, a := range found {
			if n, ok := a.(*net.IPNet); ok {
				if addr, ok := netip.AddrFromSlice(n.IP); ok {
					addrs = append(addrs, addr.Unmap())
				}
			}
		}
		return addrs
	}
}
