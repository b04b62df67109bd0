package provider

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"slices"
	"strings"
)

// GuestVersion is the version of the document that this package writes.
const GuestVersion = 1

// Guest is the document that a provider hands to the software inside a
// machine, which enforces it. docs/guest.md is its contract: what the software
// owes, and what it refuses by default.
//
// A provider fills it from a [Spec] with [NewGuest] and hands it on as JSON, in
// a place that only the guest can read.
type Guest struct {
	// Version is [GuestVersion].
	Version int `json:"version"`
	// Port is where the proxy listens, on all addresses of the machine.
	Port uint16 `json:"port"`
	// Users may use the proxy. Empty means that no credentials are asked for,
	// and then AllowFrom is not empty.
	Users []GuestUser `json:"users,omitempty"`
	// AllowFrom are the networks that clients may come from; empty is anywhere.
	AllowFrom []netip.Prefix `json:"allowFrom,omitempty"`
	// Destinations change what clients may reach.
	Destinations Destinations `json:"destinations,omitzero"`
}

// GuestUser is one who may use the proxy.
type GuestUser struct {
	// Name is as in [Credentials].
	Name string `json:"name"`
	// PasswordHash is a salted hash in the form of crypt(3): bcrypt ($2a$,
	// $2b$ or $2y$) or SHA-512 ($6$). Guests know both.
	PasswordHash string `json:"passwordHash"`
}

// Destinations changes the default of a guest, which reaches public addresses
// only, and by CONNECT only ports 80 and 443.
type Destinations struct {
	// Allow opens what the default refuses.
	Allow []Destination `json:"allow,omitempty"`
	// Deny closes what the default or Allow opens, for instance the public
	// address of the machine's own host. It wins over Allow.
	Deny []netip.Prefix `json:"deny,omitempty"`
}

// Destination is a network, on some ports or on all.
type Destination struct {
	// Prefix is the network, compared with the address after the name was
	// resolved.
	Prefix netip.Prefix `json:"prefix"`
	// Ports are the ports that it opens, for requests and CONNECT alike. Empty
	// opens all ports for requests and leaves CONNECT its default.
	Ports []uint16 `json:"ports,omitempty"`
}

// NewGuest returns the document for a spec. The port is what the provider
// chose where Spec.Port is zero, and the hash that of Spec.Credentials.Password
// where there is one. The spec is valid.
func NewGuest(spec Spec, port uint16, passwordHash string, d Destinations) Guest {
	g := Guest{Version: GuestVersion, Port: port, AllowFrom: spec.AllowFrom, Destinations: d}
	if spec.Credentials.Username != "" {
		g.Users = []GuestUser{{Name: spec.Credentials.Username, PasswordHash: passwordHash}}
	}
	return g
}

// ParseGuest reads a document, strictly: a field that it does not know, or
// anything after the document, is an error, because a guest that skips what it
// does not understand enforces less than was asked for. Its error is an
// [*Error] of Kind Invalid that shows no hash.
func ParseGuest(document []byte) (Guest, error) {
	var g Guest
	d := json.NewDecoder(bytes.NewReader(document))
	d.DisallowUnknownFields()
	if err := d.Decode(&g); err != nil {
		return Guest{}, &Error{Kind: Invalid, Field: "guest", Err: fmt.Errorf("the document cannot be read: %w", err)}
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return Guest{}, invalid("guest", "something follows the document")
	}
	return g, g.Validate()
}

// Validate checks the document as a guest does before it serves. Its error is
// an [*Error] of Kind Invalid whose Field is the JSON path.
func (g Guest) Validate() error {
	switch {
	case g.Version != GuestVersion:
		return invalid("version", "is %d; this software knows %d", g.Version, GuestVersion)
	case g.Port == 0:
		return invalid("port", "is 0 or missing; a guest is told its port")
	case len(g.Users) == 0 && len(g.AllowFrom) == 0:
		return invalid("users", "is empty together with allowFrom, which would be an open proxy")
	}
	for i, u := range g.Users {
		if err := u.validate(fmt.Sprintf("users[%d]", i)); err != nil {
			return err
		}
		if slices.ContainsFunc(g.Users[:i], func(other GuestUser) bool { return other.Name == u.Name }) {
			return invalid(fmt.Sprintf("users[%d].name", i), "is that of another user; a name has one password")
		}
	}
	for i, p := range g.AllowFrom {
		if err := validatePrefix(fmt.Sprintf("allowFrom[%d]", i), p); err != nil {
			return err
		}
	}
	return g.Destinations.Validate()
}

// Validate checks the networks of d. Its error is an [*Error] of Kind Invalid
// whose Field is the JSON path within a [Guest].
func (d Destinations) Validate() error {
	for i, a := range d.Allow {
		if err := validatePrefix(fmt.Sprintf("destinations.allow[%d].prefix", i), a.Prefix); err != nil {
			return err
		}
	}
	for i, p := range d.Deny {
		if err := validatePrefix(fmt.Sprintf("destinations.deny[%d]", i), p); err != nil {
			return err
		}
	}
	return nil
}

func (u GuestUser) validate(path string) error {
	if u.Name == "" || len(u.Name) > MaxUsername || !graphic(u.Name) || strings.Contains(u.Name, ":") {
		return invalid(path+".name", "is not 1 to %d bytes of printable ASCII without space and colon", MaxUsername)
	}
	for _, form := range []string{"$2a$", "$2b$", "$2y$", "$6$"} {
		if strings.HasPrefix(u.PasswordHash, form) && graphic(u.PasswordHash) && !strings.Contains(u.PasswordHash, ":") {
			return nil
		}
	}
	return invalid(path+".passwordHash", "is not a bcrypt ($2a$, $2b$, $2y$) or SHA-512 ($6$) hash")
}
