package guest

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"sync"
)

// spareConnections is how many connections are kept beside
// [Limits.Connections], for the health path and for saying no: whoever is not
// a client, or comes when the guest is full, gets one of these or none.
const spareConnections = 32

// class says what a connection may be used for.
type class int

const (
	// stranger comes from outside AllowFrom.
	stranger class = iota
	// client may use the proxy.
	client
	// surplus is a client's, over the limit.
	surplus
)

// listener sorts connections into classes and bounds how many there are.
type listener struct {
	net.Listener
	allowFrom      []netip.Prefix
	clients, spare chan struct{}
}

// Accept returns the next connection that there is room for. Others are closed
// at once.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if sorted := l.sort(c); sorted != nil {
			return sorted, nil
		}
		_ = c.Close() // nothing was said on it
	}
}

// sort returns the connection with its class, or nil when it has no place.
func (l *listener) sort(c net.Conn) *conn {
	as := surplus
	if !l.allowed(c.RemoteAddr()) {
		as = stranger
	} else if take(l.clients) {
		return &conn{Conn: c, class: client, free: sync.OnceFunc(func() { <-l.clients })}
	}
	if take(l.spare) {
		return &conn{Conn: c, class: as, free: sync.OnceFunc(func() { <-l.spare })}
	}
	return nil
}

// take takes a slot, and reports whether there was one.
func take(slots chan struct{}) bool {
	select {
	case slots <- struct{}{}:
		return true
	default:
		return false
	}
}

// allowed compares the client's address, of which an IPv4 one may arrive in
// IPv6 form.
func (l *listener) allowed(remote net.Addr) bool {
	if len(l.allowFrom) == 0 {
		return true
	}
	from, err := netip.ParseAddrPort(remote.String())
	if err != nil {
		return false
	}
	addr := from.Addr().Unmap().WithZone("")
	return slices.ContainsFunc(l.allowFrom, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// conn is a connection with its class. It frees its slot when it is closed.
type conn struct {
	net.Conn
	class class
	free  func()
}

// Close closes the connection and frees its slot.
func (c *conn) Close() error {
	defer c.free()
	return c.Conn.Close()
}

// CloseWrite ends what is written to the connection and leaves what is read.
func (c *conn) CloseWrite() error { return closeWrite(c.Conn) }

// closeWrite half-closes a connection, or closes one that has no halves.
func closeWrite(c net.Conn) error {
	if half, ok := c.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return c.Close()
}

// classKey is where the context of a request has its connection's class.
type classKey struct{}

// withClass is http.Server.ConnContext.
func withClass(ctx context.Context, c net.Conn) context.Context {
	if sorted, ok := c.(*conn); ok {
		return context.WithValue(ctx, classKey{}, sorted.class)
	}
	return ctx
}
