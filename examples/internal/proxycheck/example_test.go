package proxycheck_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
)

// A server that asks for credentials and accepts none is not a working proxy.
func ExampleChecker_Check() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusProxyAuthRequired)
	}))
	defer server.Close()
	checker := &proxycheck.Checker{}
	_, err := checker.Check(context.Background(), proxycheck.Proxy{
		Endpoint:    strings.TrimPrefix(server.URL, "http://"),
		Credentials: provider.Credentials{Username: "crawler", Password: "secret"},
	})
	fmt.Println(err)
	// Output: GET: the proxy refused its credentials (407)
}
