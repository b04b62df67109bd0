package config

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// secretKeys are the keys under which people expect to write a secret, by the
// type that they would stand in, with the way out.
var secretKeys = map[reflect.Type]map[string]string{
	reflect.TypeFor[Credentials](): {
		"password": "a password in this file is refused; write passwordFile, passwordEnv or generate: true",
	},
	reflect.TypeFor[Token](): {
		"token": "a token in this file is refused; write tokenFile, tokenEnv or sha256 (printf %s TOKEN | sha256sum)",
	},
}

// unknown notes a key that t does not have, with the nearest one that it has.
func (s *source) unknown(path, key string, t reflect.Type) {
	if text, ok := secretKeys[t][key]; ok {
		s.fault(join(path, key), "%s", text)
		return
	}
	known := slices.Sorted(maps.Keys(fieldsOf(t)))
	if near := nearest(key, known); near != "" {
		s.fault(join(path, key), "unknown key; is %s meant?", near)
		return
	}
	s.fault(join(path, key), "unknown key; the keys here are %s", strings.Join(known, ", "))
}

// nearest returns the word that takes the fewest edits to reach, or "" when
// all are too far off to be a slip: more than about a third of the letters.
func nearest(word string, words []string) string {
	best, least := "", 1+max(1, (len(word)+1)/3)
	for _, w := range words {
		if d := distance(strings.ToLower(word), strings.ToLower(w)); d < least {
			best, least = w, d
		}
	}
	return best
}

// distance is that of Levenshtein, in bytes.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			diagonal, row[j+1] = row[j+1], min(diagonal+cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
