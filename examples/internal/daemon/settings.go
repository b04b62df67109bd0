package daemon

import (
	"net"
	"net/url"
	"slices"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/proxycheck"
)

// settings are what a loop takes from the configuration.
type settings struct {
	provider    config.Provider
	fleets      []fleet.Fleet
	retired     bool
	policy      fleet.Policy
	check       config.Check
	checker     proxycheck.Checker
	concurrency int
	collector   config.Collector
	owners      []provider.Ref // the members of all fleets of all providers
}

// settingsOf returns what the loop of a provider does under a configuration.
// The fleets of other providers are there with no replicas: what they left
// here goes.
func settingsOf(c *config.Config, name, listen string) (settings, error) {
	p := c.Providers[name]
	s := settings{
		provider: p, retired: p.Retired, check: c.Check, concurrency: c.Limits.Concurrency, collector: c.Collector, owners: c.Owners(),
		policy: fleet.Policy{
			FailedChecks: c.Check.Failures, Start: c.Limits.Start, Drain: c.Limits.Drain,
			Replacing: c.Limits.ReplacePerProvider, FreezeShare: c.Limits.FreezeShare,
		},
	}
	for i := range c.Fleets {
		f := &c.Fleets[i]
		out := fleet.Fleet{Name: f.Name, MaxAge: f.MaxAge}
		if f.Provider == name {
			spec, err := f.Spec(fleet.MemberName(f.Name, 0))
			if err != nil {
				return settings{}, err
			}
			out.Spec, out.Replicas = spec, f.Replicas
		}
		s.fleets = append(s.fleets, out)
	}
	target, err := checkURL(c.Check.URL, p.Kind, listen)
	if err != nil {
		return settings{}, err
	}
	s.checker = proxycheck.Checker{URL: target, Timeout: c.Check.Timeout}
	return s, nil
}

// localKind is the one kind whose guests are on this machine and reach the
// daemon where it listens.
const localKind = "local"

// checkURL is what is fetched through the proxies of a provider: what the
// configuration says, or else the daemon's own address where its guests reach
// that, or else nothing.
func checkURL(configured, kind, listen string) (*url.URL, error) {
	switch {
	case configured != "":
		return url.Parse(configured)
	case kind != localKind:
		return nil, nil
	}
	return &url.URL{Scheme: "http", Host: reachable(listen), Path: "/v1/whoami"}, nil
}

// reachable turns the address of a listener into one to connect to from this
// machine.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if err != nil {
		return listen
	}
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return net.JoinHostPort(host, port)
}

// withGone adds the fleets that were there before and are not any more, with
// no replicas, so that their members go.
func (s *settings) withGone(before []fleet.Fleet) {
	for _, f := range before {
		if !slices.ContainsFunc(s.fleets, func(g fleet.Fleet) bool { return g.Name == f.Name }) {
			s.fleets = append(s.fleets, fleet.Fleet{Name: f.Name})
		}
	}
}

// fleet returns the fleet of a member.
func (s *settings) fleet(member string) (*fleet.Fleet, bool) {
	name, _, ok := fleet.ParseMember(member)
	i := slices.IndexFunc(s.fleets, func(f fleet.Fleet) bool { return f.Name == name })
	if !ok || i < 0 {
		return nil, false
	}
	return &s.fleets[i], true
}

// history remembers the specs of each fleet, the newest last. New credentials
// come with a new revision, and so with another hash; members of an earlier
// spec are used with its credentials until they are replaced.
type history map[string][]provider.Spec

// maxHistory bounds the specs remembered of one fleet: a roll-out is over long
// before that many follow.
const maxHistory = 10

// add remembers the spec of a fleet.
func (h history) add(f fleet.Fleet) {
	specs := h[f.Name]
	if f.Spec.Credentials == (provider.Credentials{}) || len(specs) > 0 && specs[len(specs)-1].Hash() == f.Spec.Hash() {
		return
	}
	h[f.Name] = append(specs[max(0, len(specs)+1-maxHistory):], f.Spec)
}

// credentials returns what a member with that hash was given: those of the
// newest spec that it matches, and else of the newest spec.
func (h history) credentials(fleet, member, specHash string) provider.Credentials {
	specs := h[fleet]
	for _, spec := range slices.Backward(specs) {
		if spec.Name = member; spec.MatchesHash(specHash) {
			return spec.Credentials
		}
	}
	if len(specs) == 0 {
		return provider.Credentials{}
	}
	return specs[len(specs)-1].Credentials
}
