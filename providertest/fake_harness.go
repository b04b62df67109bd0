package providertest

import (
	"context"
	"fmt"
	"maps"
	"net/netip"
	"strings"

	"github.com/crawlfleet/provider"
)

// FakeBackend can do everything that a harness may be asked for.
var _ interface {
	Harness
	Killer
	Stopper
	Wrecker
	Squatter
	Places
	Readable
	Breaker
} = (*FakeBackend)(nil)

// Open returns a provider for the owner, as [FakeBackend.Provider] does.
func (b *FakeBackend) Open(_ context.Context, owner string) (provider.Provider, error) {
	return b.Provider(owner), nil
}

// Spec returns a spec of that name that uses no optional field but AllowFrom
// or Credentials, of which a spec needs one.
func (b *FakeBackend) Spec(name string) provider.Spec {
	spec := provider.Spec{Name: name, AllowFrom: suiteNetworks()}
	return spec
}

// suiteNetworks is TEST-NET-2 (RFC 5737), which no client has.
func suiteNetworks() []netip.Prefix { return []netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")} }

// Audit returns the machines and disks that an owner's providers have made.
func (b *FakeBackend) Audit(_ context.Context, owner string) ([]Resource, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var held []Resource
	for _, m := range b.machines {
		if m.owner == owner {
			held = append(held, Resource{Type: "machine", ID: m.place + "/" + m.key, Instance: m.name, Machine: true})
		}
	}
	for _, d := range b.disks {
		if d.maker == owner {
			held = append(held, Resource{Type: "disk", ID: d.place + "/" + d.token, Instance: d.name})
		}
	}
	return held, nil
}

// Purge removes all machines and disks, and mends what was cut or dropped.
func (b *FakeBackend) Purge(context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	clear(b.machines)
	clear(b.disks)
	clear(b.cut)
	clear(b.dropped)
	b.plan = nil
	b.epoch++
	return nil
}

// Kill ends a provider without waiting for its calls.
func (b *FakeBackend) Kill(p provider.Provider) error {
	f, ok := provider.As[*Fake](p)
	if !ok {
		return fmt.Errorf("%T is not a fake", p)
	}
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.end()
	return nil
}

// change changes the machine that a ref names.
func (b *FakeBackend) change(owner string, ref provider.Ref, f func(*fakeMachine)) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, m := range b.machines {
		if m.owner == owner && m.name == ref.Name && (ref.ID == "" || m.id() == ref.ID) {
			f(m)
			return nil
		}
	}
	return fmt.Errorf("owner %s has no machine %s", owner, ref)
}

// Stop makes an instance Stopped, as a guest that ended by itself.
func (b *FakeBackend) Stop(_ context.Context, owner string, ref provider.Ref) error {
	return b.change(owner, ref, func(m *fakeMachine) {
		m.down, m.failure, m.reason, m.message = provider.Stopped, "", provider.ReasonGuestCrash, "the guest ended"
	})
}

// Fail makes an instance Failed, with what Instance.Failure and Reason say.
func (b *FakeBackend) Fail(owner string, ref provider.Ref, failure provider.Kind, reason string) error {
	return b.change(owner, ref, func(m *fakeMachine) {
		m.down, m.failure, m.reason, m.message = provider.Failed, failure, reason, "the test asked for it"
	})
}

// Wreck removes an instance's machine and leaves its disk.
func (b *FakeBackend) Wreck(_ context.Context, owner string, ref provider.Ref) error {
	return b.change(owner, ref, func(m *fakeMachine) { delete(b.machines, fakeKey{m.place, m.key}) })
}

// Squat puts a machine without an owner under the derived name, at each place.
func (b *FakeBackend) Squat(_ context.Context, owner, name string) (func(context.Context) error, error) {
	key := provider.BackendName(owner, name, fakeBackendLimit)
	b.mu.Lock()
	defer b.mu.Unlock()
	squatters := map[fakeKey]*fakeMachine{}
	for _, place := range b.opts.Places {
		m := &fakeMachine{place: place.Location, key: key, name: name, token: provider.NewToken()}
		squatters[fakeKey{m.place, key}] = m
	}
	for at, m := range squatters {
		b.machines[at] = m
	}
	before := map[fakeKey]fakeMachine{}
	for at, m := range squatters {
		before[at] = *m
	}
	return func(context.Context) error {
		b.mu.Lock()
		defer b.mu.Unlock()
		for at, m := range squatters {
			if b.machines[at] != m || m.started != before[at].started || !m.gone.IsZero() {
				return fmt.Errorf("the squatter at %q is gone or changed", at.place)
			}
		}
		return nil
	}, nil
}

// Cut makes a place answer nothing.
func (b *FakeBackend) Cut(_ context.Context, location string) (func(), error) {
	return b.mark(b.cut, location)
}

// Drop leaves a place out of providers that are opened from now on.
func (b *FakeBackend) Drop(_ context.Context, location string) (func(), error) {
	return b.mark(b.dropped, location)
}

func (b *FakeBackend) mark(set map[string]bool, location string) (func(), error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	set[location] = true
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(set, location)
	}, nil
}

// Dump returns what the backend shows of an owner's machines.
func (b *FakeBackend) Dump(_ context.Context, owner string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var text strings.Builder
	for _, m := range b.machines {
		if m.owner == owner {
			fmt.Fprintf(&text, "%s %s %s %s %v %s\n", m.place, m.key, m.name, m.hash, maps.Clone(m.labels), m.readable)
		}
	}
	return []byte(text.String()), nil
}
