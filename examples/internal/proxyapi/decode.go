package proxyapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// fields are what a JSON object may have: for each name a pointer to decode
// into, or the fields of an object below.
type fields map[string]any

// readBody decodes the body of a request, strictly: every name must be known,
// in its own spelling, and there once, because what is skipped in silence is a
// wish that the client believes fulfilled. No body is an empty object.
func readBody(r *http.Request, into fields) error {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return fmt.Errorf("the body cannot be read: %w", err)
	}
	if len(body) == 0 {
		return nil
	}
	if err := checkMediaType(r.Header); err != nil {
		return err
	}
	return decode(body, into)
}

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
	if err := decodeObject(d, "", into); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return badJSON("something follows the object")
	}
	return nil
}

// decodeObject reads an object whose path is that of its names' parents, with
// a dot behind each. A null is as if it were not there.
func decodeObject(d *json.Decoder, path string, into fields) error {
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
	var seen []string
	for d.More() {
		token, err := d.Token()
		name, ok := token.(string)
		if err != nil || !ok {
			return badJSON("it cannot be read as JSON")
		}
		target, known := into[name]
		switch {
		case !known:
			return badField(path+name, "is not known here")
		case slices.Contains(seen, name):
			return badField(path+name, "is there twice")
		}
		seen = append(seen, name)
		if err := decodeValue(d, path+name, target); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return badJSON("it cannot be read as JSON")
	}
	return nil
}

func decodeValue(d *json.Decoder, path string, target any) error {
	if below, ok := target.(fields); ok {
		return decodeObject(d, path+".", below)
	}
	err := d.Decode(target)
	if _, ok := errors.AsType[*json.SyntaxError](err); ok || errors.Is(err, io.ErrUnexpectedEOF) {
		return badJSON("it cannot be read as JSON")
	}
	if err != nil {
		return badField(path, kindOf(target))
	}
	return nil
}

// kindOf says what a target takes.
func kindOf(target any) string {
	switch target.(type) {
	case *string:
		return "is not a string"
	case *int:
		return "is not a whole number"
	case *Duration:
		return `is not a duration; write one such as "90s" or "5m"`
	case *map[string]string:
		return "is not an object of strings"
	}
	return "has the wrong type"
}

func badJSON(detail string) error {
	return Problem{Status: http.StatusBadRequest, Code: CodeBadRequest, Detail: "the body is not what is taken here: " + detail}
}

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
