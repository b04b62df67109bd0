package config

import (
	"fmt"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
)

// Members returns the names of the members that the fleet shall have.
func (f *Fleet) Members() []string {
	names := make([]string, f.Replicas)
	for n := range names {
		names[n] = fleet.MemberName(f.Name, n)
	}
	return names
}

// Spec returns what the member of that name is made from. The name need not be
// that of a member; proxyctl makes instances of its own from a fleet's
// template. The error, of Kind Invalid, is that of [provider.Spec.Validate], or
// says that Prepare has not run.
func (f *Fleet) Spec(member string) (provider.Spec, error) {
	spec := f.spec(member)
	if f.Template.Credentials.Generate && spec.Credentials.Password == "" {
		return provider.Spec{}, &provider.Error{Kind: provider.Invalid, Field: "Credentials",
			Err: fmt.Errorf("the credentials of fleet %s have not been generated; Prepare does that", f.Name)}
	}
	return spec, spec.Validate()
}

func (f *Fleet) spec(member string) provider.Spec {
	t := &f.Template
	return provider.Spec{
		Name:     member,
		Image:    t.Image,
		Location: t.Location,
		Size: provider.Size{
			MilliCPU: int64(t.Size.CPU), MemoryBytes: int64(t.Size.Memory), DiskBytes: int64(t.Size.Disk),
		},
		Port:        t.Port,
		Credentials: t.Credentials.resolved,
		AllowFrom:   t.AllowFrom,
		Preemptible: t.Preemptible,
		Labels:      t.Labels,
		Revision:    t.Revision,
	}
}

// Fleet returns the fleet of that name.
func (c *Config) Fleet(name string) (*Fleet, bool) {
	for i := range c.Fleets {
		if c.Fleets[i].Name == name {
			return &c.Fleets[i], true
		}
	}
	return nil, false
}

// Member returns the fleet that an instance of that name is a member of.
func (c *Config) Member(name string) (*Fleet, bool) {
	of, n, ok := fleet.ParseMember(name)
	if !ok {
		return nil, false
	}
	f, ok := c.Fleet(of)
	return f, ok && n < f.Replicas
}

// Owners returns a Ref for every member of every fleet, for
// [provider.Collector]: by name alone, because names are all that a program
// without a database knows, and whatever provider the fleet names, because a
// fleet that moves has members on two.
func (c *Config) Owners() []provider.Ref {
	var refs []provider.Ref
	for i := range c.Fleets {
		for _, name := range c.Fleets[i].Members() {
			refs = append(refs, provider.Ref{Name: name})
		}
	}
	return refs
}

// AdhocOwner is the owner of what people make by hand with proxyctl --adhoc:
// Owner with a suffix that no Owner has.
func (c *Config) AdhocOwner() string { return c.Owner + adhocSuffix }
