package proxyapi

import (
	"net/http"
	"time"

	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// LeaseRequest is the body of POST /v1/leases. All fields may be left out; the
// limits and defaults are those of [lease.Request] and [lease.Options].
type LeaseRequest struct {
	// Target is the host, host:port or URL that the leases are for.
	Target string `json:"target,omitempty"`
	// Selector narrows the choice.
	Selector Selector `json:"selector,omitzero"`
	// Session asks for the proxy that the session had before.
	Session string `json:"session,omitempty"`
	// TTL is how long the leases last.
	TTL Duration `json:"ttl,omitempty"`
	// Count is how many leases, each on another proxy.
	Count int `json:"count,omitempty"`
}

// Selector narrows the choice of proxies: what is set must be equal.
type Selector struct {
	// Fleet, Provider and Location are compared with the proxy's.
	Fleet    string `json:"fleet,omitempty"`
	Provider string `json:"provider,omitempty"`
	Location string `json:"location,omitempty"`
	// Labels must all be on the proxy.
	Labels map[string]string `json:"labels,omitempty"`
}

// fields are the names that the JSON may have.
func (r *LeaseRequest) fields() fields {
	return fields{
		"target": &r.Target,
		"selector": fields{
			"fleet": &r.Selector.Fleet, "provider": &r.Selector.Provider,
			"location": &r.Selector.Location, "labels": &r.Selector.Labels,
		},
		"session": &r.Session,
		"ttl":     &r.TTL,
		"count":   &r.Count,
	}
}

// LeaseList is the answer of POST /v1/leases.
type LeaseList struct {
	// Leases has at least one, and as many as asked for where enough proxies
	// are eligible.
	Leases []Lease `json:"leases"`
}

// Lease is one lease in an answer. Who prints it shows the proxy's password.
type Lease struct {
	// ID names the lease.
	ID string `json:"id"`
	// URL is the proxy's, with the credentials in it.
	URL string `json:"url"`
	// Proxy is the member's name, and ProxyID its incarnation's.
	Proxy   string `json:"proxy"`
	ProxyID string `json:"proxyId"`
	// Fleet, Provider and Location are the proxy's.
	Fleet    string `json:"fleet"`
	Provider string `json:"provider"`
	Location string `json:"location,omitempty"`
	// Egress is the address that targets see, where it is known.
	Egress string `json:"egress,omitempty"`
	// Target and Session are the request's, the target in its one form.
	Target  string `json:"target,omitempty"`
	Session string `json:"session,omitempty"`
	// Holder is the name of the token that took it.
	Holder string `json:"holder"`
	// Granted is when it was handed out, and Expires when it ends by itself.
	Granted time.Time `json:"granted"`
	Expires time.Time `json:"expires"`
}

// leaseOf writes a lease for its holder, credentials included.
func leaseOf(l lease.Lease) Lease {
	return Lease{
		ID: l.ID, URL: l.Proxy.URL().String(), Proxy: l.Proxy.Name, ProxyID: l.Proxy.ID,
		Fleet: l.Proxy.Fleet, Provider: l.Proxy.Provider, Location: l.Proxy.Location,
		Egress: addrText(l.Proxy.Egress), Target: l.Target, Session: l.Session, Holder: l.Holder,
		Granted: l.Granted.UTC(), Expires: l.Expires.UTC(),
	}
}

// createLeases serves POST /v1/leases.
func (s *Server) createLeases(w http.ResponseWriter, r *http.Request, caller Token) error {
	var in LeaseRequest
	if err := readBody(r, in.fields()); err != nil {
		return err
	}
	// To the pool, fleets that are not the token's do not exist. Who names one
	// is told so, because it will not help to wait.
	if in.Selector.Fleet != "" && !caller.sees(in.Selector.Fleet) {
		return Problem{Status: http.StatusForbidden, Code: CodeForbidden, Field: "selector.fleet",
			Detail: "selector.fleet: this token is bound to other fleets"}
	}
	leases, err := s.opts.Pool.Lease(lease.Request{
		Holder: caller.Name, Fleets: caller.Fleets, Target: in.Target, Selector: lease.Selector(in.Selector),
		Session: in.Session, TTL: time.Duration(in.TTL), Count: in.Count,
	})
	if err != nil {
		return err
	}
	list := LeaseList{Leases: make([]Lease, 0, len(leases))}
	for _, l := range leases {
		list.Leases = append(list.Leases, leaseOf(l))
	}
	return writeJSON(w, http.StatusCreated, list)
}

// getLease serves GET /v1/leases/{id}: who holds a lease on a proxy that does
// not answer any more learns here whether it is gone.
func (s *Server) getLease(w http.ResponseWriter, r *http.Request, caller Token) error {
	l, err := s.opts.Pool.Get(r.PathValue("id"), caller.holder())
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, leaseOf(l))
}

// deleteLease serves DELETE /v1/leases/{id}. A lease that has ended is as good
// as one that is released now, so that a client may repeat what it lost the
// answer of.
func (s *Server) deleteLease(w http.ResponseWriter, r *http.Request, caller Token) error {
	if err := s.opts.Pool.Release(r.PathValue("id"), caller.holder()); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}
