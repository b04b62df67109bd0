package proxyapi

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// What decode takes, encoding/json takes as strictly as it can, and reads the
// same in it. Whatever else comes in is a problem of the client's.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{
		`{}`, `{"target": "example.com", "selector": {"fleet": "web", "labels": {"a": "b"}}, "session": "s", "ttl": "5m", "count": 3}`,
		`{"selector": null}`, `{"selector": {"labels": {"a": null}}}`, `{"count": 1e2}`, `[{"count": 1}]`, `{"ttl": ""}`, `{"a": {"b": `,
		`{"target": "\ud800"}`, `{"count": 1}{`, "{\"session\": \"\xff\"}", `{"ttl": "1h", "ttl": "2h"}`, `{"selector": {"labels": {"": ""}}}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		var got LeaseRequest
		if err := decode(body, got.fields()); err != nil {
			p, ok := errors.AsType[Problem](err)
			if !ok || p.Status != 400 || p.Detail == "" {
				t.Fatalf("decode(%q): %v; want a problem with status 400", body, err)
			}
			return
		}
		var want LeaseRequest
		d := json.NewDecoder(bytes.NewReader(body))
		d.DisallowUnknownFields()
		if err := d.Decode(&want); err != nil {
			t.Fatalf("decode takes %q, which encoding/json refuses: %v", body, err)
		}
		// encoding/json has a null label as an empty one.
		for name, value := range want.Selector.Labels {
			if _, there := got.Selector.Labels[name]; !there && value == "" {
				delete(want.Selector.Labels, name)
			}
		}
		if len(want.Selector.Labels) == 0 && len(got.Selector.Labels) == 0 {
			want.Selector.Labels, got.Selector.Labels = nil, nil
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("decode(%q) differs from encoding/json (-theirs +ours):\n%s", body, diff)
		}
	})
}

func TestLeaseRequestRoundTrip(t *testing.T) {
	want := LeaseRequest{
		Target: "example.com", Session: "s", TTL: Duration(90 * time.Second), Count: 2,
		Selector: Selector{Fleet: "web", Provider: "local", Location: "host-1", Labels: map[string]string{"a": "b", "": "c"}},
	}
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var got LeaseRequest
	if err := decode(text, got.fields()); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-sent +read):\n%s", diff)
	}
	if text, err := json.Marshal(LeaseRequest{}); err != nil || string(text) != "{}" {
		t.Errorf("the zero request is %s, %v; want {}", text, err)
	}
}
