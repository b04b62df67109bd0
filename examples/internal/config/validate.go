package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/crawlfleet/provider"
)

// adhocSuffix makes the owner of what people make by hand.
const adhocSuffix = "-adhoc"

// validate notes every fault of a configuration that could be decoded.
func (c *Config) validate() {
	c.validateOwner()
	c.validateAPI()
	c.validateNumbers()
	if len(c.Providers) == 0 {
		c.source.fault("providers", "is empty; name at least one provider")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Providers)) {
		path := join("providers", name)
		c.label(path, "provider", name, provider.MaxName)
		if c.Providers[name].Kind == "" {
			c.source.fault(path+".kind", "is missing; write the kind of backend, such as local")
		}
	}
	seen := map[string]bool{}
	for i := range c.Fleets {
		c.validateFleet(fmt.Sprintf("fleets[%d]", i), &c.Fleets[i], seen)
	}
}

func (c *Config) validateOwner() {
	switch {
	case c.Owner == "" && c.embedded:
	case c.Owner == "":
		c.source.fault("owner", "is missing; give this installation a unique name that never changes, such as crawl-berlin-7f3a")
	case strings.HasSuffix(c.Owner, adhocSuffix):
		c.source.fault("owner", "%q ends in %s, which marks what is made by hand; take another name", c.Owner, adhocSuffix)
	default:
		c.label("owner", "owner", c.Owner, provider.MaxName-len(adhocSuffix))
	}
}

func (c *Config) validateAPI() {
	host, port, err := net.SplitHostPort(c.API.Listen)
	_, portErr := strconv.ParseUint(port, 10, 16)
	if err != nil || portErr != nil || strings.ContainsFunc(host, unicode.IsSpace) {
		c.source.fault("api.listen", "%q is not host:port; write one such as %s", c.API.Listen, DefaultListen)
	}
	seen := map[string]bool{}
	for i, t := range c.API.Tokens {
		path := fmt.Sprintf("api.tokens[%d]", i)
		c.label(path+".name", "token", t.Name, provider.MaxName)
		if t.SHA256 != "" && seen[t.SHA256] {
			c.source.fault(path, "is the same token as one before; give each its own")
		}
		seen[t.SHA256] = true
		for j, fleet := range t.Fleets {
			if !slices.ContainsFunc(c.Fleets, func(f Fleet) bool { return f.Name == fleet }) {
				c.source.fault(fmt.Sprintf("%s.fleets[%d]", path, j), "there is no fleet %q", fleet)
			}
		}
	}
}

func (c *Config) validateNumbers() {
	if u, err := url.Parse(c.Check.URL); c.Check.URL != "" &&
		(err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		c.source.fault("check.url", "is not an http or https URL with a host")
	}
	c.duration("check.interval", c.Check.Interval, time.Second)
	c.duration("check.timeout", c.Check.Timeout, 100*time.Millisecond)
	if c.Check.Timeout > c.Check.Interval {
		c.source.fault("check.timeout", "%v is longer than check.interval, %v; make it at most that", c.Check.Timeout, c.Check.Interval)
	}
	c.number("check.failures", c.Check.Failures, 1, 100)
	c.number("check.successes", c.Check.Successes, 1, 100)
	c.number("limits.replacePerProvider", c.Limits.ReplacePerProvider, 1, MaxReplicas)
	// Written so that NaN is a fault.
	if !(c.Limits.FreezeShare > 0 && c.Limits.FreezeShare <= 1) {
		c.source.fault("limits.freezeShare", "%v is not over 0 and at most 1; 0.3 is three in ten, 1 never stops", c.Limits.FreezeShare)
	}
	c.number("limits.concurrency", c.Limits.Concurrency, 1, 256)
	c.duration("limits.start", c.Limits.Start, time.Second)
	if c.Limits.Drain < 0 {
		c.source.fault("limits.drain", "%v is negative; 0 does not wait", c.Limits.Drain)
	}
	c.duration("collector.interval", c.Collector.Interval, time.Second)
	c.duration("collector.grace", c.Collector.Grace, time.Second)
	c.number("collector.maxDeletes", c.Collector.MaxDeletes, 1, MaxReplicas)
	c.number("collector.acknowledge", c.Collector.Acknowledge, 0, 1<<20)
}

func (c *Config) duration(path string, d, least time.Duration) {
	if d < least {
		c.source.fault(path, "%v is under %v", d, least)
	}
}

func (c *Config) number(path string, n, least, most int) {
	if n < least || n > most {
		c.source.fault(path, "%d is outside %d to %d", n, least, most)
	}
}

// label checks a name that stands at path.
func (c *Config) label(path, what, name string, limit int) {
	if err := provider.ValidateName(name); err != nil {
		e, _ := errors.AsType[*provider.Error](err)
		c.source.fault(path, "the name of the %s %v", what, e.Err)
	} else if len(name) > limit {
		c.source.fault(path, "the name of the %s has %d bytes; at most %d are allowed", what, len(name), limit)
	}
}

func (c *Config) validateFleet(path string, f *Fleet, seen map[string]bool) {
	c.label(path+".name", "fleet", f.Name, MaxFleetName)
	if seen[f.Name] {
		c.source.fault(path+".name", "%q stands twice; names of fleets are unique", f.Name)
	}
	seen[f.Name] = true
	switch p, ok := c.Providers[f.Provider]; {
	case !ok:
		c.source.fault(path+".provider", "there is no provider %q; the providers are %s", f.Provider,
			strings.Join(slices.Sorted(maps.Keys(c.Providers)), ", "))
	case p.Retired && f.Replicas > 0:
		c.source.fault(path+".provider", "%s is retired; name another, or set replicas: 0", f.Provider)
	}
	c.number(path+".replicas", f.Replicas, 0, MaxReplicas)
	if f.MaxAge != 0 && f.MaxAge < MinMaxAge {
		c.source.fault(path+".maxAge", "%v is under %v; 0 never replaces for age", f.MaxAge, MinMaxAge)
	}
	if e, bad := errors.AsType[*provider.Error](f.check()); bad && e.Field != "Name" {
		c.source.fault(path+".spec."+f.yamlPath(e.Field), "%v", e.Err)
	}
}

// check validates the spec that members get. What stands in for a password that
// Prepare will make, or for the name of a fleet that has none, is valid.
func (f *Fleet) check() error {
	spec := f.spec("name-0")
	if c := f.Template.Credentials; c.Generate {
		spec.Credentials = provider.Credentials{Username: cmp.Or(c.resolved.Username, "name"), Password: "password"}
	}
	return spec.Validate()
}

// yamlPath is where a field of [provider.Spec] stands in the file, under spec.
func (f *Fleet) yamlPath(field string) string {
	c := f.Template.Credentials
	switch field {
	case "Size.MilliCPU":
		return "size.cpu"
	case "Size.MemoryBytes":
		return "size.memory"
	case "Size.DiskBytes":
		return "size.disk"
	case "Credentials.Username":
		return "credentials." + pick("username", c.UsernameFile, c.UsernameEnv)
	case "Credentials.Password":
		return "credentials." + pick("password", c.PasswordFile, c.PasswordEnv)
	}
	if key, ok := strings.CutPrefix(field, "Labels["); ok {
		if key, err := strconv.Unquote(strings.TrimSuffix(key, "]")); err == nil {
			return "labels." + key
		}
	}
	return strings.ToLower(field[:1]) + field[1:]
}

// pick returns the variant of a key that the file uses.
func pick(key, file, env string) string {
	switch {
	case file != "":
		return key + "File"
	case env != "":
		return key + "Env"
	}
	return key
}
