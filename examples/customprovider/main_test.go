//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"os"
	"testing"

	"github.com/crawlfleet/provider/examples/internal/guest"
)

// TestMain lets the test binary be three programs: the tests, a guest, and a
// manager that the tests kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "guest":
			os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
		case "manager":
			os.Exit(runManager(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

func runManager(args []string) int { return 0 }
