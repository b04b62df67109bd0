package daemon

import (
	"maps"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/crawlfleet/provider"
	"github.com/crawlfleet/provider/examples/internal/fleet"
	"github.com/crawlfleet/provider/examples/internal/proxyapi"
	"github.com/crawlfleet/provider/examples/internal/proxyapi/lease"
)

// Fleet is how one fleet does, for a person.
type Fleet struct {
	fleet.Status
	// Provider runs it.
	Provider string
	// Members are its instances and the wanted ones that are not there yet.
	Members []Member
}

// Member is how one member does, for a person.
type Member struct {
	// Name is its name.
	Name string
	// Phase is a word for where it is: "waiting", "making", "booting",
	// "checking", "works", "broken", "draining" or "deleting".
	Phase string
	// Detail says more where there is more, without secrets.
	Detail string
}

// board is where the loops put up what others read: the proxies for the pool,
// the providers for the API, the fleets for the terminal.
type board struct {
	pool *lease.Pool

	mu        sync.Mutex
	proxies   map[string][]lease.Proxy
	providers map[string]proxyapi.ProviderStatus
	fleets    map[string][]Fleet
	left      map[string][]string
	listings  map[string]bool // whether the first list has ended

	// settled is closed when all fleets are as wanted for the first time.
	settled chan struct{}
}

func newBoard(pool *lease.Pool) *board {
	return &board{
		pool: pool, proxies: map[string][]lease.Proxy{}, providers: map[string]proxyapi.ProviderStatus{},
		fleets: map[string][]Fleet{}, left: map[string][]string{}, listings: map[string]bool{}, settled: make(chan struct{}),
	}
}

// open notes a provider.
func (b *board) open(name, kind string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.providers[name]; !ok {
		b.providers[name] = proxyapi.ProviderStatus{Name: name, Kind: kind, Instances: map[provider.State]int{}}
		b.listings[name] = false
	}
}

// close forgets a provider.
func (b *board) close(name string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.providers, name)
	delete(b.fleets, name)
	delete(b.left, name)
	delete(b.listings, name)
	if len(b.proxies[name]) > 0 {
		delete(b.proxies, name)
		b.replace()
	}
}

// listed notes how a list of a provider ended.
func (b *board) listed(name string, list []provider.Instance, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.healthOf(name, err, now)
	if err == nil || len(list) > 0 {
		s.Instances = map[provider.State]int{}
		for _, inst := range list {
			s.Instances[inst.State.Known()]++
		}
	}
	b.providers[name] = s
	b.listings[name] = true
}

// failed notes that a provider could not be opened.
func (b *board) failed(name string, err error, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.providers[name] = b.healthOf(name, err, now)
}

// healthOf returns the status of a provider after a call. The lock is held.
func (b *board) healthOf(name string, err error, now time.Time) proxyapi.ProviderStatus {
	s := b.providers[name]
	health := proxyapi.Healthy
	s.LastError = nil
	if err != nil {
		health = proxyapi.Unhealthy
		s.LastError = &proxyapi.ProviderError{Kind: provider.KindOf(err), Message: err.Error(), At: now}
	}
	if s.Health != health {
		s.Health, s.Since = health, now
	}
	return s
}

// put replaces what a loop says of its provider. The pool is told when the
// proxies differ, before put returns.
func (b *board) put(name string, proxies []lease.Proxy, fleets []Fleet, left []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.fleets[name], b.left[name] = fleets, left
	if !reflect.DeepEqual(proxies, b.proxies[name]) {
		b.proxies[name] = proxies
		b.replace()
	}
	select {
	case <-b.settled:
	default:
		if b.isSettled() {
			close(b.settled)
		}
	}
}

// isSettled reports whether everything is as wanted. The lock is held.
func (b *board) isSettled() bool {
	for name, listed := range b.listings {
		if _, put := b.fleets[name]; !put || !listed {
			return false
		}
		for _, f := range b.fleets[name] {
			if !f.Settled() {
				return false
			}
		}
	}
	return true
}

// remaining returns what the providers hold, as far as it is known.
func (b *board) remaining() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var all []string
	for _, name := range slices.Sorted(maps.Keys(b.left)) {
		for _, left := range b.left[name] {
			all = append(all, name+": "+left)
		}
		if !b.listings[name] {
			all = append(all, name+": unknown")
		}
	}
	return all
}

// replace tells the pool. The lock is held, so that a later view is told later.
func (b *board) replace() {
	var all []lease.Proxy
	for _, name := range slices.Sorted(maps.Keys(b.proxies)) {
		all = append(all, b.proxies[name]...)
	}
	b.pool.Replace(all)
}

// status is for GET /v1/providers.
func (b *board) status() []proxyapi.ProviderStatus {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []proxyapi.ProviderStatus
	for _, name := range slices.Sorted(maps.Keys(b.providers)) {
		list = append(list, b.providers[name])
	}
	return list
}

// all returns the fleets in order of their names.
func (b *board) all() []Fleet {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []Fleet
	for _, name := range slices.Sorted(maps.Keys(b.fleets)) {
		list = append(list, b.fleets[name]...)
	}
	slices.SortStableFunc(list, func(a, b Fleet) int { return compareNames(a.Status.Fleet, b.Status.Fleet) })
	return list
}

// unlisted returns the providers that have not answered a list yet.
func (b *board) unlisted() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for _, name := range slices.Sorted(maps.Keys(b.listings)) {
		if !b.listings[name] {
			names = append(names, name)
		}
	}
	return names
}
