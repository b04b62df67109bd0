package guest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

// connect serves a CONNECT request, for as long as its tunnel lasts.
func (s *Server) connect(w http.ResponseWriter, r *http.Request) {
	to, err := parseAuthority(r.RequestURI, 0)
	if err == nil && (r.ContentLength != 0 || len(r.TransferEncoding) > 0) {
		err = errors.New("a CONNECT request has no body")
	}
	if err != nil {
		s.refuse(w, r, refuseRequest(err))
		return
	}
	target, err := s.reach.dial(r.Context(), to, true)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer target.Close()
	// From here on the connection is not the HTTP server's any more: refusals
	// would be bytes in the tunnel.
	from, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.fail(w, r, fmt.Errorf("taking over the client's connection: %w", err))
		return
	}
	defer from.Close()
	// What the client sent behind its request was read along with it.
	early, _ := buffered.Reader.Peek(buffered.Reader.Buffered())
	if err := s.tunnel(from, target, early); err != nil {
		s.log.DebugContext(r.Context(), "tunnel ended", "target", to.String(), "err", err)
	}
}

// tunnel copies both ways until both sides have ended, one breaks, the
// watchdog bites or the server's tunnels are closed. Both connections are
// closed when it returns.
func (s *Server) tunnel(from, target net.Conn, early []byte) error {
	ctx, cancel := context.WithCancelCause(s.tunnels)
	defer cancel(nil)
	dog := watch(s.limits.Idle, s.limits.Total, func(cause error) { cancel(cause) })
	defer dog.stop()
	stop := context.AfterFunc(ctx, func() {
		_ = from.Close()
		_ = target.Close()
	})
	defer stop()

	_ = from.SetDeadline(time.Time{}) // those of the HTTP server
	if _, err := io.WriteString(from, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return err
	}
	if _, err := target.Write(early); err != nil {
		return err
	}
	// Both directions are waited for: nothing outlives the handler.
	done := make(chan error, 1)
	go func() { done <- s.pipe(target, from, dog, cancel) }()
	err := s.pipe(from, target, dog, cancel)
	err = errors.Join(err, <-done)
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// pipe copies one direction. At its end it ends the other side's reading, so
// that the opposite direction goes on; an error ends the tunnel.
func (s *Server) pipe(dst, src net.Conn, dog *watchdog, end context.CancelCauseFunc) error {
	err := s.copy(dst, src, dog)
	if err == nil {
		err = closeWrite(dst)
	}
	if err != nil {
		end(err)
	}
	return err
}

// copy is io.Copy that tells the watchdog, before each write too: a write that
// takes long is not idle from its beginning.
func (s *Server) copy(dst, src net.Conn, dog *watchdog) error {
	b := s.buffers.Get()
	defer s.buffers.Put(b)
	for {
		n, err := src.Read(b)
		if n > 0 {
			dog.touch()
			if _, err := dst.Write(b[:n]); err != nil {
				return err
			}
			dog.touch()
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
