package config

import (
	"slices"
	"strings"
)

// SameKeys reports whether two providers are of one kind and have the same
// keys of it, so that what was opened from one serves for the other. Keys that
// are written differently are taken to be different, wherever they stand.
func (p Provider) SameKeys(other Provider) bool {
	return p.Kind == other.Kind && slices.Equal(p.keys.texts(), other.keys.texts())
}

// texts returns the keys as they are written, in order.
func (k keys) texts() []string {
	texts := make([]string, len(k.values))
	for i, pair := range k.values {
		texts[i] = strings.TrimSpace(pair.String())
	}
	slices.Sort(texts)
	return texts
}
