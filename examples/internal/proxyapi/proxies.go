package proxyapi

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// Page sizes of GET /v1/proxies.
const (
	// DefaultLimit is how many proxies a page has when none is asked for.
	DefaultLimit = 100
	// MaxLimit is the most.
	MaxLimit = 1000
)

// unknownState is how JSON and parameters have the empty [provider.Unknown].
const unknownState = "Unknown"

// ProxyList is the body of GET /v1/proxies.
type ProxyList struct {
	// Proxies are in the order of fleet, name and ID.
	Proxies []Proxy `json:"proxies"`
	// Next is the cursor of the next page; empty on the last.
	Next string `json:"next,omitempty"`
}

// Proxy is one proxy in a listing, without its credentials.
type Proxy struct {
	// ID names the incarnation, Name the member.
	ID   string `json:"id"`
	Name string `json:"name"`
	// Fleet, Provider and Location are where it belongs and runs.
	Fleet    string `json:"fleet"`
	Provider string `json:"provider"`
	Location string `json:"location,omitempty"`
	// Scheme and Endpoint are where clients connect, once it is known.
	Scheme   string `json:"scheme,omitempty"`
	Endpoint string `json:"endpoint,omitempty"`
	// Egress is the address that targets see, where it is known.
	Egress string `json:"egress,omitempty"`
	// Labels are the spec's.
	Labels map[string]string `json:"labels,omitempty"`
	// State is the instance's.
	State string `json:"state"`
	// Working says that it passed its last check, Draining that it is to go.
	Working  bool `json:"working"`
	Draining bool `json:"draining"`
	// Reason and Message say why it does not work or is to go.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Since is when that last changed.
	Since time.Time `json:"since,omitzero"`
	// Leases is how many are in flight.
	Leases int `json:"leases"`
}

// proxyOf writes a proxy for everybody who has a token: without credentials.
func proxyOf(l lease.Listed) Proxy {
	return Proxy{
		ID: l.ID, Name: l.Name, Fleet: l.Fleet, Provider: l.Provider, Location: l.Location,
		Scheme: l.Scheme, Endpoint: l.Endpoint, Egress: addrText(l.Egress), Labels: l.Labels,
		State: stateText(l.State), Working: l.Working, Draining: l.Draining,
		Reason: l.Reason, Message: l.Message, Since: l.Since.UTC(), Leases: l.Leases,
	}
}

// addrText is empty for an address that is not known, where netip writes
// "invalid IP".
func addrText(a netip.Addr) string {
	if !a.IsValid() {
		return ""
	}
	return a.String()
}

// stateText is never empty, so that a filter can name each state.
func stateText(s provider.State) string { return cmp.Or(string(s.Known()), unknownState) }

// listProxies serves GET /v1/proxies.
func (s *Server) listProxies(w http.ResponseWriter, r *http.Request, caller Token) error {
	q, err := parseProxyQuery(r.URL)
	if err != nil {
		return err
	}
	page, more := s.opts.Pool.Page(q.after, q.limit, func(p *lease.Proxy) bool {
		return caller.sees(p.Fleet) && q.match(p)
	})
	list := ProxyList{Proxies: make([]Proxy, 0, len(page))}
	for _, l := range page {
		list.Proxies = append(list.Proxies, proxyOf(l))
	}
	if more {
		list.Next = cursorOf(page[len(page)-1].Key())
	}
	return writeJSON(w, http.StatusOK, list)
}

// proxyQuery is what the parameters ask for.
type proxyQuery struct {
	selector lease.Selector
	// state and working are as they are written; empty is any.
	state, working string
	// after is where the page before ended.
	after lease.Key
	limit int
}

// match reports whether the proxy belongs on the list.
func (q proxyQuery) match(p *lease.Proxy) bool {
	return q.selector.Match(p) &&
		(q.state == "" || q.state == stateText(p.State)) &&
		(q.working == "" || q.working == strconv.FormatBool(p.Working))
}

// parseProxyQuery reads the parameters, strictly: one that is not known, or
// that is there twice, is a filter that the client believes applied.
func parseProxyQuery(u *url.URL) (proxyQuery, error) {
	q := proxyQuery{limit: DefaultLimit, selector: lease.Selector{Labels: make(map[string]string)}}
	params, err := url.ParseQuery(u.RawQuery)
	if err != nil {
		return q, Problem{Status: http.StatusBadRequest, Code: CodeBadRequest, Detail: "the query cannot be read"}
	}
	for _, name := range slices.Sorted(maps.Keys(params)) {
		if len(params[name]) > 1 && name != "label" {
			return q, badField(name, "is there twice")
		}
		for _, value := range params[name] {
			if err := q.set(name, value); err != nil {
				return q, err
			}
		}
	}
	return q, nil
}

// set reads one parameter. An empty fleet, provider or location is no filter,
// which is what a form with empty fields sends.
func (q *proxyQuery) set(name, value string) error {
	var ok bool
	switch name {
	case "fleet":
		q.selector.Fleet = value
	case "provider":
		q.selector.Provider = value
	case "location":
		q.selector.Location = value
	case "label":
		key, want, found := strings.Cut(value, "=")
		if _, twice := q.selector.Labels[key]; !found || twice {
			return badField(name, "is not KEY=VALUE with a key of its own")
		}
		q.selector.Labels[key] = want
	case "state":
		if q.state = value; value != unknownState && provider.State(value).Known() == provider.Unknown {
			return badField(name, "is not a state; write one such as Running, or Unknown")
		}
	case "working":
		if q.working = value; value != "true" && value != "false" {
			return badField(name, "is neither true nor false")
		}
	case "limit":
		var err error
		if q.limit, err = strconv.Atoi(value); err != nil || q.limit < 1 || q.limit > MaxLimit {
			return badField(name, "is not a number from 1 to "+strconv.Itoa(MaxLimit))
		}
	case "cursor":
		if q.after, ok = keyOf(value); !ok {
			return badField(name, "was not made here; take it from next of the page before")
		}
	default:
		return badField(name, "is not a parameter of this route")
	}
	return nil
}

// cursorOf writes where a page ended, in a form that invites nobody to make
// one himself.
func cursorOf(k lease.Key) string {
	text, _ := json.Marshal([]string{k.Fleet, k.Name, k.ID}) // strings always encode
	return base64.RawURLEncoding.EncodeToString(text)
}

// keyOf reads a cursor.
func keyOf(cursor string) (lease.Key, bool) {
	text, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return lease.Key{}, false
	}
	var parts []string
	if err := json.Unmarshal(text, &parts); err != nil || len(parts) != 3 {
		return lease.Key{}, false
	}
	return lease.Key{Fleet: parts[0], Name: parts[1], ID: parts[2]}, true
}
