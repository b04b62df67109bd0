package guest

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// pipes is a listener and a dialer in memory, so that a guest runs under the
// clock of synctest, which also sees any goroutine that stays behind.
type pipes struct {
	incoming chan net.Conn
	closed   chan struct{}
	close    func()
	// talk is what targets do.
	talk func(c net.Conn)
	// others are the goroutines of targets and clients.
	others sync.WaitGroup
	// ended is how long the end took, for the test's Cleanup.
	ended time.Duration
}

// pipeConn is an end of a net.Pipe that has an address.
type pipeConn struct{ net.Conn }

func (pipeConn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 50000} }

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 3128} }

func (p *pipes) Close() error { p.close(); return nil }

func (p *pipes) Accept() (net.Conn, error) {
	select {
	case c := <-p.incoming:
		return c, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) DialContext(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	p.others.Go(func() {
		defer theirs.Close()
		p.talk(theirs)
	})
	return ours, nil
}

// connect returns a client's connection on which text has been sent.
func (p *pipes) connect(t *testing.T, text string) net.Conn {
	t.Helper()
	ours, theirs := net.Pipe()
	p.incoming <- pipeConn{theirs}
	if _, err := io.WriteString(ours, text); err != nil {
		t.Error(err)
	}
	return ours
}

// inTime runs test with a guest without users in a bubble of synctest. When
// test returns the guest is ended and waited for.
func inTime(t *testing.T, limits Limits, talk func(c net.Conn), test func(t *testing.T, p *pipes)) {
	t.Helper()
	doc := open(t)
	synctest.Test(t, func(t *testing.T) {
		p := &pipes{incoming: make(chan net.Conn), closed: make(chan struct{}), talk: talk}
		p.close = sync.OnceFunc(func() { close(p.closed) })
		s, err := New(doc, Options{
			Dialer: p, Resolver: &fakeResolver{answers: map[string][]string{"host.example": {publicIP}}}, Limits: limits,
			Addresses: func() ([]net.Addr, error) { return nil, nil },
		})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		served := make(chan error, 1)
		go func() { served <- s.Serve(ctx, p) }()
		test(t, p)
		start := time.Now()
		cancel()
		if err := <-served; err != nil {
			t.Errorf("Serve: %v", err)
		}
		p.ended = time.Since(start)
		p.others.Wait()
	})
}

// untilClosed reads all that comes, and returns it with the time that it took.
func untilClosed(t *testing.T, c net.Conn) (string, time.Duration) {
	t.Helper()
	start := time.Now()
	all, err := io.ReadAll(c)
	if err != nil {
		t.Errorf("after %q: %v", all, err)
	}
	_ = c.Close()
	return string(all), time.Since(start)
}

// silent is a target that reads and never answers.
func silent(c net.Conn) { _, _ = io.Copy(io.Discard, c) }

// steady is a target that sends a byte every seven seconds, none of which is at
// the end of a limit.
func steady(c net.Conn) {
	go func() { _, _ = io.Copy(io.Discard, c) }()
	for {
		if _, err := c.Write([]byte("x")); err != nil {
			return
		}
		time.Sleep(7 * time.Second)
	}
}

const (
	getLine     = "GET http://host.example/ HTTP/1.1\r\nHost: host.example\r\n\r\n"
	connectText = connectLine + "\r\n"
	established = "HTTP/1.1 200 Connection established\r\n\r\n"
)

func TestSlowHeaders(t *testing.T) {
	limits := Limits{Header: 10 * time.Second}
	t.Run("nothing", func(t *testing.T) {
		inTime(t, limits, silent, func(t *testing.T, p *pipes) {
			if got, took := untilClosed(t, p.connect(t, "")); got != "" || took != limits.Header {
				t.Errorf("%q after %v", got, took)
			}
		})
	})
	t.Run("a line a second", func(t *testing.T) {
		inTime(t, limits, silent, func(t *testing.T, p *pipes) {
			c := p.connect(t, "GET http://host.example/ HTTP/1.1\r\n")
			p.others.Go(func() {
				for i := 0; ; i++ {
					if _, err := fmt.Fprintf(c, "X-%d: x\r\n", i); err != nil {
						return
					}
					time.Sleep(time.Second)
				}
			})
			if got, took := untilClosed(t, c); got != "" || took != limits.Header {
				t.Errorf("%q after %v", got, took)
			}
		})
	})
}

func TestIdleConnectionIsClosed(t *testing.T) {
	inTime(t, Limits{KeepAlive: time.Minute}, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		_, _ = io.WriteString(c, "HTTP/1.1 204 No Content\r\n\r\n")
	}, func(t *testing.T, p *pipes) {
		got, took := untilClosed(t, p.connect(t, getLine))
		if !strings.HasPrefix(got, "HTTP/1.1 204 ") || took != time.Minute {
			t.Errorf("%q after %v", got, took)
		}
	})
}

// A client that never sends the body that it announced is answered, and let go.
func TestMissingBody(t *testing.T) {
	for name, request := range map[string]string{
		"refused":          "POST http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n",
		"refused, chunked": "POST http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n",
		"health":           "GET /healthz HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\n\r\n",
		"CONNECT":          connectLine + "Content-Length: 4\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			inTime(t, Limits{}, silent, func(t *testing.T, p *pipes) {
				c := p.connect(t, request)
				start := time.Now()
				line, err := bufio.NewReader(c).ReadString('\n')
				if err != nil || time.Since(start) != 0 {
					t.Errorf("answered %q, %v after %v", line, err, time.Since(start))
				}
				if _, took := untilClosed(t, c); took < lastWords || took > lastWords+time.Second {
					t.Errorf("closed after %v; want about %v", took, lastWords)
				}
			})
		})
	}
}

func TestSilentTarget(t *testing.T) {
	limits := Limits{Idle: time.Minute, Total: time.Hour, KeepAlive: time.Second}
	inTime(t, limits, silent, func(t *testing.T, p *pipes) {
		got, took := untilClosed(t, p.connect(t, getLine))
		if !strings.HasPrefix(got, "HTTP/1.1 504 ") || !strings.Contains(got, "http_response_timeout") || took.Round(time.Second) != time.Minute {
			t.Errorf("%q after %v", got, took)
		}
	})
}

// A body that stops in the middle is cut off, and does not pass for a whole one.
func TestStalledAnswer(t *testing.T) {
	limits := Limits{Idle: time.Minute, Total: time.Hour}
	inTime(t, limits, func(c net.Conn) {
		go silent(c)
		time.Sleep(30 * time.Second)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n")
		time.Sleep(24 * time.Hour)
	}, func(t *testing.T, p *pipes) {
		got, took := untilClosed(t, p.connect(t, getLine))
		if !strings.HasSuffix(got, "4\r\nhalf\r\n") || took != 90*time.Second {
			t.Errorf("%q after %v", got, took)
		}
	})
}

func TestEndlessAnswer(t *testing.T) {
	limits := Limits{Idle: time.Minute, Total: time.Hour}
	inTime(t, limits, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		go silent(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		steady(c)
	}, func(t *testing.T, p *pipes) {
		if got, took := untilClosed(t, p.connect(t, getLine)); strings.Count(got, "1\r\nx\r\n") != 515 || took != time.Hour {
			t.Errorf("%q after %v", got, took)
		}
	})
}

// A client that takes nothing of a long answer does not hold the guest.
func TestClientThatDoesNotRead(t *testing.T) {
	limits := Limits{Idle: time.Minute, Total: time.Hour}
	inTime(t, limits, func(c net.Conn) {
		_, _ = http.ReadRequest(bufio.NewReader(c))
		go silent(c)
		_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n\r\n")
		time.Sleep(time.Second) // the client has read the header
		for _, err := c.Write(make([]byte, bufferSize)); err == nil; _, err = c.Write(make([]byte, bufferSize)) {
		}
	}, func(t *testing.T, p *pipes) {
		c := p.connect(t, getLine)
		r := bufio.NewReader(c)
		if _, err := http.ReadResponse(r, nil); err != nil {
			t.Error(err)
		}
		time.Sleep(time.Minute + lastWords + 2*time.Second)
		if n, err := io.Copy(io.Discard, r); n >= bufferSize {
			t.Errorf("%d bytes were still sent, %v", n, err)
		}
		_ = c.Close()
	})
}

// An upload that goes on keeps a request alive although the target is silent.
func TestSlowUpload(t *testing.T) {
	limits := Limits{Idle: time.Minute, Total: time.Hour}
	inTime(t, limits, func(c net.Conn) {
		r, err := http.ReadRequest(bufio.NewReader(c))
		if err != nil {
			return
		}
		n, _ := io.Copy(io.Discard, r.Body)
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nX-Read: %d\r\nConnection: close\r\nContent-Length: 0\r\n\r\n", n)
	}, func(t *testing.T, p *pipes) {
		c := p.connect(t, "POST http://host.example/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 10\r\n\r\n")
		p.others.Go(func() {
			for range 10 {
				time.Sleep(50 * time.Second)
				_, _ = io.WriteString(c, "x")
			}
		})
		if got, took := untilClosed(t, c); !strings.Contains(got, "X-Read: 10\r\n") || took < 500*time.Second {
			t.Errorf("%q after %v", got, took)
		}
	})
}

func TestTunnelTimes(t *testing.T) {
	limits := Limits{Idle: time.Minute, Total: time.Hour}
	for _, test := range []struct {
		name string
		talk func(net.Conn)
		took time.Duration
		size int
	}{
		{"silent", silent, time.Minute, 0},
		{"steady", steady, time.Hour, 515},
	} {
		t.Run(test.name, func(t *testing.T) {
			inTime(t, limits, test.talk, func(t *testing.T, p *pipes) {
				got, took := untilClosed(t, p.connect(t, connectText))
				if n := len(got) - len(established); took != test.took || n != test.size {
					t.Errorf("closed after %v and %d bytes; want %v, %d", took, n, test.took, test.size)
				}
			})
		})
	}
}

// Tunnels and requests that do not end by themselves are closed when the drain
// is over.
func TestDrainIsBounded(t *testing.T) {
	limits := Limits{Drain: 10 * time.Second}
	inTime(t, limits, silent, func(t *testing.T, p *pipes) {
		tunnel, request := p.connect(t, connectText), p.connect(t, getLine)
		_, _ = io.ReadFull(tunnel, make([]byte, len(established)))
		synctest.Wait()
		p.others.Go(func() { _, _ = io.Copy(io.Discard, request) })
		t.Cleanup(func() {
			if p.ended != limits.Drain {
				t.Errorf("the end took %v", p.ended)
			}
		})
		p.others.Go(func() { _, _ = io.Copy(io.Discard, tunnel) })
	})
}

// Ends at once where nothing goes on, idle connections or not.
func TestEndWithoutWork(t *testing.T) {
	inTime(t, Limits{}, silent, func(t *testing.T, p *pipes) {
		c := p.connect(t, "GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n")
		r := bufio.NewReader(c)
		if _, err := http.ReadResponse(r, nil); err != nil {
			t.Error(err)
		}
		t.Cleanup(func() {
			if p.ended > time.Second {
				t.Errorf("the end took %v", p.ended)
			}
		})
	})
}
