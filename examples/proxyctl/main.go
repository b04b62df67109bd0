// Proxyctl makes, shows and removes proxies by hand, on the providers of
// proxyd's configuration.
//
//	go run ./examples/proxyctl list
//
// Without a configuration it takes the embedded one, with the state directory
// that proxyd takes, so that it shows the demo's proxies. docs/configuration.md
// describes the file, and proxyctl --help the commands and exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/crawlfleet/provider/examples/internal/guest"
	"github.com/crawlfleet/provider/examples/internal/kinds"
)

func main() {
	// Local proxies are processes of their own: this program again, as
	// "guest". It comes before everything else, because a guest has its own
	// flags and signals.
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second Ctrl-C has its usual effect
	a := &app{stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, open: kinds.Open}
	os.Exit(a.run(ctx, os.Args[1:]))
}
