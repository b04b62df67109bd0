//go:build linux

package customprovider

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/guest"
)

// TestMain lets the test binary be three programs: the tests, a guest, and a
// manager that the tests kill.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case "guest":
			os.Exit(guest.Main(os.Args[2:], os.Stdout, os.Stderr))
		case "slow-guest":
			os.Exit(slowGuest())
		case "manager":
			if err := manage(os.Args[2:]); err != nil {
				fmt.Fprintln(os.Stderr, err)
				os.Exit(1)
			}
			os.Exit(0)
		}
	}
	os.Exit(m.Run())
}

// slowGuest serves nothing, and takes its time when it is asked to end.
func slowGuest() int {
	asked := make(chan os.Signal, 1)
	signal.Notify(asked, syscall.SIGTERM)
	if document, err := io.ReadAll(os.Stdin); err != nil || len(document) == 0 {
		return 2
	}
	<-asked
	time.Sleep(300 * time.Millisecond)
	return 0
}

// manage is a program that uses the provider. It prints each instance that it
// made as JSON, and lives until its input ends or somebody kills it.
func manage(args []string) error {
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	dir := flags.String("dir", "", "the state directory")
	name := flags.String("name", "a", "the instance")
	action := flags.String("do", "", "create, delete, churn or lock")
	before := flags.String("kill-before", "", "a change before which it kills itself")
	if err := flags.Parse(args); err != nil {
		return err
	}
	config, err := testConfig(*dir)
	if err != nil {
		return err
	}
	p, err := New(config)
	if err != nil {
		return err
	}
	p.step = func(_ context.Context, what string, do func() error) error {
		if what == *before {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
		return do()
	}
	ctx := context.Background()
	switch *action {
	case "create":
		inst, err := p.Create(ctx, testSpec(*name))
		if err != nil {
			return err
		}
		if err := json.NewEncoder(os.Stdout).Encode(inst); err != nil {
			return err
		}
	case "delete":
		return p.Delete(ctx, provider.Ref{Name: *name})
	case "churn":
		churn(ctx, p)
	case "lock":
		if _, err := p.lock(ctx, *name); err != nil {
			return err
		}
		fmt.Println("locked")
	}
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// churn creates and deletes for ever.
func churn(ctx context.Context, p *Provider) {
	fmt.Println("churning")
	for {
		name := string(rune('a' + rand.N(3)))
		if rand.N(2) == 0 {
			_, _ = p.Create(ctx, testSpec(name))
		} else {
			_ = p.Delete(ctx, provider.Ref{Name: name})
		}
	}
}

// testConfig is that of one owner, with the test binary as the guest. Under the
// race detector a program takes a second to exit unless GORACE says otherwise.
func testConfig(dir string) (Config, error) {
	exe, err := os.Executable()
	command := []string{"env", "GORACE=atexit_sleep_ms=0", exe, "guest"}
	return Config{Name: "test", Owner: "owner", Dir: dir, Command: command, Grace: 500 * time.Millisecond}, err
}
