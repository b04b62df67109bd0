package proxyapi_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// A program keeps a pool up to date and serves it; a crawler takes a lease.
func Example() {
	pool := lease.NewPool(lease.Options{})
	pool.Replace([]lease.Proxy{{
		ID: "1/here/a", Name: "web-0", Fleet: "web", Provider: "local",
		Endpoint: "127.0.0.1:3128", Working: true, State: provider.Running,
		Credentials: provider.Credentials{Username: "crawler", Password: "p@ss/word"},
	}})
	token := proxyapi.NewToken()
	hash, err := proxyapi.HashToken(token)
	if err != nil {
		fmt.Println(err)
		return
	}
	server, err := proxyapi.New(proxyapi.Options{
		Pool:   pool,
		Tokens: []proxyapi.Token{{Name: "crawler", Hash: hash}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ts := httptest.NewServer(server.Handler())
	defer ts.Close()

	request, err := http.NewRequest("POST", ts.URL+"/v1/leases", strings.NewReader(`{"target": "https://example.com/"}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	request.Header.Set("Authorization", "Bearer "+string(token))
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer response.Body.Close()
	var list proxyapi.LeaseList
	if err := json.NewDecoder(response.Body).Decode(&list); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(response.StatusCode, list.Leases[0].URL, "for", list.Leases[0].Target)
	fmt.Println("in use:", pool.InUse("1/here/a"))
	// Output:
	// 201 http://crawler:p%40ss%2Fword@127.0.0.1:3128 for example.com
	// in use: 1
}
