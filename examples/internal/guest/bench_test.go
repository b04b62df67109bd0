package guest

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/crawlfleet/provider"
)

// peerTarget is where a proxy at GUEST_BENCH_PEER reaches the targets of
// tunnels: it has to open that port for CONNECT.
const peerTarget = "127.0.0.1:3200"

// peer returns the proxy to measure: the guest in this process, or the one at
// GUEST_BENCH_PEER (host:port, with testUser and testPassword where it asks for
// credentials), so that one driver measures this and other proxies.
func peer(b *testing.B) string {
	if addr := os.Getenv("GUEST_BENCH_PEER"); addr != "" {
		return addr
	}
	doc := document(b)
	doc.Destinations.Allow = []provider.Destination{{Prefix: netip.MustParsePrefix("127.0.0.0/8")}}
	s, err := New(doc, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return serveOn(b, s)
}

// serveOn serves on a loopback port until the benchmark ends.
func serveOn(b *testing.B, s *Server) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(b.Context(), l) }()
	b.Cleanup(func() {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	})
	return l.Addr().String()
}

// BenchmarkRequest asks for a small document through the proxy, on kept
// connections and on new ones.
func BenchmarkRequest(b *testing.B) {
	target := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(bytes.Repeat([]byte("x"), 1024))
	}))
	b.Cleanup(target.Close)
	for _, keep := range []bool{true, false} {
		b.Run(fmt.Sprintf("keepalive=%v", keep), func(b *testing.B) {
			proxy := &url.URL{Scheme: "http", Host: peer(b), User: url.UserPassword(testUser, testPassword)}
			t := &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: !keep, MaxIdleConnsPerHost: 64}
			b.Cleanup(t.CloseIdleConnections)
			c := &http.Client{Transport: t}
			b.SetParallelism(8)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					res, err := c.Get(target.URL)
					if err != nil {
						b.Error(err)
						return
					}
					if n, err := io.Copy(io.Discard, res.Body); n != 1024 || err != nil {
						b.Error(res.Status, n, err)
					}
					res.Body.Close()
				}
			})
		})
	}
}

// BenchmarkConnect opens a tunnel, sends a byte through it and back, and
// closes it.
func BenchmarkConnect(b *testing.B) {
	addr, echo := tunnelPeer(b, func(c net.Conn) { _, _ = io.Copy(c, c) })
	b.SetParallelism(8)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			c, r, err := openTunnel(addr, echo)
			if err != nil {
				b.Error(err)
				return
			}
			_, _ = c.Write([]byte("x"))
			if got, err := r.ReadByte(); got != 'x' || err != nil {
				b.Error(got, err)
			}
			_ = c.Close()
		}
	})
}

// BenchmarkBulk reads from a target through one tunnel per processor.
func BenchmarkBulk(b *testing.B) {
	const piece = 1 << 20
	addr, source := tunnelPeer(b, func(c net.Conn) {
		zeros := make([]byte, piece)
		for _, err := c.Write(zeros); err == nil; _, err = c.Write(zeros) {
		}
	})
	b.SetBytes(piece)
	var mu sync.Mutex
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		c, r, err := openTunnel(addr, source)
		mu.Unlock()
		if err != nil {
			b.Error(err)
			return
		}
		defer c.Close()
		buffer := make([]byte, piece)
		for pb.Next() {
			if _, err := io.ReadFull(r, buffer); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// tunnelPeer starts a target and returns the proxy and the target's address.
func tunnelPeer(b *testing.B, talk func(net.Conn)) (proxy, target string) {
	address := "127.0.0.1:0"
	if os.Getenv("GUEST_BENCH_PEER") != "" {
		address = peerTarget
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				talk(c)
			}()
		}
	}()
	if addr := os.Getenv("GUEST_BENCH_PEER"); addr != "" {
		return addr, l.Addr().String()
	}
	doc := document(b)
	doc.Destinations.Allow = []provider.Destination{{
		Prefix: netip.MustParsePrefix("127.0.0.0/8"), Ports: []uint16{uint16(l.Addr().(*net.TCPAddr).Port)},
	}}
	s, err := New(doc, Options{})
	if err != nil {
		b.Fatal(err)
	}
	return serveOn(b, s), l.Addr().String()
}

func openTunnel(proxy, target string) (net.Conn, *bufio.Reader, error) {
	c, err := net.Dial("tcp", proxy)
	if err != nil {
		return nil, nil, err
	}
	login := base64.StdEncoding.EncodeToString([]byte(testUser + ":" + testPassword))
	fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: %s\r\nProxy-Authorization: Basic %s\r\n\r\n", target, target, login)
	r := bufio.NewReaderSize(c, 64<<10)
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, nil, err
		}
		if strings.TrimSpace(line) == "" {
			return c, r, nil
		}
	}
}
