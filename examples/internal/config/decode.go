package config

import (
	"encoding"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

// maxFile guards against a path that names something else than a configuration.
const maxFile = 1 << 20

// keys are those of a provider that belong to its kind.
type keys struct {
	values []*ast.MappingValueNode
	path   string
	source *source
}

// parse reads the one document of a file.
func (s *source) parse(data []byte) ast.Node {
	if len(data) > maxFile {
		s.fault("", "has %d bytes; a configuration has at most %d", len(data), maxFile)
		return nil
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		var y yaml.Error
		if !errors.As(err, &y) {
			s.fault("", "is not YAML: %v", err)
			return nil
		}
		// The message alone: the full text of the error quotes the file.
		s.faults = append(s.faults, Fault{Line: y.GetToken().Position.Line, Text: y.GetMessage()})
		return nil
	}
	var body ast.Node
	for _, doc := range file.Docs {
		switch {
		case doc.Body == nil || doc.Body.Type() == ast.CommentType:
		case body != nil:
			s.faults = append(s.faults, Fault{Line: nodeLine(doc.Body), Text: "begins a second document; a configuration is one"})
		default:
			body = doc.Body
		}
	}
	if body == nil && len(s.faults) == 0 {
		s.fault("", "is empty")
	}
	return body
}

// decode fills v from node. Every fault is noted with its path, and decoding
// goes on, so that one run shows all of them. What the file does not name
// keeps its value.
//
// It is written out here, and not left to the YAML package, for the sake of
// these faults: that one stops at the first and knows no paths.
func (s *source) decode(node ast.Node, path string, v reflect.Value) {
	if path != "" && s.lines[path] == 0 {
		s.lines[path] = nodeLine(node)
	}
	if _, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok || v.Type() == reflect.TypeFor[time.Duration]() {
		s.scalar(node, path, v)
		return
	}
	switch n := node.(type) {
	case *ast.NullNode:
		return // "key:" with nothing behind it
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode:
		s.fault(path, "anchors, aliases and tags are not read; write the value out")
		return
	case *ast.MappingNode:
		if v.Kind() == reflect.Struct {
			s.decodeStruct(n.Values, path, v)
			return
		}
		if v.Kind() == reflect.Map {
			s.decodeMap(n.Values, path, v)
			return
		}
	case *ast.SequenceNode:
		if v.Kind() == reflect.Slice {
			v.Set(reflect.MakeSlice(v.Type(), len(n.Values), len(n.Values)))
			for i, item := range n.Values {
				s.decode(item, fmt.Sprintf("%s[%d]", path, i), v.Index(i))
			}
			return
		}
	}
	s.scalar(node, path, v)
}

func (s *source) decodeStruct(values []*ast.MappingValueNode, path string, v reflect.Value) {
	known := fieldsOf(v.Type())
	rest, open := v.Addr().Interface().(*Provider)
	for _, pair := range values {
		key, ok := s.key(pair, path)
		if !ok {
			continue
		}
		if i, ok := known[key]; ok {
			s.decode(pair.Value, join(path, key), v.Field(i))
			continue
		}
		if open {
			rest.keys.values = append(rest.keys.values, pair)
			continue
		}
		s.unknown(path, key, v.Type())
	}
	if open {
		rest.keys.path, rest.keys.source = path, s
	}
}

func (s *source) decodeMap(values []*ast.MappingValueNode, path string, v reflect.Value) {
	v.Set(reflect.MakeMap(v.Type()))
	for _, pair := range values {
		key, ok := s.key(pair, path)
		if !ok {
			continue
		}
		item := reflect.New(v.Type().Elem()).Elem()
		s.decode(pair.Value, join(path, key), item)
		v.SetMapIndex(reflect.ValueOf(key), item)
	}
}

// key returns the key of a pair, and remembers where it stands.
func (s *source) key(pair *ast.MappingValueNode, path string) (string, bool) {
	text, ok := plain(pair.Key)
	if !ok {
		s.lines[path+".?"] = nodeLine(pair.Key)
		s.fault(path+".?", "a key is a plain word; merge keys, anchors and lists are not read")
		return "", false
	}
	s.lines[join(path, text)] = nodeLine(pair.Key)
	return text, true
}

// scalar fills v from a single value.
func (s *source) scalar(node ast.Node, path string, v reflect.Value) {
	if node.Type() == ast.NullType {
		return
	}
	text, ok := plain(node)
	if !ok {
		s.fault(path, "is a %s; %s is expected", strings.ToLower(node.Type().YAMLName()), expected(v.Type()))
		return
	}
	if err := setText(v, text); err != nil {
		s.fault(path, "%v", err)
	}
}

// setText fills v from the text of a value, as it stands in the file: a
// revision of 1.10 stays 1.10.
func setText(v reflect.Value, text string) error {
	if u, ok := v.Addr().Interface().(encoding.TextUnmarshaler); ok {
		return u.UnmarshalText([]byte(text))
	}
	var err error
	switch {
	case v.Type() == reflect.TypeFor[time.Duration]():
		var d time.Duration
		d, err = time.ParseDuration(text)
		v.SetInt(int64(d))
	case v.Kind() == reflect.String:
		v.SetString(text)
	case v.Kind() == reflect.Bool:
		var b bool
		b, err = strconv.ParseBool(text)
		v.SetBool(b)
	case v.CanInt():
		var n int64
		n, err = strconv.ParseInt(text, 10, v.Type().Bits())
		v.SetInt(n)
	case v.CanUint():
		var n uint64
		n, err = strconv.ParseUint(text, 10, v.Type().Bits())
		v.SetUint(n)
	case v.CanFloat():
		var f float64
		f, err = strconv.ParseFloat(text, 64)
		v.SetFloat(f)
	default:
		err = errors.New("not a single value")
	}
	if err != nil {
		return fmt.Errorf("%.80q cannot be read; %s is expected", text, expected(v.Type()))
	}
	return nil
}

// expected names what a value of the type looks like.
func expected(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Duration]():
		return "a duration such as 30s or 5m"
	case t.Kind() == reflect.Bool:
		return "true or false"
	case t.Kind() == reflect.Struct || t.Kind() == reflect.Map:
		return "a mapping (key: value)"
	case t.Kind() == reflect.Slice:
		return "a list (- value)"
	case t.Kind() == reflect.Float64:
		return "a number"
	case t.Kind() == reflect.Uint16:
		return "a whole number from 0 to 65535"
	case t.Kind() == reflect.String:
		return "a text"
	}
	return "a whole number"
}

// plain returns a value as it stands in the file.
func plain(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	}
	return "", false
}

func nodeLine(node ast.Node) int { return node.GetToken().Position.Line }

func join(path, key string) string {
	if path == "" || key == "" {
		return path + key
	}
	return path + "." + key
}

// fieldsOf maps the YAML keys of a struct to the indexes of its fields.
func fieldsOf(t reflect.Type) map[string]int {
	fields := map[string]int{}
	for i := range t.NumField() {
		if key := t.Field(i).Tag.Get("yaml"); key != "" {
			fields[key] = i
		}
	}
	return fields
}
