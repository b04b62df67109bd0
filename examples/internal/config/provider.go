package config

import "reflect"

// Decode fills the struct that v points to with the keys of the provider's
// kind: those beside kind and retired, by its yaml tags. It is as strict as
// the file: unknown keys and values of another type are faults. The error is
// an [*Error]; a Provider without keys of its own fills nothing.
//
// The struct may have what the file has: texts, numbers, booleans, durations,
// types that unmarshal text such as [Bytes] and netip.Prefix, and structs,
// lists and maps of these.
func (p Provider) Decode(v any) error {
	if p.keys.source == nil {
		return nil
	}
	// A source of its own, because Decode may be called at any time.
	s := &source{file: p.keys.source.file, lines: map[string]int{p.keys.path: p.keys.source.line(p.keys.path)}}
	s.decodeStruct(p.keys.values, p.keys.path, reflect.ValueOf(v).Elem())
	return s.err()
}

// Fault returns an error that says of one of the provider's keys what is wrong
// with it, in the form of all faults: with file, line and path. Package kinds
// uses it for what it checks after Decode.
func (p Provider) Fault(key, text string) error {
	if p.keys.source == nil {
		return &Error{File: "configuration", Faults: []Fault{{Path: key, Text: text}}}
	}
	path := join(p.keys.path, key)
	return &Error{File: p.keys.source.file, Faults: []Fault{{Path: path, Line: p.keys.source.line(path), Text: text}}}
}
