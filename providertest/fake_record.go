package providertest

import (
	"slices"

	"github.com/crawlfleet/provider"
)

// FakeCall is one call to a provider of a [FakeBackend].
type FakeCall struct {
	// Op is the method: "Create", "Get", "List" or "Delete".
	Op string
	// Owner is the owner of the provider that was called.
	Owner string
	// Ref is what was asked for. Empty for List.
	Ref provider.Ref
	// Err is what the call returned.
	Err error
}

// fakeFailure is a failure that waits for the next call of its op.
type fakeFailure struct {
	err   error
	after bool
}

// Calls returns the calls so far, in the order in which they ended.
func (b *FakeBackend) Calls() []FakeCall {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Clone(b.calls)
}

// FailNext makes the next call of op ("Create", "Get", "List", "Delete") fail
// with err before it does anything. Several wait in line.
func (b *FakeBackend) FailNext(op string, err error) { b.queue(op, fakeFailure{err: err}) }

// LoseNext makes the next call of op do its work and return err all the same,
// as when the answer of a backend is lost, or its caller crashes.
func (b *FakeBackend) LoseNext(op string, err error) { b.queue(op, fakeFailure{err: err, after: true}) }

func (b *FakeBackend) queue(op string, failure fakeFailure) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failures[op] = append(b.failures[op], failure)
}

// takeFailure returns the failure that waits for a call of op.
func (b *FakeBackend) takeFailure(op string) (fakeFailure, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.failures[op]) == 0 {
		return fakeFailure{}, false
	}
	first := b.failures[op][0]
	b.failures[op] = b.failures[op][1:]
	return first, true
}

func (b *FakeBackend) record(call FakeCall) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.calls = append(b.calls, call)
}

// countGet counts a Get that found the instance, for FakeOptions.BootGets.
func (b *FakeBackend) countGet(ref provider.Ref) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.machine(ref); m != nil && !m.started.IsZero() {
		m.reads++
	}
}

// machine returns the machine that a ref with an ID names, or nil. The caller
// holds the lock.
func (b *FakeBackend) machine(ref provider.Ref) *fakeMachine {
	for _, m := range b.machines {
		if m.id() == ref.ID && m.name == ref.Name {
			return m
		}
	}
	return nil
}
