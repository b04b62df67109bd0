package guest

import (
	"io"
	"net"
	"net/netip"
	"testing"
)

// remoteConn says that it comes from elsewhere, and whether it was closed.
type remoteConn struct {
	net.Conn
	from   net.Addr
	closed bool
}

func (c *remoteConn) RemoteAddr() net.Addr { return c.from }
func (c *remoteConn) Close() error         { c.closed = true; return nil }

func from(t *testing.T, addr string) *remoteConn {
	t.Helper()
	return &remoteConn{from: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.MustParseAddr(addr), 50000))}
}

// queue is a net.Listener that hands out what is in it.
type queue struct {
	net.Listener
	conns []net.Conn
}

func (q *queue) Accept() (net.Conn, error) {
	if len(q.conns) == 0 {
		return nil, io.EOF
	}
	c := q.conns[0]
	q.conns = q.conns[1:]
	return c, nil
}

func TestAllowFrom(t *testing.T) {
	l := &listener{allowFrom: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("2001:db8::/32")}}
	for addr, want := range map[string]bool{
		"10.1.2.3": true, "::ffff:10.1.2.3": true, "2001:db8::1": true, "2001:db8::1%eth0": true,
		"11.0.0.1": false, "::ffff:11.0.0.1": false, "2001:db9::1": false, "127.0.0.1": false, "::1": false,
	} {
		if got := l.allowed(from(t, addr).from); got != want {
			t.Errorf("%s: %v; want %v", addr, got, want)
		}
	}
	if l.allowed(&net.UnixAddr{Name: "/run/socket"}) {
		t.Error("an address that is none is allowed")
	}
	if everybody := (&listener{}); !everybody.allowed(from(t, "11.0.0.1").from) {
		t.Error("an empty list does not allow everybody")
	}
}

func TestConnectionsAreBounded(t *testing.T) {
	q := &queue{}
	l := &listener{
		Listener: q, allowFrom: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")},
		clients: make(chan struct{}, 2), spare: make(chan struct{}, 2),
	}
	accept := func(c *remoteConn) *conn {
		t.Helper()
		q.conns = []net.Conn{c}
		got, err := l.Accept()
		if err == io.EOF {
			if !c.closed {
				t.Error("a connection without a place stays open")
			}
			return nil
		}
		if err != nil {
			t.Fatal(err)
		}
		return got.(*conn)
	}
	want := func(got *conn, as class) {
		t.Helper()
		if got == nil || got.class != as {
			t.Errorf("got %+v; want class %d", got, as)
		}
	}
	first := accept(from(t, "10.0.0.1"))
	want(first, client)
	want(accept(from(t, "10.0.0.2")), client)
	want(accept(from(t, "10.0.0.3")), surplus)
	out := accept(from(t, "11.0.0.1"))
	want(out, stranger)
	if accept(from(t, "11.0.0.1")) != nil || accept(from(t, "10.0.0.4")) != nil {
		t.Error("there is no place left, and yet one was given")
	}
	for range 2 { // closing twice frees one place
		_ = first.Close()
	}
	want(accept(from(t, "10.0.0.4")), client)
	if accept(from(t, "10.0.0.5")) != nil {
		t.Error("a place was freed twice")
	}
	_ = out.Close()
	want(accept(from(t, "10.0.0.5")), surplus)
}
