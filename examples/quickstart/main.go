// Quickstart starts one forward proxy on this machine, fetches a page through
// it, and throws it away: what every caller of this module does, on whatever
// backend.
//
//	go run ./examples/quickstart
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/signal"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/customprovider"
	"github.com/crawlfleet/provider/examples/internal/guest"
)

func main() {
	// The proxy is a process of its own: this program again, as "guest".
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := quickstart(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "quickstart:", err)
		os.Exit(1)
	}
}

// quickstart prepares what run needs: a page to fetch, and a provider.
func quickstart(ctx context.Context, out io.Writer) error {
	page, err := serve("a page, fetched through a proxy\n")
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "quickstart-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	p, err := openProvider(dir, page)
	if err != nil {
		return err
	}
	defer p.Close()
	if err := run(ctx, out, p, "http://"+page.String()); err != nil {
		return err
	}
	fmt.Fprintln(out, "and is removed again")
	return nil
}

// run is what the README shows: it has a machine made, uses its proxy, and has
// it removed.
func run(ctx context.Context, out io.Writer, p provider.Provider, target string) (err error) {
	spec := provider.Spec{
		Name:        "web-1",
		Credentials: provider.Credentials{Username: "crawler", Password: provider.Secret(rand.Text())},
	}
	inst, err := provider.Ensure(ctx, p, spec, "") // safe to call again, also after a crash
	if err != nil {
		return err
	}
	ref := inst.Ref
	defer func() { err = errors.Join(err, provider.Remove(context.WithoutCancel(ctx), p, ref)) }()
	if inst, err = provider.Wait(ctx, p, ref, nil); err != nil {
		return err
	}
	fmt.Fprintf(out, "%s runs at %s://%s\n", inst.Name, inst.Scheme, inst.Endpoint)
	return fetch(ctx, out, inst, spec.Credentials, target)
}

// openProvider opens a provider whose proxies may reach the page, which is on
// a loopback address and therefore closed to them by default.
func openProvider(dir string, page netip.AddrPort) (provider.Provider, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	return customprovider.New(customprovider.Config{
		Name: "local", Owner: "quickstart", Dir: dir, Command: []string{self, "guest"},
		Destinations: provider.Destinations{Allow: []provider.Destination{
			{Prefix: netip.PrefixFrom(page.Addr(), page.Addr().BitLen()), Ports: []uint16{page.Port()}},
		}},
	})
}

// fetch prints the page at target, fetched through the proxy of inst.
func fetch(ctx context.Context, out io.Writer, inst provider.Instance, cred provider.Credentials, target string) error {
	proxy := &url.URL{
		Scheme: inst.Scheme, Host: inst.Endpoint, User: url.UserPassword(cred.Username, string(cred.Password)),
	}
	client := http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy)}}
	defer client.CloseIdleConnections()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return err
	}
	resp, err := client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	fmt.Fprintf(out, "%s answers %s: ", target, resp.Status)
	_, err = io.Copy(out, resp.Body)
	return err
}

// serve answers every request on a free loopback port with text.
func serve(text string) (netip.AddrPort, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return netip.AddrPort{}, err
	}
	go func() {
		_ = http.Serve(l, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }))
	}()
	return netip.ParseAddrPort(l.Addr().String())
}
