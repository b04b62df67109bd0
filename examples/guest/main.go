// The program guest is the forward proxy that runs inside a machine. It takes
// what to do from a document; docs/guest.md describes both.
package main

import (
	"os"

	"github.com/crawlfleet/provider/examples/internal/guest"
)

func main() { os.Exit(guest.Main(os.Args[1:], os.Stdout, os.Stderr)) }
