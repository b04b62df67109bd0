package provider

import (
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// hashVersion is the algorithm that [Spec.Hash] uses. Hashes are stored on
// backends for years: a change of what is written below is a new version, and
// the old one stays in hashes so that no upgrade replaces a fleet.
const hashVersion = "1"

var hashes = map[string]func(Spec) string{
	"1": hash1,
}

// Hash returns a digest of the spec for [Instance.SpecHash], prefixed with the
// version of its algorithm: "1:9f86d0...". Fields that are zero do not count,
// so that a field that a later version adds changes no hash. Credentials do
// not count, because the digest is readable where they must not be; Revision
// rolls them. The order of AllowFrom does not count.
func (s Spec) Hash() string { return hashVersion + ":" + hashes[hashVersion](s) }

// MatchesHash reports whether an instance with that [Instance.SpecHash] was
// made from this spec, under the algorithm that the hash names. It answers
// true when it cannot tell, for an empty hash or one of an unknown algorithm:
// a caller replaces what does not match, and must not do that on no evidence.
func (s Spec) MatchesHash(hash string) bool {
	version, digest, _ := strings.Cut(hash, ":")
	f, ok := hashes[version]
	return !ok || f(s) == digest
}

// hash1 is SHA-256 over the fields that are not zero, in a fixed order, each
// as key, length and value, so that no value can pass for two.
func hash1(s Spec) string {
	var b strings.Builder
	field := func(key, value string) {
		if value != "" {
			b.WriteString(key + " " + strconv.Itoa(len(value)) + " " + value + "\n")
		}
	}
	number := func(key string, n int64) {
		if n != 0 {
			field(key, strconv.FormatInt(n, 10))
		}
	}
	field("name", s.Name)
	field("image", s.Image)
	field("location", s.Location)
	number("milliCPU", s.Size.MilliCPU)
	number("memoryBytes", s.Size.MemoryBytes)
	number("diskBytes", s.Size.DiskBytes)
	number("port", int64(s.Port))
	networks := slices.SortedFunc(slices.Values(s.AllowFrom), netip.Prefix.Compare)
	for _, p := range slices.Compact(networks) {
		field("allowFrom", p.String())
	}
	if s.Preemptible {
		field("preemptible", "true")
	}
	for _, key := range slices.Sorted(maps.Keys(s.Labels)) {
		// The key is written even where the value is empty.
		field("label", key+"="+s.Labels[key])
	}
	field("revision", s.Revision)
	sum := sha256.Sum256([]byte(b.String()))
	return hex.EncodeToString(sum[:])
}
