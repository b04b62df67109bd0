package proxyapi

import (
	"net/http"
	"net/netip"
	"time"

	"github.com/crawlfleet/provider"
)

// Health is what a program knows of a provider, as a stable word.
type Health string

// The words.
const (
	// Healthy: the last call that counts went well.
	Healthy Health = "healthy"
	// Unhealthy: it failed.
	Unhealthy Health = "unhealthy"
	// HealthUnknown: there has been none.
	HealthUnknown Health = "unknown"
)

// ProviderStatus is one provider as the program around the Server sees it.
type ProviderStatus struct {
	// Name and Kind are as in [provider.Info].
	Name string `json:"name"`
	Kind string `json:"kind"`
	// Health is what is known of it; empty is sent as [HealthUnknown].
	Health Health `json:"health"`
	// Since is when Health last changed.
	Since time.Time `json:"since,omitzero"`
	// LastError is the last error of a call; nil when there has been none
	// since the last success.
	LastError *ProviderError `json:"lastError,omitempty"`
	// Instances counts what the last list had, by state. The empty state is
	// sent as "Unknown".
	Instances map[provider.State]int `json:"instances"`
}

// ProviderError is an error of a provider for a person to read.
type ProviderError struct {
	// Kind is [provider.KindOf] of it.
	Kind provider.Kind `json:"kind"`
	// Message is its text, in which a provider puts no secret.
	Message string `json:"message"`
	// At is when it happened.
	At time.Time `json:"at,omitzero"`
}

// ProviderList is the body of GET /v1/providers.
type ProviderList struct {
	// Providers are in the order in which the program gives them.
	Providers []ProviderStatus `json:"providers"`
}

// listProviders serves GET /v1/providers.
func (s *Server) listProviders(w http.ResponseWriter, _ *http.Request, _ Token) error {
	list := ProviderList{Providers: []ProviderStatus{}}
	if s.opts.Providers == nil {
		return writeJSON(w, http.StatusOK, list)
	}
	for _, p := range s.opts.Providers() {
		if p.Health == "" {
			p.Health = HealthUnknown
		}
		// Counted anew, because the map is the program's.
		instances := make(map[provider.State]int, len(p.Instances))
		for state, n := range p.Instances {
			instances[provider.State(stateText(state))] += n
		}
		p.Instances = instances
		list.Providers = append(list.Providers, p)
	}
	return writeJSON(w, http.StatusOK, list)
}

// Status is the body of /healthz and /readyz.
type Status struct {
	// Status is "ok".
	Status string `json:"status"`
}

// healthz serves GET /healthz: that it answers is the answer.
func healthz(w http.ResponseWriter, _ *http.Request, _ Token) error {
	return writeJSON(w, http.StatusOK, Status{Status: "ok"})
}

// readyz serves GET /readyz.
func (s *Server) readyz(w http.ResponseWriter, _ *http.Request, _ Token) error {
	// The error is for everybody to read, as Options.Ready says.
	if s.opts.Ready != nil {
		if err := s.opts.Ready(); err != nil {
			return Problem{Status: http.StatusServiceUnavailable, Code: CodeNotReady, Detail: err.Error()}
		}
	}
	return writeJSON(w, http.StatusOK, Status{Status: "ok"})
}

// Whoami is the body of GET /v1/whoami.
type Whoami struct {
	// Address is where the request came from.
	Address netip.Addr `json:"address"`
}

// whoami serves GET /v1/whoami: through a proxy, it tells the proxy's egress
// address. It reads the connection and no header, which a client could forge.
func whoami(w http.ResponseWriter, r *http.Request, _ Token) error {
	from, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, Whoami{Address: from.Addr().Unmap().WithZone("")})
}
