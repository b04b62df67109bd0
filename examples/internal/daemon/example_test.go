package daemon

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
	"github.com/crawlfleet/provider/providertest"
)

// A daemon keeps a fleet of two until it is told to end, and then removes it.
// The provider is one in memory here, and every proxy works; without the last
// two options they are those of the configuration.
func ExampleDaemon() {
	dir, err := os.MkdirTemp("", "proxyd")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	text := "owner: example\nstateDir: .\napi: {listen: '127.0.0.1:0'}\n" +
		"providers: {here: {kind: fake}}\nfleets: [{name: web, provider: here, replicas: 2}]\n"
	c, err := config.Parse(filepath.Join(dir, "proxyd.yaml"), []byte(text), os.Getenv)
	if err != nil {
		log.Fatal(err)
	}
	fake := providertest.NewFake(providertest.FakeOptions{})
	d, err := New(Options{
		Config: c, Remove: true,
		open: func(context.Context, string, config.Provider) (provider.Provider, error) { return fake, nil },
		check: func(context.Context, *proxycheck.Checker, proxycheck.Proxy) (proxycheck.Result, error) {
			return proxycheck.Result{}, nil
		},
	})
	if err != nil {
		log.Fatal(err)
	}
	ctx, end := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- d.Run(ctx, context.Background()) }()
	<-d.Settled()
	for _, f := range d.Fleets() {
		fmt.Printf("%s: %d of %d work\n", f.Status.Fleet, f.Working, f.Replicas)
	}
	end()
	fmt.Println("ended:", <-ended)
	// Output:
	// web: 2 of 2 work
	// ended: <nil>
}
