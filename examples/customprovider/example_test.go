//go:build linux

package customprovider_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/customprovider"
)

// A program that is its own guest: it runs itself with the argument "guest",
// and then calls guest.Main (here in TestMain).
func Example() {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, err := customprovider.New(customprovider.Config{
		Name: "local", Owner: "9c0f7d1e", Dir: dir, Command: []string{self, "guest"},
	})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()

	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	inst, err := provider.Ensure(ctx, p, provider.Spec{
		Name:        "web-1",
		Credentials: provider.Credentials{Username: "crawler", Password: "opensesame"},
	}, "")
	if err != nil {
		log.Fatal(err)
	}
	if inst, err = provider.Wait(ctx, p, inst.Ref, nil); err != nil {
		log.Fatal(err)
	}
	fmt.Println(inst.Name, "is", inst.State, "at", inst.Addresses[0])
	if err := provider.Remove(ctx, p, inst.Ref); err != nil {
		log.Fatal(err)
	}
	_, err = p.Get(ctx, inst.Ref)
	fmt.Println(provider.KindOf(err))
	// Output:
	// web-1 is Running at 127.0.0.1
	// NotFound
}

// What a provider cannot honour it refuses, and names the field.
func ExampleProvider_Create_unsupported() {
	self, err := os.Executable()
	if err != nil {
		log.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "local")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	p, err := customprovider.New(customprovider.Config{Name: "local", Owner: "9c0f7d1e", Dir: dir, Command: []string{self, "guest"}})
	if err != nil {
		log.Fatal(err)
	}
	defer p.Close()
	_, err = p.Create(context.Background(), provider.Spec{
		Name:        "web-1",
		Location:    "moon",
		Credentials: provider.Credentials{Username: "crawler", Password: "opensesame"},
	})
	fmt.Println(err)
	// Output:
	// local: Create web-1: Unsupported: Location: there is but one place; leave it empty
}
