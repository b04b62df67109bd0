// Package proxycheck tries a proxy through its own endpoint, the way a client
// uses it, because a machine that runs is not yet a proxy that works.
//
// A check is up to four requests, each on a connection of its own that is
// closed afterwards:
//
//	GET, without credentials       must be refused with 407
//	GET                            must be answered by the target
//	CONNECT, without credentials   must be refused with 407
//	CONNECT, and a GET inside      must be answered by the target
//
// A proxy that serves without its credentials is open to everybody who finds
// it, and so does not work. For a target with https there are only the last
// two, and the target's certificate is verified. For a proxy without
// credentials there are only the requests that must be answered.
//
// Where no target can be reached from the proxy, the check is that credentials
// make the difference: 407 without them, and anything else with them. That
// shows that the proxy is up and knows its user, and not that it reaches
// anything.
package proxycheck

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"github.com/crawlfleet/provider"
)

// Limits of a check.
const (
	// DefaultTimeout is the default of [Checker.Timeout].
	DefaultTimeout = 5 * time.Second
	// maxAnswer bounds what is read of one answer, header and body together. An
	// answer that tells an address is far shorter, and one that is longer is
	// cut there and counts.
	maxAnswer = 64 << 10
	// nowhere is a target that no resolver finds (RFC 6761, 6.4).
	nowhere = "proxy-check.invalid"
)

// Proxy is what is tried.
type Proxy struct {
	// Scheme is how clients talk to the proxy: "http", which empty is too, or
	// "https".
	Scheme string
	// Endpoint is host:port of the proxy.
	Endpoint string
	// Credentials are what it asks of its clients; empty is nothing.
	Credentials provider.Credentials
}

// Checker tries proxies. It may be used by many goroutines; its fields are not
// changed after the first check.
type Checker struct {
	// URL is fetched through the proxy, with http or https. Nil checks that
	// credentials make the difference, and no more.
	URL *url.URL
	// Timeout bounds a check as a whole. Zero is [DefaultTimeout].
	Timeout time.Duration
	// TLS is what certificates are verified with, those of targets and those
	// of proxies. Nil is what the system trusts.
	TLS *tls.Config
}

// Result is what a check that passed found out.
type Result struct {
	// Egress is the address that the target saw, where its answer tells it:
	// as JSON with the key "address", or as a text that is an address and
	// nothing else. Otherwise it is not valid.
	Egress netip.Addr
	// Took is how long the check took.
	Took time.Duration
}

// Check tries the proxy once. Its error says what did not work, for a person,
// and contains neither credentials nor anything that the proxy or the target
// said but numbers. A check that the end of ctx cut short is an error as well.
func (c *Checker) Check(ctx context.Context, p Proxy) (Result, error) {
	timeout := c.Timeout
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	began := time.Now()
	t := &trial{Checker: c, proxy: p, target: c.URL, plain: true}
	switch {
	case p.Endpoint == "":
		return Result{}, errors.New("the proxy has no endpoint yet")
	case c.URL == nil:
		t.target, t.blind = &url.URL{Scheme: "http", Host: nowhere, Path: "/"}, true
	case c.URL.Scheme == "https":
		t.plain = false
	}
	egress, err := t.run(ctx)
	if ctx.Err() == context.DeadlineExceeded {
		err = fmt.Errorf("%w; it may take %v", err, timeout)
	}
	return Result{Egress: egress, Took: time.Since(began)}, err
}

// trial is one check.
type trial struct {
	*Checker
	proxy  Proxy
	target *url.URL
	plain  bool // requests without a tunnel are tried as well
	blind  bool // the target cannot be reached
}

// run makes the requests in order and stops at the first that fails.
func (t *trial) run(ctx context.Context) (netip.Addr, error) {
	var egress netip.Addr
	steps := []struct {
		name    string
		skip    bool
		request func(ctx context.Context, auth bool) (int, []byte, error)
		auth    bool
	}{
		{"GET without credentials", !t.plain || t.open(), t.get, false},
		{"GET", !t.plain, t.get, true},
		{"CONNECT without credentials", t.open(), t.connect, false},
		{"CONNECT", false, t.connect, true},
	}
	for _, step := range steps {
		if step.skip {
			continue
		}
		code, body, err := step.request(ctx, step.auth)
		if err == nil {
			err = t.judge(code, step.auth)
		}
		if err != nil {
			return netip.Addr{}, fmt.Errorf("%s: %w", step.name, err)
		}
		if addr := address(body); step.auth && addr.IsValid() {
			egress = addr
		}
	}
	return egress, nil
}

// open reports whether the proxy asks for no credentials.
func (t *trial) open() bool { return t.proxy.Credentials == (provider.Credentials{}) }

// judge says what is wrong with the status of an answer.
func (t *trial) judge(code int, auth bool) error {
	refused := code == http.StatusProxyAuthRequired
	switch {
	case !auth && !refused:
		return fmt.Errorf("was answered with %d and not refused with 407; the proxy may be open to everybody", code)
	case !auth:
		return nil
	case refused:
		return errors.New("the proxy refused its credentials (407)")
	case !t.blind && (code < 200 || code > 399):
		return fmt.Errorf("was answered with %d", code)
	}
	return nil
}

// dial connects to the proxy. The connection dies with ctx.
func (t *trial) dial(ctx context.Context) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", t.proxy.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("connecting to the proxy: %w", err)
	}
	if t.proxy.Scheme != "https" {
		return conn, nil
	}
	secure, err := t.secure(ctx, conn, t.proxy.Endpoint)
	if err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS with the proxy: %w", said(ctx, err))
	}
	return secure, nil
}

// secure begins TLS for the host of hostport on a connection.
func (t *trial) secure(ctx context.Context, conn net.Conn, hostport string) (net.Conn, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if t.TLS != nil {
		config = t.TLS.Clone()
	}
	host, _, err := net.SplitHostPort(hostport)
	if err != nil {
		return nil, err
	}
	config.ServerName, config.NextProtos = host, []string{"http/1.1"}
	secure := tls.Client(conn, config)
	return secure, secure.HandshakeContext(ctx)
}
