package guest

import (
	"net/netip"
	"slices"

	"github.com/crawlfleet/provider"
)

// reserved are the networks that are no part of the public internet, from the
// special-purpose registries of IANA (RFC 6890 and its updates).
func reserved() []netip.Prefix {
	return prefixes(
		"0.0.0.0/8",         // this network
		"10.0.0.0/8",        // private
		"100.64.0.0/10",     // carriers' NAT; Alibaba's metadata service
		"127.0.0.0/8",       // loopback
		"168.63.129.16/32",  // Azure's host, under a public address
		"169.254.0.0/16",    // link-local; metadata services
		"172.16.0.0/12",     // private
		"192.0.0.0/24",      // protocol assignments; Oracle's metadata service
		"192.0.2.0/24",      // documentation
		"192.88.99.0/24",    // 6to4 relays, withdrawn
		"192.168.0.0/16",    // private
		"198.18.0.0/15",     // benchmarks
		"198.51.100.0/24",   // documentation
		"203.0.113.0/24",    // documentation
		"224.0.0.0/4",       // multicast
		"240.0.0.0/4",       // reserved, and broadcast
		"2001::/23",         // protocol assignments, Teredo among them
		"2001:db8::/32",     // documentation
		"2620:4f:8000::/48", // AS112, which answers for private networks
		"3fff::/20",         // documentation
	)
}

// prefixes reads constants.
func prefixes(texts ...string) []netip.Prefix {
	list := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		list[i] = netip.MustParsePrefix(text)
	}
	return list
}

// rules decides which addresses clients may reach. It does not change while
// the server serves.
type rules struct {
	provider.Destinations
	reserved  []netip.Prefix
	global    netip.Prefix // what IPv6 has assigned to the public
	nat64     netip.Prefix // RFC 6052: the last four bytes are an IPv4 address
	sixToFour netip.Prefix // RFC 3056: bytes 2 to 5 are one
	// own returns the addresses of this machine.
	own func() []netip.Addr
	// port is where the guest itself listens.
	port uint16
}

// newRules returns the rules of a document. own is called for each check.
func newRules(d provider.Destinations, port uint16, own func() []netip.Addr) *rules {
	return &rules{
		Destinations: d,
		reserved:     reserved(),
		global:       netip.MustParsePrefix("2000::/3"),
		nat64:        netip.MustParsePrefix("64:ff9b::/96"),
		sixToFour:    netip.MustParsePrefix("2002::/16"),
		own:          own,
		port:         port,
	}
}

// check returns nil when clients may reach the address on the port, by CONNECT
// or by a plain request, and otherwise the refusal.
func (r *rules) check(addr netip.Addr, port uint16, connect bool) *refusal {
	addr = addr.Unmap() // the form in which networks are written
	embedded, inside := r.embedded(addr)
	own := r.isOwn(addr) || inside && r.isOwn(embedded)
	if own && port == r.port {
		return refuseLoop()
	}
	if contains(r.Deny, addr) || inside && contains(r.Deny, embedded) {
		return refuseDestination("the destination is denied by the configuration")
	}
	if r.allowed(addr, port, connect) {
		return nil
	}
	if own || !r.public(addr) {
		return refuseDestination("the destination is not a public address")
	}
	if connect && port != 80 && port != 443 {
		return refuseDestination("CONNECT reaches ports 80 and 443 only")
	}
	return nil
}

// isOwn reports whether the address is one of this machine.
func (r *rules) isOwn(addr netip.Addr) bool {
	return addr.IsLoopback() || addr.IsUnspecified() || slices.Contains(r.own(), addr)
}

// allowed reports whether the configuration opens the address.
func (r *rules) allowed(addr netip.Addr, port uint16, connect bool) bool {
	return slices.ContainsFunc(r.Allow, func(d provider.Destination) bool {
		if !d.Prefix.Contains(addr) {
			return false
		}
		if len(d.Ports) == 0 {
			return !connect || port == 80 || port == 443
		}
		return slices.Contains(d.Ports, port)
	})
}

// public reports whether an address is on the public internet. For IPv6 that
// is what has been assigned to it, and not all that is not known to be private.
func (r *rules) public(addr netip.Addr) bool {
	if embedded, ok := r.embedded(addr); ok {
		return r.public(embedded)
	}
	if addr.Zone() != "" || addr.Is6() && !r.global.Contains(addr) {
		return false
	}
	return !contains(r.reserved, addr)
}

// embedded returns the IPv4 address that a gateway reads out of an IPv6 one.
func (r *rules) embedded(addr netip.Addr) (netip.Addr, bool) {
	b := addr.As16()
	switch {
	case r.nat64.Contains(addr):
		return netip.AddrFrom4([4]byte(b[12:16])), true
	case r.sixToFour.Contains(addr):
		return netip.AddrFrom4([4]byte(b[2:6])), true
	}
	return netip.Addr{}, false
}

// contains reports whether one of the networks has the address. A network has
// no address with a zone, and none of IPv4 in IPv6 form.
func contains(list []netip.Prefix, addr netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
}
