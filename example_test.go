package provider_test

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/crawlfleet/provider"
)

func ExampleSpec_Validate() {
	spec := provider.Spec{Name: "web-1", Size: provider.Size{MemoryBytes: 512}}
	fmt.Println(spec.Validate())
	spec.Size.MemoryBytes = 512 << 20
	fmt.Println(spec.Validate())
	spec.AllowFrom = []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}
	fmt.Println(spec.Validate())
	// Output:
	// Invalid: Size.MemoryBytes: 512 is outside 1048576 to 1125899906842624; it is in bytes, and 0 is the provider's default
	// Invalid: AllowFrom: is empty together with Credentials, which would be an open proxy; set one of them
	// <nil>
}

func ExampleKindOf() {
	// One host is sure, the other cannot be asked: together they are not sure.
	sure := &provider.Error{Kind: provider.NotFound, Location: "host-a"}
	unsure := &provider.Error{Kind: provider.Unavailable, Location: "host-b", RetryAfter: 5 * time.Second}
	err := errors.Join(sure, unsure)
	fmt.Println(provider.KindOf(sure), provider.KindOf(err), provider.RetryAfter(err), provider.IsPermanent(err))
	// Output: NotFound Unavailable 5s false
}

func ExampleError() {
	err := &provider.Error{
		Kind: provider.NoCapacity, Op: "Create", Provider: "kvm-home",
		Location: "host-a", Ref: provider.Ref{Name: "web-1"}, Err: errors.New("pool default is full"),
	}
	fmt.Println(err)
	// Output: kvm-home: Create web-1 at host-a: NoCapacity: pool default is full
}

func ExampleBackendName() {
	fmt.Println(provider.BackendName("fleet-1", "web-1", 63))
	fmt.Println(provider.BackendName("fleet-2", "web-1", 63))
	// Output:
	// p1-web-1-dqd4y77sfckxw37jq6km
	// p1-web-1-qdjmg6i2uc2sbf67v53w
}

func ExampleSecret() {
	c := provider.Credentials{Username: "crawler", Password: "correct-horse"}
	fmt.Printf("%v %+v\n", c, c)
	// Output: {crawler [redacted]} {Username:crawler Password:[redacted]}
}

func ExampleSpec_MatchesHash() {
	spec := provider.Spec{Name: "web-1", Port: 3128}
	stored := spec.Hash()
	spec.Credentials = provider.Credentials{Username: "crawler", Password: "new"} // does not count
	fmt.Println(spec.MatchesHash(stored))
	spec.Revision = "new-password" // does
	fmt.Println(spec.MatchesHash(stored))
	// Output:
	// true
	// false
}
