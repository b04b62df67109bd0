package providertest

import (
	"context"
	"testing"
)

// onFake returns a configuration that tests fakes made from opts.
func onFake(opts FakeOptions) Config {
	return Config{Open: func(_ context.Context, env Env) (Harness, error) {
		opts := opts
		opts.Logger = env.Logger
		return NewFakeBackend(opts), nil
	}}
}

func TestSoundFake(t *testing.T) { Run(t, onFake(FakeOptions{})) }
