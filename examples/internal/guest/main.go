package guest

import (
	"context"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/crawlfleet/provider"
)

// Exit codes of [Main].
const (
	exitOK    = 0
	exitError = 1
	exitUsage = 2
)

// maxDocument bounds the file of the document, in bytes. One with
// provider.MaxAllowFrom networks has under 20 KiB.
const maxDocument = 1 << 20

// Main is the guest as a program: it reads its document, serves, and returns
// the exit code, 0 after SIGTERM or SIGINT, 2 for arguments or a document that
// cannot be used, and 1 for anything else. A second signal ends it at once.
//
// Programs that start guests without a binary of their own run themselves with
// the argument "guest" and call Main with what follows.
func Main(args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("guest", flag.ContinueOnError)
	flags.SetOutput(stderr)
	config := flags.String("config", "", "the `file` with the JSON document of docs/guest.md")
	fd := flags.Int("listen-fd", -1, "serve on the inherited listening socket of this `number`, instead of the document's port")
	if err := flags.Parse(args); err != nil {
		if err == flag.ErrHelp {
			return exitOK
		}
		return exitUsage
	}
	if *config == "" || flags.NArg() > 0 {
		fmt.Fprintln(stderr, "guest: give the document with -config FILE, and nothing else beside -listen-fd")
		return exitUsage
	}
	// The reader of the log may be gone before the guest is.
	signal.Ignore(syscall.SIGPIPE)
	log := slog.New(slog.NewTextHandler(stderr, nil))
	doc, err := readDocument(*config)
	if err != nil {
		fmt.Fprintln(stderr, "guest:", err)
		return exitUsage
	}
	server, err := New(doc, Options{Logger: log})
	if err != nil {
		fmt.Fprintln(stderr, "guest:", err)
		return exitUsage
	}
	if err := run(server, doc.Port, *fd, log); err != nil {
		fmt.Fprintln(stderr, "guest:", err)
		return exitError
	}
	return exitOK
}

// readDocument returns the document in a file, of bounded size.
func readDocument(name string) (provider.Guest, error) {
	f, err := os.Open(name)
	if err != nil {
		return provider.Guest{}, fmt.Errorf("reading the document: %w", err)
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxDocument+1))
	if err != nil {
		return provider.Guest{}, fmt.Errorf("reading the document: %w", err)
	}
	if len(text) > maxDocument {
		return provider.Guest{}, fmt.Errorf("the document %s has more than %d bytes", name, maxDocument)
	}
	doc, err := provider.ParseGuest(text)
	if err != nil {
		return provider.Guest{}, fmt.Errorf("%s: %w", name, err)
	}
	return doc, nil
}

// run serves until a signal comes.
func run(server *Server, port uint16, fd int, log *slog.Logger) error {
	signalled, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	context.AfterFunc(signalled, func() {
		stop() // from here on a second signal has its usual effect
		cancel()
	})
	l, err := listen(ctx, port, fd)
	if err != nil {
		return err
	}
	log.Info("serving", "address", l.Addr().String())
	return server.Serve(ctx, l)
}

// listen opens the document's port on all addresses, or takes the inherited
// socket over.
func listen(ctx context.Context, port uint16, fd int) (net.Listener, error) {
	if fd < 0 {
		return (&net.ListenConfig{}).Listen(ctx, "tcp", ":"+strconv.Itoa(int(port)))
	}
	f := os.NewFile(uintptr(fd), "listen-fd")
	if f == nil {
		return nil, fmt.Errorf("-listen-fd %d is not a file descriptor", fd)
	}
	defer f.Close() // FileListener has a copy
	l, err := net.FileListener(f)
	if err != nil {
		return nil, fmt.Errorf("-listen-fd %d is not a listening socket: %w", fd, err)
	}
	return l, nil
}
