//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package kinds

import (
	"context"
	"runtime"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// local is refused where a process cannot be kept apart from its starter.
func local() kind {
	refuse := func(c config.Provider) error {
		return c.Fault("kind", "local does not work on "+runtime.GOOS+"; it needs Linux, macOS or a BSD")
	}
	return kind{
		open:     func(_ context.Context, o Options) (provider.Provider, error) { return nil, refuse(o.Config) },
		validate: refuse,
	}
}
