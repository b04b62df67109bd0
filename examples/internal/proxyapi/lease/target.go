package lease

import (
	"net"
	"net/netip"
	"net/url"
	"strings"

	"golang.org/x/net/idna"
)

// MaxTarget is the most bytes of a target as a client writes it, and maxHost
// the most of what remains of it: a domain name's (RFC 1035, 2.3.4).
const (
	MaxTarget = 2048
	maxHost   = 253
)

// NormalizeTarget returns the host of a target, in one form: without scheme,
// user, port, path and final dot, in lower case, with international names in
// punycode, and addresses as [netip.Addr] writes them. It takes a host, a
// host:port or a URL; an empty target stays empty. Its error is a
// [*FieldError] for "target" that does not repeat the target, because a URL
// may have a password in it.
func NormalizeTarget(target string) (string, error) {
	if target == "" {
		return "", nil
	}
	if len(target) > MaxTarget {
		return "", fieldError("target", "has %d bytes; at most %d are allowed", len(target), MaxTarget)
	}
	host, err := hostOf(target)
	if err != nil {
		return "", err
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		return addr.WithZone("").Unmap().String(), nil
	}
	// Underscores are not letters of a host name, but names in use have them.
	profile := idna.New(idna.MapForLookup(), idna.BidiRule(), idna.StrictDomainName(false))
	host, err = profile.ToASCII(host)
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if err != nil || !hostname(host) {
		return "", fieldError("target", "has a host that is neither a domain name nor an address")
	}
	return host, nil
}

// hostOf takes the host out of a URL, a host:port or a host.
func hostOf(target string) (string, error) {
	if strings.Contains(target, "://") {
		u, err := url.Parse(target)
		if err != nil || u.Hostname() == "" {
			return "", fieldError("target", "is not a URL with a host; write one such as https://example.com/")
		}
		return u.Hostname(), nil
	}
	if host, _, err := net.SplitHostPort(target); err == nil {
		return host, nil
	}
	return strings.TrimSuffix(strings.TrimPrefix(target, "["), "]"), nil
}

// hostname reports whether host is a domain name in ASCII.
func hostname(host string) bool {
	if host == "" || len(host) > maxHost {
		return false
	}
	for label := range strings.SplitSeq(host, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
	}
	return !strings.ContainsFunc(host, func(r rune) bool {
		return !('a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '-' || r == '_' || r == '.')
	})
}
