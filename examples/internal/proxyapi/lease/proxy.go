package lease

import (
	"cmp"
	"net/netip"
	"net/url"
	"time"

	"github.com/crawlfleet/provider"
)

// Proxy is one member of a fleet as the program that keeps the fleet sees it.
type Proxy struct {
	// ID names the incarnation, as [provider.Ref] does. It is unique in the
	// view that [Pool.Replace] gets, and never empty.
	ID string
	// Name is the member's name, which a successor may have again.
	Name string
	// Fleet is the fleet that it belongs to.
	Fleet string
	// Provider is the name of the provider that runs it.
	Provider string
	// Location is where it runs, in the provider's words.
	Location string
	// Scheme is that of the proxy's URL, "http" or "https"; empty is "http".
	Scheme string
	// Endpoint is host:port, where a client connects. Without one the proxy
	// is not eligible.
	Endpoint string
	// Egress is the address that targets see, where it is known.
	Egress netip.Addr
	// Labels are compared by [Selector.Labels].
	Labels map[string]string
	// Credentials are what the proxy asks of its clients.
	Credentials provider.Credentials
	// State is the instance's, for the listing. It does not decide.
	State provider.State
	// Working says that the last check through the endpoint passed.
	Working bool
	// Draining says that it is to go: no new leases, those in flight stay.
	Draining bool
	// Reason says why it does not work, drains or is about to go, as a stable
	// word in upper camel case. Leases that end with the proxy carry it.
	Reason string
	// Message says the same for a person, without secrets.
	Message string
	// Since is when Working, Draining or Reason last changed.
	Since time.Time
}

// URL is the proxy's address for a client, with the credentials in it, percent
// encoded. Who prints it shows the password.
func (p Proxy) URL() *url.URL {
	u := &url.URL{Scheme: cmp.Or(p.Scheme, "http"), Host: p.Endpoint}
	if p.Credentials.Username != "" {
		u.User = url.UserPassword(p.Credentials.Username, string(p.Credentials.Password))
	}
	return u
}

// Key is the place of a proxy in the order of [Pool.Page].
func (p Proxy) Key() Key { return Key{Fleet: p.Fleet, Name: p.Name, ID: p.ID} }

// eligible reports whether new leases may go to it.
func (p Proxy) eligible() bool { return p.Working && !p.Draining && p.Endpoint != "" }

// Key orders proxies by fleet, name and ID. It says where a page ended in a
// way that holds while proxies come and go.
type Key struct {
	// Fleet, Name and ID are those of the proxy.
	Fleet, Name, ID string
}

// Compare returns -1, 0 or 1 as k is before, at or after other.
func (k Key) Compare(other Key) int {
	return cmp.Or(cmp.Compare(k.Fleet, other.Fleet), cmp.Compare(k.Name, other.Name), cmp.Compare(k.ID, other.ID))
}

// Lease is a proxy handed to a holder until it expires.
type Lease struct {
	// ID is random, and all that releases the lease beside the holder's name.
	ID string
	// Holder is who took it: the name of a token, never the token.
	Holder string
	// Target is the normalised host that it is for; empty when none was named.
	Target string
	// Session is the session that it belongs to; empty without one.
	Session string
	// Proxy is the proxy as it was when the lease was handed out.
	Proxy Proxy
	// Granted is when it was handed out, and Expires when it ends by itself.
	Granted, Expires time.Time
}
