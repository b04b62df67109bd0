package guest_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/guest"
)

// A guest whose configuration opens loopback to one client.
func Example() {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") }))
	defer target.Close()
	loopback := netip.MustParsePrefix("127.0.0.0/8")
	server, err := guest.New(provider.Guest{
		Version: provider.GuestVersion, Port: 3128, AllowFrom: []netip.Prefix{loopback},
		Destinations: provider.Destinations{Allow: []provider.Destination{{Prefix: loopback}}},
	}, guest.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error)
	go func() { ended <- server.Serve(ctx, l) }()

	transport := &http.Transport{Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: l.Addr().String()})}
	client := &http.Client{Transport: transport}
	for _, address := range []string{target.URL, "http://169.254.169.254/latest/meta-data/"} {
		res, err := client.Get(address)
		if err != nil {
			fmt.Println(err)
			return
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		fmt.Println(res.StatusCode, string(body))
	}
	transport.CloseIdleConnections()
	cancel()
	fmt.Println("ended:", <-ended)
	// Output:
	// 200 hello
	// 403 the destination is not a public address
	//
	// ended: <nil>
}

func ExampleHashPassword() {
	hash, err := guest.HashPassword("correct-horse")
	fmt.Println(hash[:7], len(hash), err)
	_, err = guest.HashPassword("")
	fmt.Println(provider.KindOf(err))
	// Output:
	// $2a$10$ 60 <nil>
	// Invalid
}
