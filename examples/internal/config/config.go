// Package config reads the configuration that proxyd and proxyctl share.
//
// # One file, two programs
//
// The file is YAML and strict: a key that nobody knows, a key that stands
// twice, an anchor or a second document is a fault, and [Load] reports all
// faults at once, each with file, line and the path of the key. What is set at
// deployment (addresses, directories, secrets) can come from the environment,
// which wins over the file. docs/configuration.md describes every key; a test
// holds it to these types.
//
// The file holds no secret. Passwords and tokens come from files of their own
// or from the environment, or are generated and kept under the state
// directory, so that the configuration can be read by anybody and kept under
// version control.
//
// # Who owns which instance
//
// An owner's instances are its members: Fleet.Members of every fleet, named
// "<fleet>-<n>" with n from 0 to replicas-1. Whatever else the provider lists
// for that owner is an orphan, which the collector of proxyd and proxyctl gc
// remove. What a person makes by hand under another name therefore belongs to
// another owner, [Config.AdhocOwner], which proxyd neither lists nor collects:
// proxyctl makes it with --adhoc, and refuses to make anything but members
// without. So the daemon never removes what a person made, and nobody has to
// mark anything as kept.
package config

import (
	"crypto/sha256"
	"encoding/hex"
	"net/netip"
	"time"

	"github.com/crawlfleet/provider"
)

// Config is the whole configuration. [Load] and [Parse] return it complete:
// defaults filled in, secrets read, checked. It is not changed afterwards,
// except by [Config.Prepare], and may then be read by many goroutines.
type Config struct {
	// Owner is the unique ID under which the instances are made: a DNS label.
	// It outlives the machine that proxyd runs on; whoever changes it leaves
	// all instances behind. Empty only in the embedded default before Prepare.
	Owner string `yaml:"owner"`
	// StateDir is an absolute directory for what has to survive a restart:
	// generated credentials and the instances of local providers.
	StateDir string `yaml:"stateDir"`
	// API is the client API.
	API API `yaml:"api"`
	// Check is how a member is tried through its own proxy.
	Check Check `yaml:"check"`
	// Limits bound what the daemon does at once.
	Limits Limits `yaml:"limits"`
	// Collector removes what no fleet asks for.
	Collector Collector `yaml:"collector"`
	// Providers are the backends by name.
	Providers map[string]Provider `yaml:"providers"`
	// Fleets are what shall run. Their order is that of the file.
	Fleets []Fleet `yaml:"fleets"`

	source   *source // where each key stands, for faults found later
	embedded bool    // the owner is generated
}

// API configures the client API.
type API struct {
	// Listen is host:port where the daemon serves. Port 0 takes a free one.
	Listen string `yaml:"listen"`
	// Tokens are who may call. None: the daemon makes one per start.
	Tokens []Token `yaml:"tokens"`
}

// Token is one bearer token of the client API. Exactly one of TokenFile,
// TokenEnv and SHA256 is set; after [Load], SHA256 is, whichever it was.
type Token struct {
	// Name is the holder of its leases: a DNS label. Two tokens of one name are
	// one holder, so that a token can be replaced while both work.
	Name string `yaml:"name"`
	// TokenFile is a file that holds the token.
	TokenFile string `yaml:"tokenFile"`
	// TokenEnv is the environment variable that holds it.
	TokenEnv string `yaml:"tokenEnv"`
	// SHA256 is the digest of the token, 64 hexadecimal digits. The file may
	// have "sha256:" in front.
	SHA256 string `yaml:"sha256"`
	// Fleets are the fleets that it may use. Empty is all of them.
	Fleets []string `yaml:"fleets"`
	// Admin allows it to see and release the leases of all tokens.
	Admin bool `yaml:"admin"`
}

// Digest returns the SHA-256 of the token.
func (t Token) Digest() [sha256.Size]byte {
	var sum [sha256.Size]byte
	_, _ = hex.Decode(sum[:], []byte(t.SHA256)) // checked by Load
	return sum
}

// Check configures the proxy check.
type Check struct {
	// URL is fetched through each proxy. Empty is the daemon's own.
	URL string `yaml:"url"`
	// Interval is the pause between two checks of one member.
	Interval time.Duration `yaml:"interval"`
	// Timeout bounds one check; it is at most Interval.
	Timeout time.Duration `yaml:"timeout"`
	// Failures in a row make a working member a broken one.
	Failures int `yaml:"failures"`
	// Successes in a row make it a working one.
	Successes int `yaml:"successes"`
}

// Limits bound what the daemon does at once.
type Limits struct {
	// ReplacePerProvider is how many members of one provider may be on their
	// way out at once to be replaced.
	ReplacePerProvider int `yaml:"replacePerProvider"`
	// FreezeShare is the share of a fleet, over 0 to 1, that may fail at once
	// before replacing stops, because then the check is more likely broken
	// than the proxies. 1 never stops.
	FreezeShare float64 `yaml:"freezeShare"`
	// Concurrency is how many calls run at once at one provider.
	Concurrency int `yaml:"concurrency"`
	// Start is how long a member may take until it first works.
	Start time.Duration `yaml:"start"`
	// Drain is how long a member that is to go waits for its leases to end.
	Drain time.Duration `yaml:"drain"`
}

// Collector configures the removal of orphans, as [provider.Collector] has it.
type Collector struct {
	// Interval is the pause between two sweeps of one provider.
	Interval time.Duration `yaml:"interval"`
	// Grace is how long something must have been an orphan.
	Grace time.Duration `yaml:"grace"`
	// MaxDeletes caps the deletes of one sweep.
	MaxDeletes int `yaml:"maxDeletes"`
	// Acknowledge is how many orphans an operator has looked at and released.
	Acknowledge int `yaml:"acknowledge"`
}

// Provider is one backend. The keys beside these are those of its kind; the
// package kinds reads them with [Provider.Decode].
type Provider struct {
	// Kind is the sort of backend: "local".
	Kind string `yaml:"kind"`
	// Retired marks a provider that goes: no fleet may use it, and what is
	// left on it is removed.
	Retired bool `yaml:"retired"`

	keys keys // those of the kind
}

// Fleet is a number of like proxies on one provider.
type Fleet struct {
	// Name is a DNS label of at most [MaxFleetName] bytes, unique.
	Name string `yaml:"name"`
	// Provider is a key of Config.Providers.
	Provider string `yaml:"provider"`
	// Replicas is how many members it has.
	Replicas int `yaml:"replicas"`
	// MaxAge is when a member is replaced for its age. Zero is never.
	MaxAge time.Duration `yaml:"maxAge"`
	// Template is what its members have in common.
	Template Template `yaml:"spec"`
}

// Template is a [provider.Spec] without a name, in the words of the file.
type Template struct {
	// Image is a key of the provider's images or a reference.
	Image string `yaml:"image"`
	// Location is where to run it.
	Location string `yaml:"location"`
	// Size is how large the machine is.
	Size Size `yaml:"size"`
	// Port is where the proxy listens.
	Port uint16 `yaml:"port"`
	// Credentials say where those of the Spec come from.
	Credentials Credentials `yaml:"credentials"`
	// AllowFrom are the networks that clients may come from.
	AllowFrom []netip.Prefix `yaml:"allowFrom"`
	// Preemptible allows the backend to take the machine back.
	Preemptible bool `yaml:"preemptible"`
	// Labels are stored as they are.
	Labels map[string]string `yaml:"labels"`
	// Revision is a text; a new one replaces the members.
	Revision string `yaml:"revision"`
}

// Size is how large a machine is. Zero is the provider's default.
type Size struct {
	// CPU is "2" or "500m".
	CPU MilliCPU `yaml:"cpu"`
	// Memory is a size with a unit: "512MiB".
	Memory Bytes `yaml:"memory"`
	// Disk is that of the root disk: "10GiB".
	Disk Bytes `yaml:"disk"`
}

// Credentials say where the proxy's user name and password come from.
type Credentials struct {
	// Username is the user's name. Where it and the next two are empty, it is
	// the fleet's.
	Username string `yaml:"username"`
	// UsernameFile is a file that holds it.
	UsernameFile string `yaml:"usernameFile"`
	// UsernameEnv is the environment variable that holds it.
	UsernameEnv string `yaml:"usernameEnv"`
	// PasswordFile is a file that holds the password.
	PasswordFile string `yaml:"passwordFile"`
	// PasswordEnv is the environment variable that holds it.
	PasswordEnv string `yaml:"passwordEnv"`
	// Generate makes a password and keeps it under the state directory. It is
	// the default when there is neither a password nor AllowFrom.
	Generate bool `yaml:"generate"`

	resolved provider.Credentials
}

// Limits of the configuration.
const (
	// MaxReplicas is how many members a fleet may have. It guards against a
	// slip; ten fleets of a thousand are ten entries.
	MaxReplicas = 1000
	// MaxFleetName leaves room for "-999" in a name of provider.MaxName bytes.
	MaxFleetName = provider.MaxName - len("-999")
	// MinMaxAge keeps a rotation from replacing members as fast as they start.
	MinMaxAge = 10 * time.Minute
	// DefaultListen is loopback only: whoever opens it does so knowingly.
	DefaultListen = "127.0.0.1:8899"
)

// defaults returns a Config with what holds where the file says nothing.
func defaults() *Config {
	return &Config{
		API:   API{Listen: DefaultListen},
		Check: Check{Interval: 10 * time.Second, Timeout: 5 * time.Second, Failures: 3, Successes: 1},
		Limits: Limits{
			ReplacePerProvider: 2, FreezeShare: provider.DefaultMaxShare, Concurrency: 4,
			Start: 10 * time.Minute, Drain: 5 * time.Minute,
		},
		Collector: Collector{
			Interval: 5 * time.Minute, Grace: provider.DefaultGrace, MaxDeletes: provider.DefaultMaxDeletes,
		},
	}
}
