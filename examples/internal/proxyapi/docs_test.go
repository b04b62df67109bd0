package proxyapi

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// documentation is docs/api.md.
func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// The document has the routes as headings, with "Access: ..." below.
var routeHeading = regexp.MustCompile("(?m)^### `([A-Z]+ /[^`]*)`\n\nAccess: ([a-z]+)\\.")

func TestDocumentedRoutesAreServed(t *testing.T) {
	a := newAPI(t, lease.NewPool(lease.Options{}))
	documented := make(map[string]Access)
	for _, m := range routeHeading.FindAllStringSubmatch(documentation(t), -1) {
		documented[m[1]] = Access(m[2])
	}
	if got, headings := len(documented), strings.Count(documentation(t), "\n### `"); got != headings || got < 9 {
		t.Errorf("%d of %d headings are routes with their access", got, headings)
	}
	list := wantJSON[LeaseList](a, a.call("POST", "/v1/leases", crawlerToken, `{"count": 2}`), 201)
	for pattern, access := range documented {
		method, path, _ := strings.Cut(pattern, " ")
		id := list.Leases[0].ID
		if method == "DELETE" {
			id = list.Leases[1].ID
		}
		secret := map[Access]string{WithToken: crawlerToken}[access]
		got := a.call(method, strings.ReplaceAll(path, "{id}", id), secret, "")
		if got.StatusCode < 200 || got.StatusCode > 299 {
			t.Errorf("%s (%s) is documented and answers %d: %s", pattern, access, got.StatusCode, got.body)
		}
	}
	for _, route := range a.server.Routes() {
		if documented[route.Pattern] != route.Access {
			t.Errorf("%s is served with access %s and documented with %q", route.Pattern, route.Access, documented[route.Pattern])
		}
	}
	if len(a.server.Routes()) != len(documented) {
		t.Errorf("%d routes are served and %d documented", len(a.server.Routes()), len(documented))
	}
}

// Every code, metric and parameter of the code is in the document, and no
// other metric.
func TestDocumentHasAllNames(t *testing.T) {
	text := documentation(t)
	words := []string{string(CodeBadRequest), string(CodeInvalid), string(CodeUnauthenticated), string(CodeForbidden),
		string(CodeNoRoute), string(CodeMethod), string(CodeNoLease), string(CodeTooLarge), string(CodeMediaType),
		string(CodeNotReady), string(CodeInternal)}
	for _, r := range lease.Reasons() {
		words = append(words, string(r))
	}
	for _, e := range lease.Ends() {
		words = append(words, string(e))
	}
	for _, word := range words {
		if !strings.Contains(text, "`"+word+"`") {
			t.Errorf("docs/api.md does not have `%s`", word)
		}
	}
	documented := regexp.MustCompile(`crawlfleet_[a-z_]+`).FindAllString(text, -1)
	a := newAPI(t, lease.NewPool(lease.Options{}))
	a.call("GET", "/healthz", "", "")
	var served []string
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+)`).FindAllStringSubmatch(a.call("GET", "/metrics", "", "").body, -1) {
		served = append(served, m[1])
	}
	slices.Sort(documented)
	slices.Sort(served)
	if !slices.Equal(slices.Compact(documented), served) {
		t.Errorf("documented are the metrics %v; served are %v", documented, served)
	}
}

// The limits and defaults in the document are the code's.
func TestDocumentHasTheLimits(t *testing.T) {
	text := strings.Join(strings.Fields(documentation(t)), " ")
	a := newAPI(t, lease.NewPool(lease.Options{}))
	for _, tt := range []struct {
		phrase string
		holds  bool
	}{
		{"(10 by default)", lease.DefaultCap == 10},
		{"`\"1s\"` to `\"1h\"` | `\"5m\"`", lease.DefaultMinTTL == time.Second && lease.DefaultMaxTTL == time.Hour && lease.DefaultTTL == 5*time.Minute},
		{"1 to 100, each on another proxy", lease.MaxCount == 100},
		{"up to 256 bytes", lease.MaxSession == 256},
		{"keeps its proxy for an hour", lease.DefaultSessionIdle == time.Hour},
		{"it ended over 10 minutes ago", lease.DefaultRemember == 10*time.Minute},
		{"1 to 1000; 100 by default", MaxLimit == 1000 && DefaultLimit == 100},
		{"at most 65,536 bytes and a header 16,384", MaxBody == 65536 && a.server.HTTPServer().MaxHeaderBytes == 16384},
		{"has to arrive within 15 s", a.server.HTTPServer().ReadTimeout == 15*time.Second},
		{"at least 22 bytes", MinToken == 22},
		{"up to 64 letters", maxRequestID == 64},
	} {
		if !tt.holds || !strings.Contains(text, tt.phrase) {
			t.Errorf("docs/api.md and the code differ on %q", tt.phrase)
		}
	}
}
