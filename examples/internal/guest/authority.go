package guest

import (
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxHost is the longest name of a host (RFC 1035, 2.3.4), and maxLabel the
// longest part of one.
const (
	maxHost  = 253
	maxLabel = 63
)

// authority is where a client wants to go, before anything is resolved.
type authority struct {
	// host is an address without brackets, or a name.
	host string
	// addr is the address where host is one, and invalid for a name.
	addr netip.Addr
	port uint16
}

func (a authority) String() string {
	if a.addr.Is6() {
		return fmt.Sprintf("[%s]:%d", a.host, a.port)
	}
	return fmt.Sprintf("%s:%d", a.host, a.port)
}

// parseAuthority reads host:port as RFC 3986 writes it, strictly: what two
// programs could read in two ways is refused, because the rules would then be
// applied to another host than the one that is reached. A fallback of zero
// makes the port required.
func parseAuthority(s string, fallback uint16) (authority, error) {
	host, rest, bracketed := s, "", strings.HasPrefix(s, "[")
	if bracketed {
		end := strings.IndexByte(s, ']')
		if end < 0 {
			return authority{}, errors.New("the host has an opening bracket and no closing one")
		}
		host, rest = s[1:end], s[end+1:]
	} else if i := strings.IndexByte(s, ':'); i >= 0 {
		host, rest = s[:i], s[i:]
	}
	port, err := parsePort(rest, fallback)
	if err != nil {
		return authority{}, err
	}
	a := authority{host: host, port: port}
	if bracketed {
		a.addr, err = netip.ParseAddr(host)
		if err != nil || !a.addr.Is6() || a.addr.Zone() != "" {
			return authority{}, errors.New("the host in brackets is not an IPv6 address without a zone")
		}
		return a, nil
	}
	if a.addr, err = netip.ParseAddr(host); err == nil {
		return a, nil // an IPv4 address: one of IPv6 has colons
	}
	return a, checkName(host)
}

// parsePort reads ":80". What follows the host may also be empty, or a colon
// alone, which RFC 3986 gives the scheme's port.
func parsePort(s string, fallback uint16) (uint16, error) {
	if s == "" || s == ":" {
		if fallback == 0 {
			return 0, errors.New("the target has no port")
		}
		return fallback, nil
	}
	digits := strings.TrimPrefix(s, ":")
	port, err := strconv.ParseUint(digits, 10, 16)
	if digits == s || err != nil || port == 0 || digits[0] == '+' {
		return 0, errors.New("the port is not a number from 1 to 65535")
	}
	return uint16(port), nil
}

// checkName checks that host is a name and nothing that some resolvers read as
// an address: 127.1, 2130706433 and 0x7f000001 are 127.0.0.1 to inet_aton.
func checkName(host string) error {
	name := strings.TrimSuffix(host, ".")
	if name == "" || len(name) > maxHost {
		return fmt.Errorf("the host is not 1 to %d characters long", maxHost)
	}
	last := ""
	for label := range strings.SplitSeq(name, ".") {
		if label == "" || len(label) > maxLabel || strings.ContainsFunc(label, notInName) {
			return errors.New("the host is neither a name in ASCII nor an address")
		}
		last = label
	}
	if numeric(last) {
		return errors.New("the host is a number or an address in an unusual form; write it as four decimal numbers")
	}
	return nil
}

// notInName allows the underscore, which real names have.
func notInName(r rune) bool {
	letter := 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	return !letter && r != '-' && r != '_'
}

// numeric reports whether a label is what the URL standard of WHATWG reads as
// a number, which makes its host an IPv4 address.
func numeric(label string) bool {
	hex := strings.TrimPrefix(strings.ToLower(label), "0x")
	if hex != strings.ToLower(label) {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(label, "0123456789") == ""
}
