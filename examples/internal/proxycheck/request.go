package proxycheck

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// get asks the proxy for the target and returns the status and the body.
func (t *trial) get(ctx context.Context, auth bool) (int, []byte, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	defer cut(ctx, conn)()
	req := t.request(http.MethodGet, t.target)
	if auth {
		t.authorize(req)
	}
	return exchange(ctx, newWire(conn), req, (*http.Request).WriteProxy)
}

// connect asks the proxy for a tunnel to the target and, when it opens, the
// target for its URL inside. It returns the status and the body of whoever
// answered last.
func (t *trial) connect(ctx context.Context, auth bool) (int, []byte, error) {
	conn, err := t.dial(ctx)
	if err != nil {
		return 0, nil, err
	}
	defer conn.Close()
	defer cut(ctx, conn)()
	host := hostport(t.target)
	req := t.request(http.MethodConnect, &url.URL{Host: host})
	if auth {
		t.authorize(req)
	}
	w := newWire(conn)
	code, _, err := exchange(ctx, w, req, (*http.Request).Write)
	if err != nil || code != http.StatusOK || !auth || t.blind {
		return code, nil, err
	}
	inside := net.Conn(w)
	if t.target.Scheme == "https" {
		if inside, err = t.secure(ctx, inside, host); err != nil {
			return 0, nil, fmt.Errorf("TLS with the target: %w", said(ctx, err))
		}
	}
	return exchange(ctx, newWire(inside), t.request(http.MethodGet, t.target), (*http.Request).Write)
}

// request returns a request after which the connection ends, unless it is to
// become a tunnel.
func (t *trial) request(method string, u *url.URL) *http.Request {
	return &http.Request{
		Method: method, URL: u, Host: u.Host, Close: method != http.MethodConnect,
		Header: http.Header{"User-Agent": {"proxycheck/1"}, "Cache-Control": {"no-cache"}},
	}
}

// authorize gives a request the proxy's credentials.
func (t *trial) authorize(req *http.Request) {
	if t.open() {
		return
	}
	c := t.proxy.Credentials
	pair := base64.StdEncoding.EncodeToString([]byte(c.Username + ":" + string(c.Password)))
	req.Header.Set("Proxy-Authorization", "Basic "+pair)
}

// wire is a connection whose answers are read through a buffer and up to a
// limit. What is in the buffer when an answer ends belongs to the next.
type wire struct {
	net.Conn
	limit *io.LimitedReader
	read  *bufio.Reader
}

func newWire(conn net.Conn) *wire {
	limit := &io.LimitedReader{R: conn, N: maxAnswer}
	return &wire{conn, limit, bufio.NewReader(limit)}
}

// Read reads what follows an answer, which is the tunnel.
func (w *wire) Read(p []byte) (int, error) {
	w.limit.N = max(w.limit.N, maxAnswer) // the limit is on what is inside now
	return w.read.Read(p)
}

// exchange sends a request and reads the answer to it.
func exchange(ctx context.Context, w *wire, req *http.Request, write func(*http.Request, io.Writer) error) (int, []byte, error) {
	if err := write(req, w.Conn); err != nil {
		return 0, nil, fmt.Errorf("sending: %w", said(ctx, err))
	}
	for range 5 { // interim answers, which nobody sends in number
		resp, err := http.ReadResponse(w.read, req)
		if err != nil {
			return 0, nil, fmt.Errorf("reading the answer: %w", said(ctx, err))
		}
		if resp.StatusCode < 200 && resp.StatusCode != http.StatusSwitchingProtocols {
			continue
		}
		if req.Method == http.MethodConnect {
			return resp.StatusCode, nil, nil
		}
		body, err := io.ReadAll(resp.Body)
		if w.limit.N == 0 {
			err = nil // long enough to know that it works
		}
		if err != nil {
			return 0, nil, fmt.Errorf("reading the answer's body: %w", said(ctx, err))
		}
		return resp.StatusCode, body, nil
	}
	return 0, nil, errors.New("nothing but interim answers came")
}

// said keeps of an error what the other side did and not what it sent: a
// proxy that is somebody else's now must not write into the log.
func said(ctx context.Context, err error) error {
	if e := ctx.Err(); e != nil {
		return e
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return errors.New("the certificate is not valid for this name, or its issuer is not trusted")
	}
	if netErr, ok := errors.AsType[net.Error](err); ok {
		return netErr
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the connection was closed")
	}
	return errors.New("it is not the protocol that was expected")
}

// cut ends the reads and writes of a connection when ctx ends. The function
// that it returns takes that back.
func cut(ctx context.Context, conn net.Conn) func() {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	return func() { stop() }
}

// hostport is the host and port of a URL, the port written out.
func hostport(u *url.URL) string {
	port := u.Port()
	switch {
	case port != "":
	case u.Scheme == "https":
		port = "443"
	default:
		port = "80"
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// address finds the address that a target tells.
func address(body []byte) netip.Addr {
	text := strings.TrimSpace(string(body))
	var doc struct {
		Address string `json:"address"`
	}
	if bytes.HasPrefix(bytes.TrimSpace(body), []byte("{")) {
		if err := json.Unmarshal(body, &doc); err != nil {
			return netip.Addr{}
		}
		text = doc.Address
	}
	addr, err := netip.ParseAddr(text)
	if err != nil || addr.Zone() != "" {
		return netip.Addr{}
	}
	return addr.Unmap()
}
