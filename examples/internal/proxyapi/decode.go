package proxyapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
	"time"
)

// fields are what a JSON object may have: for each name a pointer to decode
// into, or the fields of an object below.
type fields map[string]any

// lookup is what decodeObject asks.
func (f fields) lookup(name string) (target any, known bool) {
	target, known = f[name]
	return target, known
}

// readBody decodes the body of a request, strictly: every name must be known,
// in its own spelling, and there once, because what is skipped in silence is a
// wish that the client believes fulfilled. No body is an empty object.
func readBody(r *http.Request, into fields) error {
	body, err := io.ReadAll(r.Body)
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return fmt.Errorf("reading the body: %w", err)
	}
	if err != nil {
		return badJSON("it did not arrive whole")
	}
	if len(body) == 0 {
		return nil
	}
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	return decode(body, into)
}

// checkMediaType asks for the one form that decode reads. A body that is not
// announced as JSON is refused even when it is JSON: a page in a browser may
// send such a body to a loopback port without asking, but not this type.
func checkMediaType(h http.Header) error {
	mediaType, params, err := mime.ParseMediaType(h.Get("Content-Type"))
	charset := params["charset"]
	if err != nil || mediaType != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return Problem{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType,
			Detail: "the body must be JSON; send Content-Type: application/json"}
	}
	if encoding := h.Get("Content-Encoding"); encoding != "" && encoding != "identity" {
		return Problem{Status: http.StatusUnsupportedMediaType, Code: CodeMediaType,
			Detail: "the body must not be compressed"}
	}
	return nil
}

// decode reads one JSON object and nothing behind it.
func decode(body []byte, into fields) error {
	d := json.NewDecoder(bytes.NewReader(body))
	if err := decodeObject(d, "", into.lookup); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badJSON("something follows the object")
	}
	return nil
}

// decodeObject reads an object; path is what stands before its names, and into
// tells for each where it goes. A null is as if it were not there.
func decodeObject(d *json.Decoder, path string, into func(name string) (target any, known bool)) error {
	start, err := d.Token()
	switch {
	case err != nil:
		return badJSON("it cannot be read as JSON")
	case start == nil && path != "":
		return nil
	case start != json.Delim('{') && path == "":
		return badJSON("it is not an object")
	case start != json.Delim('{'):
		return badField(strings.TrimSuffix(path, "."), "is not an object")
	}
	seen := make(map[string]bool)
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return badJSON("it cannot be read as JSON")
		}
		target, known := into(name)
		switch {
		case !known:
			return badField(path+name, "is not known here")
		case seen[name]:
			return badField(path+name, "is there twice")
		}
		seen[name] = true
		if err := decodeValue(d, path+name, target); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return badJSON("it cannot be read as JSON")
	}
	return nil
}

// decodeValue reads what follows a name. Malformed JSON is the body's fault,
// and a value of another type the field's.
func decodeValue(d *json.Decoder, path string, target any) error {
	switch target := target.(type) {
	case fields:
		return decodeObject(d, path+".", target.lookup)
	case *map[string]string:
		return decodeStrings(d, path+".", target)
	}
	err := d.Decode(target)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return badJSON("it cannot be read as JSON")
	}
	if err != nil {
		return badField(path, mismatch(target))
	}
	return nil
}

// decodeStrings reads an object whose names are the client's.
func decodeStrings(d *json.Decoder, path string, into *map[string]string) error {
	values := make(map[string]**string)
	err := decodeObject(d, path, func(name string) (any, bool) {
		values[name] = new(*string)
		return values[name], true
	})
	if err != nil {
		return err
	}
	*into = make(map[string]string, len(values))
	for name, value := range values {
		if *value != nil {
			(*into)[name] = **value
		}
	}
	return nil
}

// mismatch says what a target takes.
func mismatch(target any) string {
	switch target.(type) {
	case *string, **string:
		return "is not a string"
	case *int:
		return "is not a whole number"
	case *Duration:
		return `is not a duration; write one such as "90s" or "5m"`
	}
	return "has the wrong type"
}

// badJSON is the problem of a body of which no field can be named.
func badJSON(detail string) error {
	return Problem{Status: http.StatusBadRequest, Code: CodeBadRequest, Detail: "the body is not what is taken here: " + detail}
}

// badField is the problem of a field or a parameter, which the detail names
// too, for who shows nothing else.
func badField(field, detail string) error {
	// A name that a client made up may be long.
	field = strings.ToValidUTF8(field[:min(len(field), 200)], "?")
	return Problem{Status: http.StatusBadRequest, Code: CodeInvalid, Field: field, Detail: field + ": " + detail}
}

// Duration is a time span that JSON has as a string in Go's form: "90s",
// "1h30m". It is a string and not a number, because a number without a unit is
// taken for seconds by one reader and for milliseconds by the next.
type Duration time.Duration

// MarshalText writes Go's form.
func (d Duration) MarshalText() ([]byte, error) { return []byte(time.Duration(d).String()), nil }

// UnmarshalText reads Go's form.
func (d *Duration) UnmarshalText(text []byte) error {
	parsed, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("not a duration: %w", err)
	}
	*d = Duration(parsed)
	return nil
}
