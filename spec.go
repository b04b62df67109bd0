package provider

import (
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Spec says what to run, in words that hold on every backend, so that moving a
// proxy to another one changes the provider's name and nothing else. How a
// machine is set up (user data, a command, networks) belongs to the provider's
// configuration, under the image.
//
// A provider honours a field or refuses it as Unsupported; it never drops one.
type Spec struct {
	// Name is the caller's key: a DNS label of at most 63 bytes, unique within
	// the owner. Required.
	Name string
	// Image is a key in the provider's configuration, or a direct reference
	// where the provider takes one. Empty is the provider's default image.
	Image string
	// Location is where to run it, one of Info.Locations. Empty lets the
	// provider place it.
	Location string
	// Size is how large the machine is. Zero fields are the provider's default.
	Size Size
	// Port is where the proxy listens. Zero is the provider's default;
	// [Instance.Endpoint] tells which port that is.
	Port uint16
	// Credentials are what the proxy asks of its clients.
	Credentials Credentials
	// AllowFrom are the networks that clients may come from. Empty means
	// anywhere, and then Credentials are required: there are no open proxies.
	AllowFrom []netip.Prefix
	// Preemptible allows the backend to take the machine back at any time, for
	// a lower price.
	Preemptible bool
	// Labels are stored as they are and come back in [Instance.Labels]. They
	// mean nothing to a provider.
	Labels map[string]string
	// Revision is a free text that counts in [Spec.Hash]. Change it to roll
	// what the hash cannot see: credentials, or an image behind a key.
	Revision string
	_        struct{}
}

// Size is how large a machine is.
type Size struct {
	// MilliCPU is in thousandths of one processor.
	MilliCPU int64
	// MemoryBytes is in bytes.
	MemoryBytes int64
	// DiskBytes is the size of the root disk in bytes.
	DiskBytes int64
}

// Credentials are a user's name and password. Both are set or neither is.
type Credentials struct {
	// Username is printable ASCII without space and colon, up to [MaxUsername].
	Username string
	// Password is printable ASCII without space, up to [MaxPassword].
	Password Secret
}

// Secret is a text that shows itself to nobody: fmt, encoding/json, log/slog
// and text templates print [Redacted] in its place. Convert it to a string to
// read it. It keeps a slip of the pen from reaching a log, and no more.
type Secret string

// Redacted is what a [Secret] that is not empty prints as.
const Redacted = "[redacted]"

// String returns [Redacted], or nothing for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Redacted
}

// Format prints what String returns under every verb, %#v and %x included.
func (s Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(s.String())) }

// MarshalText returns what String returns, for JSON, YAML and XML.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue returns what String returns, for log/slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// Limits of a valid [Spec]. They are the narrowest that all backends share, or
// guards against a slip.
const (
	// MaxName is that of a DNS label (RFC 1035, 2.3.4).
	MaxName = 63
	// MaxImage and MaxLocation bound what is copied into metadata.
	MaxImage    = 1024
	MaxLocation = 253
	// MaxUsername is the longest Username.
	MaxUsername = 64
	// MaxPassword is the longest Password: bcrypt reads 72 bytes and ignores
	// the rest.
	MaxPassword = 72
	// MaxRevision is the longest Revision.
	MaxRevision = 256
	// MaxLabels is how many labels there may be; MaxLabelKey and MaxLabelValue
	// bound each. Together they stay under 32 KiB, because GCE and Kubernetes
	// bound metadata at 256 KiB in all.
	MaxLabels     = 64
	MaxLabelKey   = 63
	MaxLabelValue = 256
	// MaxAllowFrom is how many networks AllowFrom may have.
	MaxAllowFrom = 256
	// MaxMilliCPU is a thousand processors.
	MaxMilliCPU = 1000 * 1000
	// MinBytes is the least memory or disk that is not taken for a slip of the
	// unit (a size given in MiB or GiB), and MaxBytes the most (a size given
	// in bits, or multiplied twice).
	MinBytes = 1 << 20
	MaxBytes = 1 << 50
)

// Validate checks what holds for every provider. Its error is an [*Error] of
// Kind Invalid that names the first Field at fault, what is wrong with it and
// what it should be. It never shows a password.
func (s Spec) Validate() error {
	if err := ValidateName(s.Name); err != nil {
		return err
	}
	for _, check := range []func() error{
		func() error { return text("Image", s.Image, MaxImage) },
		func() error { return text("Location", s.Location, MaxLocation) },
		s.Size.validate,
		s.Credentials.validate,
		s.validateAllowFrom,
		s.validateLabels,
		func() error { return text("Revision", s.Revision, MaxRevision) },
	} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

// ValidateName checks that name is a DNS label as RFC 1123 has it: lower-case
// letters, digits and inner hyphens, at most [MaxName] of them. Its error is
// an [*Error] of Kind Invalid with Field "Name".
func ValidateName(name string) error {
	switch {
	case name == "":
		return invalid("Name", "is empty; give it a DNS label such as web-1")
	case len(name) > MaxName:
		return invalid("Name", "%.20q... has %d bytes; at most %d are allowed", name, len(name), MaxName)
	}
	for i := range len(name) {
		c := name[i]
		edge := i == 0 || i == len(name)-1
		if !alnum(c) && (c != '-' || edge) {
			return invalid("Name", "%q is not a DNS label: only a-z, 0-9 and inner hyphens are allowed", name)
		}
	}
	return nil
}

// alnum reports whether c is a lower-case ASCII letter or a digit.
func alnum(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

func (z Size) validate() error {
	if z.MilliCPU < 0 || z.MilliCPU > MaxMilliCPU {
		return invalid("Size.MilliCPU", "%d is outside 0 to %d; it is in thousandths of a processor", z.MilliCPU, MaxMilliCPU)
	}
	for _, b := range []struct {
		field string
		n     int64
	}{{"Size.MemoryBytes", z.MemoryBytes}, {"Size.DiskBytes", z.DiskBytes}} {
		if b.n != 0 && (b.n < MinBytes || b.n > MaxBytes) {
			return invalid(b.field, "%d is outside %d to %d; it is in bytes, and 0 is the provider's default",
				b.n, int64(MinBytes), int64(MaxBytes))
		}
	}
	return nil
}

func (c Credentials) validate() error {
	switch {
	case c.Username == "" && c.Password == "":
		return nil
	case c.Username == "":
		return invalid("Credentials.Username", "is empty although there is a password; set both or neither")
	case c.Password == "":
		return invalid("Credentials.Password", "is empty although there is a username; set both or neither")
	case len(c.Username) > MaxUsername:
		return invalid("Credentials.Username", "has %d bytes; at most %d are allowed", len(c.Username), MaxUsername)
	case len(c.Password) > MaxPassword:
		return invalid("Credentials.Password", "has %d bytes; at most %d are allowed, because bcrypt reads no more",
			len(c.Password), MaxPassword)
	case !graphic(c.Username) || strings.Contains(c.Username, ":"):
		return invalid("Credentials.Username", "has a character other than printable ASCII without space and colon (RFC 7617)")
	case !graphic(string(c.Password)):
		return invalid("Credentials.Password", "has a character other than printable ASCII without space")
	}
	return nil
}

// graphic reports whether s is printable ASCII without spaces.
func graphic(s string) bool {
	return !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

func (s Spec) validateAllowFrom() error {
	open := s.Credentials == (Credentials{})
	if len(s.AllowFrom) == 0 && open {
		return invalid("AllowFrom", "is empty together with Credentials, which would be an open proxy; set one of them")
	}
	if len(s.AllowFrom) > MaxAllowFrom {
		return invalid("AllowFrom", "has %d networks; at most %d are allowed", len(s.AllowFrom), MaxAllowFrom)
	}
	for i, p := range s.AllowFrom {
		field := fmt.Sprintf("AllowFrom[%d]", i)
		if err := validatePrefix(field, p); err != nil {
			return err
		}
		if open && wide(p) {
			return invalid(field, "%s without Credentials would be an open proxy; set Credentials or name smaller networks", p)
		}
	}
	return nil
}

// validatePrefix checks that p is a network in the one form that all backends
// read alike.
func validatePrefix(field string, p netip.Prefix) error {
	switch {
	case !p.IsValid():
		return invalid(field, "is not a network; write one such as 10.0.0.0/8")
	case p.Addr().Is4In6():
		return invalid(field, "%s is an IPv4 network in IPv6 form; write it in IPv4 form", p)
	case p != p.Masked():
		return invalid(field, "%s has bits beyond its length; write %s, or %s for one address",
			p, p.Masked(), netip.PrefixFrom(p.Addr(), p.Addr().BitLen()))
	}
	return nil
}

// wide reports whether p is too large a part of the internet to be a list of
// known clients: more than a /8 of IPv4 or a /16 of IPv6. The private
// fc00::/7 is not the internet.
func wide(p netip.Prefix) bool {
	if p.Addr().Is4() {
		return p.Bits() < 8
	}
	return p.Bits() < 16 && p != netip.MustParsePrefix("fc00::/7") && !(p.Bits() >= 8 && p.Addr().IsPrivate())
}

func (s Spec) validateLabels() error {
	if len(s.Labels) > MaxLabels {
		return invalid("Labels", "has %d entries; at most %d are allowed", len(s.Labels), MaxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		if !labelKey(key) {
			return invalid("Labels", "the key %.80q is not 1 to %d letters, digits and inner '-', '_', '.' or '/'", key, MaxLabelKey)
		}
		if err := text(fmt.Sprintf("Labels[%q]", key), s.Labels[key], MaxLabelValue); err != nil {
			return err
		}
	}
	return nil
}

func labelKey(key string) bool {
	if key == "" || len(key) > MaxLabelKey {
		return false
	}
	for i := range len(key) {
		c := key[i]
		edge := i == 0 || i == len(key)-1
		letter := alnum(c) || 'A' <= c && c <= 'Z'
		if !letter && (edge || !strings.ContainsRune("-_./", rune(c))) {
			return false
		}
	}
	return true
}

// text checks a free text: UTF-8 without control characters, so that it can be
// written into any backend's metadata and into a log line.
func text(field, s string, limit int) error {
	switch {
	case len(s) > limit:
		return invalid(field, "has %d bytes; at most %d are allowed", len(s), limit)
	case !utf8.ValidString(s):
		return invalid(field, "is not valid UTF-8")
	case strings.ContainsFunc(s, func(r rune) bool { return unicode.IsControl(r) || r == '\u2028' || r == '\u2029' }):
		return invalid(field, "has a control character or a line break")
	}
	return nil
}

func invalid(field, format string, args ...any) error {
	return &Error{Kind: Invalid, Field: field, Err: fmt.Errorf(format, args...)}
}
