package proxyapi

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

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
