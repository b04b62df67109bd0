package lease_test

import (
	"errors"
	"fmt"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// Leases spread over the proxies, and a full pool says when to come again.
func Example() {
	pool := lease.NewPool(lease.Options{Cap: 1})
	pool.Replace([]lease.Proxy{
		{ID: "a", Name: "web-0", Fleet: "web", Endpoint: "192.0.2.1:3128", Working: true},
		{ID: "b", Name: "web-1", Fleet: "web", Endpoint: "192.0.2.2:3128", Working: true},
	})
	for range 3 {
		leases, err := pool.Lease(lease.Request{Holder: "crawler"})
		if denied, ok := errors.AsType[*lease.DeniedError](err); ok {
			fmt.Println(denied.Reason)
			continue
		}
		fmt.Println(leases[0].Proxy.Name)
	}
	// Output:
	// web-0
	// web-1
	// at_cap
}
