package proxyapi

import (
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// A lease by the handler, without a connection, on 10,000 proxies and with a
// hundred tokens.
func BenchmarkCreateLease(b *testing.B) {
	pool := lease.NewPool(lease.Options{Cap: 1 << 20})
	view := make([]lease.Proxy, 10_000)
	for i := range view {
		view[i] = lease.Proxy{ID: fmt.Sprint(i), Fleet: "web", Endpoint: "192.0.2.1:3128", Working: true}
	}
	pool.Replace(view)
	tokens := make([]Token, 100)
	for i := range tokens {
		hash, err := HashToken(provider.Secret(fmt.Sprintf("token-%03d-0123456789abcdef", i)))
		if err != nil {
			b.Fatal(err)
		}
		tokens[i] = Token{Name: fmt.Sprint(i), Hash: hash}
	}
	server, err := New(Options{Pool: pool, Tokens: tokens})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		r := httptest.NewRequestWithContext(b.Context(), "POST", "/v1/leases", strings.NewReader(`{"target": "example.com", "selector": {"fleet": "web"}}`))
		r.Header.Set("Authorization", "Bearer token-050-0123456789abcdef")
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		server.Handler().ServeHTTP(w, r)
		if w.Code != 201 {
			b.Fatal(w.Body)
		}
	}
}
