// Package providertest is the conformance suite for implementations of
// provider.Provider, and a [Fake] to test their callers with.
//
// An author calls [Run] from a test:
//
//	func TestConformance(t *testing.T) {
//		providertest.Run(t, providertest.Config{
//			Open: func(ctx context.Context, env providertest.Env) (providertest.Harness, error) {
//				return &harness{dir: t.TempDir(), log: env.Logger}, nil
//			},
//		})
//	}
//
// and writes the harness: four methods that open a provider, give a spec, look
// at the backend and clean it up, and optional interfaces for what a backend
// can be made to do ([Stopper], [Wrecker], [Squatter], [Places], [Readable],
// [Killer], [Breaker]). [Check] does the same without package testing and returns the
// [Report].
//
// The rules and their checks are one table, [Rules]; docs/providers.md is
// generated from it. A rule whose checks are still to come says so there and
// in every report.
//
// # How checks judge
//
// Every check has a harness, an owner and names of its own. It prepares and
// looks by the harness, so that one fault of a provider fails one check. A rule
// that stands on one that failed is blocked, and not failed. An answer that the
// backend is full or busy (RateLimited, QuotaExceeded, NoCapacity) makes a
// check inconclusive: neither passed nor failed. Every call is bounded by
// [Config.Patience], and every check by a watchdog.
package providertest

//go:generate go run ./internal/gendoc ../docs/providers.md
