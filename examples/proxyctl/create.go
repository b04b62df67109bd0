package main

import (
	"context"
	"encoding"
	"fmt"
	"net/netip"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/config"
)

// specFlags are the fields of a spec that the command line may set.
type specFlags struct {
	fleet       string
	image       string
	location    string
	cpu         config.MilliCPU
	memory      config.Bytes
	disk        config.Bytes
	port        uint16
	allowFrom   []string
	preemptible bool
	labels      map[string]string
	revision    string
	set         *pflag.FlagSet // knows which were given
}

func (s *specFlags) register(flags *pflag.FlagSet) {
	s.set = flags
	flags.StringVar(&s.fleet, "fleet", "", "take the spec of this fleet")
	flags.StringVar(&s.image, "image", "", "the image")
	flags.StringVar(&s.location, "location", "", "where to run it")
	for name, f := range map[string]struct {
		usage string
		value encoding.TextUnmarshaler
	}{
		"cpu":    {"the `number` of processors: 2, 0.5 or 500m", &s.cpu},
		"memory": {"the `size` of the memory, such as 512MiB", &s.memory},
		"disk":   {"the `size` of the root disk, such as 10GiB", &s.disk},
	} {
		flags.Func(name, f.usage, func(text string) error { return f.value.UnmarshalText([]byte(text)) })
	}
	flags.Uint16Var(&s.port, "port", 0, "where the proxy listens")
	flags.StringSliceVar(&s.allowFrom, "allow-from", nil, "networks that clients may come from")
	flags.BoolVar(&s.preemptible, "preemptible", false, "allow the backend to take it back")
	flags.StringToStringVar(&s.labels, "label", nil, "a label, as key=value")
	flags.StringVar(&s.revision, "revision", "", "a text that counts in the spec's hash")
}

// spec returns what the instance of that name is to be made from: that of its
// fleet for a member, and what the flags say for one made by hand.
func (a *app) spec(c *config.Config, name string, s *specFlags) (provider.Spec, error) {
	if a.adhoc {
		return s.adhoc(c, name)
	}
	f, ok := c.Member(name)
	if !ok {
		return provider.Spec{}, usage("%s is a member of no fleet, and proxyd would remove it; "+
			"add --adhoc to make it by hand, or name a member such as %s", name, exampleMember(c))
	}
	if s.fleet != "" && s.fleet != f.Name {
		return provider.Spec{}, usage("%s is a member of fleet %s, not of %s", name, f.Name, s.fleet)
	}
	if given := s.given(); given != "" {
		return provider.Spec{}, usage("the spec of a member is that of its fleet: --%s is for --adhoc", given)
	}
	return f.Spec(name)
}

// exampleMember is a member's name for a message.
func exampleMember(c *config.Config) string {
	if refs := c.Owners(); len(refs) > 0 {
		return refs[0].Name
	}
	return "FLEET-0"
}

// given returns the name of a flag of the spec that was given, or "".
func (s *specFlags) given() string {
	fields := []string{"image", "location", "cpu", "memory", "disk", "port", "allow-from", "preemptible", "label", "revision"}
	for _, flag := range fields {
		if s.set.Changed(flag) {
			return flag
		}
	}
	return ""
}

// adhoc is the template of the fleet, where one is named, under what the flags
// say. The credentials are those of all that is made by hand, so that -o url
// knows them later.
func (s *specFlags) adhoc(c *config.Config, name string) (provider.Spec, error) {
	var spec provider.Spec
	if s.fleet != "" {
		f, ok := c.Fleet(s.fleet)
		if !ok {
			return spec, usage("there is no fleet %q in the configuration", s.fleet)
		}
		var err error
		if spec, err = f.Spec(name); err != nil {
			return spec, err
		}
	}
	cred, err := c.AdhocCredentials()
	if err != nil {
		return spec, err
	}
	spec.Name, spec.Credentials = name, cred
	if err := s.apply(&spec); err != nil {
		return spec, err
	}
	return spec, spec.Validate()
}

// apply sets the fields whose flags were given.
func (s *specFlags) apply(spec *provider.Spec) error {
	for flag, set := range map[string]func(){
		"image":       func() { spec.Image = s.image },
		"location":    func() { spec.Location = s.location },
		"cpu":         func() { spec.Size.MilliCPU = int64(s.cpu) },
		"memory":      func() { spec.Size.MemoryBytes = int64(s.memory) },
		"disk":        func() { spec.Size.DiskBytes = int64(s.disk) },
		"port":        func() { spec.Port = s.port },
		"preemptible": func() { spec.Preemptible = s.preemptible },
		"label":       func() { spec.Labels = s.labels },
		"revision":    func() { spec.Revision = s.revision },
	} {
		if s.set.Changed(flag) {
			set()
		}
	}
	if !s.set.Changed("allow-from") {
		return nil
	}
	spec.AllowFrom = nil
	for _, text := range s.allowFrom {
		p, err := netip.ParsePrefix(text)
		if err != nil {
			return usage("--allow-from %q is not a network; write one such as 10.0.0.0/8", text)
		}
		spec.AllowFrom = append(spec.AllowFrom, p)
	}
	return nil
}

func (a *app) createCommand() *cobra.Command {
	var s specFlags
	var wait bool
	cmd := &cobra.Command{
		Use: "create NAME", Short: "Make a member of a fleet, or with --adhoc one by hand",
		Long: `Make an instance, or find the one of that name.

Without --adhoc the name is that of a member, such as web-0, and its fleet says
what it is made from. With --adhoc the name is free, and the flags say what it is
made from, on top of the spec of --fleet. It gets credentials of its own, which
"proxyctl get NAME --adhoc -o url" shows.`,
		Example: "  proxyctl create web-0 --wait\n  proxyctl create try-1 --adhoc --fleet web -o url --wait",
		Args:    names(1, 1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.create(cmd.Context(), args[0], &s, wait)
		},
		ValidArgsFunction: a.completeMembers,
	}
	s.register(cmd.Flags())
	cmd.Flags().BoolVar(&wait, "wait", false, "wait until the proxy has an address")
	_ = cmd.RegisterFlagCompletionFunc("fleet", a.completeFleets)
	return cmd
}

func (a *app) create(ctx context.Context, name string, s *specFlags, wait bool) error {
	if err := a.checkOutput(outputs...); err != nil {
		return err
	}
	c, err := a.prepared()
	if err != nil {
		return err
	}
	spec, err := a.spec(c, name, s)
	if err != nil {
		return err
	}
	// An instance by hand goes where the fleet's would.
	if f, ok := c.Fleet(s.fleet); ok && a.providerName == "" {
		a.providerName = f.Provider
	}
	return a.withConfig(ctx, c, name, func(ctx context.Context, c *config.Config, p provider.Provider) error {
		inst, err := provider.Ensure(ctx, p, spec, "")
		if err != nil {
			return err
		}
		if !spec.MatchesHash(inst.SpecHash) {
			fmt.Fprintf(a.stderr, "proxyctl: %s exists already, made from another spec; delete it first to change it\n", name)
		}
		if wait {
			if inst, err = provider.Wait(ctx, p, inst.Ref, nil); err != nil {
				return err
			}
		}
		return a.printOne(c, p, inst)
	})
}

// printOne prints a single instance in the form that was asked for.
func (a *app) printOne(c *config.Config, p provider.Provider, inst provider.Instance) error {
	if a.output == outputURL {
		cred, err := a.credentials(c, inst.Name)
		if err != nil {
			return err
		}
		u, err := proxyURL(inst, cred)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintln(a.stdout, u)
		return err
	}
	r := newRow(p.Info().Name, inst)
	if done, err := a.printValue(r); done {
		return err
	}
	return a.printRows([]row{r})
}

// credentials are what the proxy of that name asks of its clients.
func (a *app) credentials(c *config.Config, name string) (provider.Credentials, error) {
	if a.adhoc {
		return c.AdhocCredentials()
	}
	f, ok := c.Member(name)
	if !ok {
		return provider.Credentials{}, usage("%s is a member of no fleet, so its credentials are not known; add --adhoc if it was made by hand", name)
	}
	spec, err := f.Spec(name)
	return spec.Credentials, err
}
