package providertest_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/providertest"
)

// An author's test is this function with a harness of their own. The fake's
// backend is one too.
func ExampleRun() {
	_ = func(t *testing.T) {
		providertest.Run(t, providertest.Config{
			Open: func(_ context.Context, env providertest.Env) (providertest.Harness, error) {
				return providertest.NewFakeBackend(providertest.FakeOptions{Logger: env.Logger}), nil
			},
		})
	}
}

// Check runs outside go test. Here a provider forgets what it made when its
// process ends.
func ExampleCheck() {
	report, err := providertest.Check(context.Background(), providertest.Config{
		Open: func(_ context.Context, env providertest.Env) (providertest.Harness, error) {
			return providertest.NewFakeBackend(providertest.FakeOptions{Flaws: []providertest.Flaw{providertest.FlawForgets}}), nil
		},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.Verdict())
	for _, check := range report.Rules[0].Checks {
		fmt.Println(check.Name, check.Status)
	}
	// Output:
	// not conformant
	// Create/New passed
	// Create/Idempotent passed
	// Create/Restart failed
	// Create/OtherProcess failed
	// Create/Concurrent failed
}

// reconcile is what a test wants to be sure of: it brings the number of
// instances to what is wanted, and may crash at any moment.
func reconcile(ctx context.Context, p provider.Provider, spec func(string) provider.Spec, wanted int) error {
	var errs []error
	for i := range wanted {
		_, err := provider.Ensure(ctx, p, spec(fmt.Sprintf("web-%d", i)), "")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// A fake loses an answer, as a backend does when a connection breaks. The
// reconciler is right when it comes to the wanted number all the same.
func ExampleFake() {
	ctx := context.Background()
	p := providertest.NewFake(providertest.FakeOptions{})
	defer p.Close()
	backend := p.Backend()
	backend.LoseNext("Create", errors.New("connection reset"))

	fmt.Println(reconcile(ctx, p, backend.Spec, 2))
	fmt.Println(reconcile(ctx, p, backend.Spec, 2))
	list, err := p.List(ctx)
	fmt.Println(len(list), "instances", err)
	for _, call := range backend.Calls() {
		fmt.Println(call.Op, call.Ref.Name, cmp.Or(provider.KindOf(call.Err), "ok"))
	}
	// Output:
	// fake: Create web-0: Unavailable: connection reset
	// <nil>
	// 2 instances <nil>
	// Create web-0 Unavailable
	// Create web-1 ok
	// Create web-0 ok
	// Create web-1 ok
	// List  ok
}
