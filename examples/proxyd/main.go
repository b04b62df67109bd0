// Command proxyd keeps fleets of forward proxies and hands them out over the
// client API of docs/api.md.
//
// Without a configuration it is a demo: three proxies as processes of this
// machine, which are gone when it ends.
//
//	go run ./examples/proxyd
//
// With one it keeps what the file asks for, and leaves it running when it
// ends, so that the next start goes on with it. docs/configuration.md describes
// the file, and proxyd.example.yaml is one.
//
//	go run ./examples/proxyd -config examples/proxyd/proxyd.example.yaml
package main

import (
	"os"
	"os/signal"
	"syscall"

	"github.com/crawlfleet/provider/examples/internal/guest"
)

func main() {
	if len(os.Args) > 1 && os.Args[1] == guestCommand {
		os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
	}
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	os.Exit(run(os.Args[1:], surroundings{stdout: os.Stdout, stderr: os.Stderr, getenv: os.Getenv, signals: signals}))
}
