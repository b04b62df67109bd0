// Package daemon keeps fleets of proxies as a configuration wants them, and
// serves the client API. It is proxyd without its flags and its terminal.
//
// # Goroutines
//
// Each provider has a loop of its own, which alone has what is known of that
// provider ([fleet.Memory]). The loop never waits for a backend, a proxy or
// another loop: lists, calls and checks run in goroutines of their own, up to
// a number for each provider, with a deadline each, and send back what came of
// them. So a provider that hangs holds up itself, and a call that hangs one
// place among the calls of its provider.
//
//	list, every 1 to 10 s ---+
//	calls, some at once -----+--> loop: fleet.Memory --> fleet.Decide --> calls
//	checks, some at once ----+             |
//	reload, timers ----------+             +--> lease.Pool, status, metrics
//
// What comes back is decided about at once; without news, a loop wakes when a
// pause, a limit or a check is due.
//
// # State
//
// There is no database. Members are found by their names in what the provider
// lists, so a daemon that was killed finds everything again and makes nothing
// new. The state directory has the generated credentials, the instances of
// local providers, and a lock that keeps a second daemon away.
//
// # End
//
// When the context of [Daemon.Run] ends, no round begins any more. With
// [Options.Remove] every instance is then deleted, first to last through the
// same loops; otherwise they are left for the next start.
package daemon
