package lease

import (
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

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
	if err := checkText("target", target, MaxTarget); err != nil {
		return "", err
	}
	host, err := hostOf(target)
	// A percent sign in a host may hide bytes that are no text.
	if err != nil || strings.ContainsRune(host, utf8.RuneError) {
		return "", fieldError("target", "is not a host or a URL with one; write it as example.com or https://example.com/")
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

// hostOf takes the host out of a URL, an address, or a host with or without
// port and path.
func hostOf(target string) (string, error) {
	if _, err := netip.ParseAddr(target); err == nil {
		return target, nil
	}
	// A scheme ends before the first slash: a path or a query may have a URL
	// in it.
	if i := strings.IndexAny(target, "/?#"); i < 0 || !strings.HasPrefix(target[i:], "//") {
		target = "//" + target
	}
	u, err := url.Parse(target)
	if err != nil {
		return "", err
	}
	return u.Hostname(), nil
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
