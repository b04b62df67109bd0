package main

import (
	"bytes"
	"context"
	"errors"
	"net/netip"
	"os"
	"regexp"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/guest"
)

// TestMain lets the test binary be the guest, as the program is.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	os.Exit(m.Run())
}

func TestQuickstart(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	var out bytes.Buffer
	if err := quickstart(t.Context(), &out); err != nil {
		t.Fatal(err)
	}
	want := regexp.MustCompile(`^web-1 runs at http://127\.0\.0\.1:\d+
http://127\.0\.0\.1:\d+ answers 200 OK: a page, fetched through a proxy
and is removed again
$`)
	if !want.Match(out.Bytes()) {
		t.Errorf("it printed\n%s\nwant a match of\n%s", &out, want)
	}
	if left, err := os.ReadDir(tmp); err != nil || len(left) != 0 {
		t.Errorf("it left %v in the directory for temporary files (%v)", left, err)
	}
}

// TestRemovesAfterFailure makes the part after Ensure fail: by a target that
// nobody serves, and by a context that ends while the machine comes up.
func TestRemovesAfterFailure(t *testing.T) {
	p, err := openProvider(t.TempDir(), netip.MustParseAddrPort("127.0.0.1:1"))
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	short, cancel := context.WithCancel(t.Context())
	for _, test := range []struct {
		name   string
		ctx    context.Context
		p      provider.Provider
		target string
		want   error
	}{
		{"bad target", t.Context(), p, "http://127.0.0.1:1/%zz", nil},
		{"cut off", short, cutOff{p, cancel}, "http://127.0.0.1:1", context.Canceled},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out bytes.Buffer
			err := run(test.ctx, &out, test.p, test.target)
			if err == nil || test.want != nil && !errors.Is(err, test.want) {
				t.Errorf("run returned %v, want an error that matches %v", err, test.want)
			}
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if list, err := p.List(ctx); err != nil || len(list) != 0 {
				t.Errorf("it left %v (%v)", list, err)
			}
		})
	}
}

// cutOff ends the caller's context when an instance was made.
type cutOff struct {
	provider.Provider
	cancel func()
}

func (c cutOff) Create(ctx context.Context, spec provider.Spec) (provider.Instance, error) {
	defer c.cancel()
	return c.Provider.Create(ctx, spec)
}
