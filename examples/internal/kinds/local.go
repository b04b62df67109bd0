//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kinds

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"path/filepath"
	"strconv"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/customprovider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// Local are the keys of a provider of kind local: processes of this machine.
type Local struct {
	// Dir keeps its instances; relative to the state directory, and the
	// provider's name where it is empty. Two providers need two.
	Dir string `yaml:"dir"`
	// Command is the guest's program with its first arguments, in place of the
	// guest that the program has built in.
	Command []string `yaml:"command"`
	// Destinations change what clients may reach through its proxies.
	Destinations Destinations `yaml:"destinations"`
}

// Destinations are those of [provider.Destinations], in the words of the file.
type Destinations struct {
	// Allow opens what a guest refuses by default.
	Allow []Destination `yaml:"allow"`
	// Deny closes what is open. It wins over Allow.
	Deny []netip.Prefix `yaml:"deny"`
}

// Destination is a network, on some ports or on all.
type Destination struct {
	// Prefix is the network.
	Prefix netip.Prefix `yaml:"prefix"`
	// Ports are the ports that it opens; empty is all.
	Ports []uint16 `yaml:"ports"`
}

func local() kind { return kind{open: openLocal, validate: validateLocal, place: placeLocal} }

// placeLocal returns the directory, of keys that are valid.
func placeLocal(stateDir, name string, c config.Provider) (key, place string) {
	l, err := readLocal(c)
	if err != nil {
		return "dir", name
	}
	return "dir", l.dir(stateDir, name)
}

// dir is where a provider of that name keeps its instances.
func (l Local) dir(stateDir, name string) string {
	dir := cmp.Or(l.Dir, name)
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(stateDir, dir)
	}
	return filepath.Clean(dir)
}

func validateLocal(c config.Provider) error {
	_, err := readLocal(c)
	return err
}

// readLocal decodes and checks the keys.
func readLocal(c config.Provider) (Local, error) {
	var l Local
	if err := c.Decode(&l); err != nil {
		return Local{}, err
	}
	if len(l.Command) > 0 && l.Command[0] == "" {
		return Local{}, c.Fault("command", "begins with an empty word; name the guest's program")
	}
	if err := l.Destinations.contract().Validate(); err != nil {
		e, _ := errors.AsType[*provider.Error](err)
		return Local{}, c.Fault(e.Field, e.Err.Error())
	}
	return l, nil
}

func openLocal(ctx context.Context, o Options) (provider.Provider, error) {
	l, err := readLocal(o.Config)
	if err != nil {
		return nil, err
	}
	command := l.Command
	if len(command) == 0 {
		command = o.GuestCommand
	}
	destinations := l.Destinations.contract()
	if o.Listen != "" {
		own, err := daemon(ctx, o.Listen)
		if err != nil {
			return nil, &provider.Error{Kind: provider.Invalid, Op: "Open", Provider: o.Name, Field: "Listen", Err: err}
		}
		destinations.Allow = append(destinations.Allow, own...)
	}
	p, err := customprovider.New(customprovider.Config{
		Name: o.Name, Owner: o.Owner, Dir: l.dir(o.StateDir, o.Name), Command: command, Destinations: destinations, Logger: o.Logger,
	})
	if err != nil {
		return nil, fmt.Errorf("opening provider %s: %w", o.Name, err)
	}
	return p, nil
}

func (d Destinations) contract() provider.Destinations {
	out := provider.Destinations{Deny: d.Deny}
	for _, a := range d.Allow {
		out.Allow = append(out.Allow, provider.Destination{Prefix: a.Prefix, Ports: a.Ports})
	}
	return out
}

// daemon returns the addresses under which guests of this machine reach what
// listens at listen, on its port alone. What listens everywhere is reached at
// the loopback addresses.
func daemon(ctx context.Context, listen string) ([]provider.Destination, error) {
	host, portText, err := net.SplitHostPort(listen)
	if err != nil {
		return nil, fmt.Errorf("the daemon's address: %w", err)
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil || port == 0 {
		return nil, fmt.Errorf("the daemon's address %s has no port that guests could reach", listen)
	}
	addrs := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.IPv6Loopback()}
	if ip, err := netip.ParseAddr(host); host != "" && (err != nil || !ip.IsUnspecified()) {
		if addrs, err = net.DefaultResolver.LookupNetIP(ctx, "ip", host); err != nil {
			return nil, fmt.Errorf("the daemon's address: %w", err)
		}
	}
	var open []provider.Destination
	for _, ip := range addrs {
		ip = ip.Unmap().WithZone("")
		open = append(open, provider.Destination{
			Prefix: netip.PrefixFrom(ip, ip.BitLen()), Ports: []uint16{uint16(port)},
		})
	}
	return open, nil
}
