package provider_test

import (
	"context"
	"fmt"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/providertest"
)

// spec is what the examples run.
func spec(name string) provider.Spec {
	return provider.Spec{Name: name, Credentials: provider.Credentials{Username: "crawler", Password: "correct-horse"}}
}

// A caller that makes an instance, waits for it, and removes it. The fake
// stands for any provider.
func Example() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	var p provider.Provider = providertest.NewFake(providertest.FakeOptions{})
	defer p.Close()

	inst, err := provider.Ensure(ctx, p, spec("web-1"), "")
	if err != nil {
		fmt.Println(err)
		return
	}
	inst, err = provider.Wait(ctx, p, inst.Ref, provider.Ready)
	fmt.Println(inst.Name, inst.State, err)
	fmt.Println(provider.Remove(ctx, p, inst.Ref))
	// Output:
	// web-1 Running <nil>
	// <nil>
}

// A caller that crashed before it stored the ID calls Ensure again and finds
// what the first call made.
func ExampleEnsure() {
	ctx := context.Background()
	p := providertest.NewFake(providertest.FakeOptions{})
	defer p.Close()

	first, _ := provider.Ensure(ctx, p, spec("web-1"), "") // and the ID is lost
	again, _ := provider.Ensure(ctx, p, spec("web-1"), "")
	fmt.Println(again.ID == first.ID)

	// With the ID, another instance is made only once that one is gone.
	_ = provider.Remove(ctx, p, first.Ref)
	next, _ := provider.Ensure(ctx, p, spec("web-1"), first.ID)
	fmt.Println(next.ID == first.ID)
	// Output:
	// true
	// false
}

// A sweep shows what it would delete before it is let loose.
func ExampleCollector() {
	ctx := context.Background()
	p := providertest.NewFake(providertest.FakeOptions{})
	defer p.Close()
	_, _ = p.Create(ctx, spec("web-1"))
	_, _ = p.Create(ctx, spec("forgotten"))

	c := provider.Collector{
		Provider: p,
		Owners:   func(context.Context) ([]provider.Ref, error) { return []provider.Ref{{Name: "web-1"}}, nil },
		Grace:    -1, // none: for a person who has looked
		DryRun:   true,
	}
	sweep, err := c.Sweep(ctx)
	fmt.Println(sweep.Listed, sweep.Orphans, err)
	for _, d := range sweep.Deleted {
		fmt.Println("would delete", d.Ref.Name)
	}
	// Output:
	// 2 1 <nil>
	// would delete forgotten
}

// An observer counts calls by method and kind.
func ExampleInstrument() {
	ctx := context.Background()
	count := map[string]int{}
	p := provider.Instrument(providertest.NewFake(providertest.FakeOptions{}),
		func(ctx context.Context, op string, _ provider.Ref) (context.Context, func(error)) {
			return ctx, func(err error) { count[op+" "+string(provider.KindOf(err))]++ }
		})
	defer p.Close()

	_, _ = p.Create(ctx, spec("web-1"))
	_, _ = p.Get(ctx, provider.Ref{Name: "web-1"})
	_, _ = p.Get(ctx, provider.Ref{Name: "web-2"})
	fmt.Println(count)
	// Output: map[Create :1 Get :1 Get NotFound:1]
}

// As reaches an optional interface through any number of wrappers.
func ExampleAs() {
	p := provider.Instrument(providertest.NewFake(providertest.FakeOptions{}),
		func(ctx context.Context, _ string, _ provider.Ref) (context.Context, func(error)) { return ctx, nil })
	defer p.Close()
	_, console := provider.As[provider.Console](p)
	_, fake := provider.As[*providertest.Fake](p)
	fmt.Println(console, fake)
	// Output: false true
}
