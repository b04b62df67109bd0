//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package kinds_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/kinds"
)

// TestMain lets the test binary be a guest that prints its document.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "guest" {
		printDocument(os.Args[2:])
		return
	}
	os.Exit(m.Run())
}

// printDocument prints the destinations of the document into the console, and
// stays until it is asked to end.
func printDocument(args []string) {
	flags := flag.NewFlagSet("guest", flag.ExitOnError)
	file := flags.String("config", "", "")
	fd := flags.Int("listen-fd", 0, "")
	_ = flags.Parse(args)
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGTERM)
	document, err := os.ReadFile(*file)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	guest, err := provider.ParseGuest(document)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	text, err := json.Marshal(guest.Destinations)
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(string(text))
	if l, err := net.FileListener(os.NewFile(uintptr(*fd), "listener")); err == nil {
		defer l.Close()
	}
	<-end
}

// document starts a guest and returns the destinations that it was given.
func document(t *testing.T, keys, listen string) string {
	t.Helper()
	self, err := filepath.Abs(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	p, err := kinds.Open(t.Context(), kinds.Options{
		Name: "p", Owner: "a", StateDir: t.TempDir(), Config: parse(t, "  p: "+keys+"\n").Providers["p"],
		GuestCommand: []string{self, "guest"}, Listen: listen,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	spec := provider.Spec{Name: "web-0", Credentials: provider.Credentials{Username: "u", Password: "p"}}
	inst, err := provider.Ensure(t.Context(), p, spec, "")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := provider.Remove(t.Context(), p, inst.Ref); err != nil {
			t.Error(err)
		}
	}()
	console, ok := provider.As[provider.Console](p)
	if !ok {
		t.Fatal("the local provider has no console")
	}
	line := &firstLine{done: make(chan string, 1)}
	_ = console.Console(t.Context(), inst.Ref, line, provider.ConsoleOptions{Follow: true})
	return <-line.done
}

// firstLine takes one line and then refuses, which ends a console.
type firstLine struct {
	text string
	done chan string
}

func (f *firstLine) Write(b []byte) (int, error) {
	f.text += string(b)
	if line, _, ok := strings.Cut(f.text, "\n"); ok {
		f.done <- line
		return 0, os.ErrClosed
	}
	return len(b), nil
}

// TestDocumented holds docs/configuration.md to the keys of the kinds.
func TestDocumented(t *testing.T) {
	data, err := os.ReadFile("../../../docs/configuration.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range []any{kinds.Local{}, kinds.Destinations{}, kinds.Destination{}} {
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			key := typ.Field(i).Tag.Get("yaml")
			if key == "" || !strings.Contains(string(data), "`"+key+"`") {
				t.Errorf("docs/configuration.md does not name the key %q of %s", key, typ)
			}
		}
	}
}
