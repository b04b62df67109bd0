package lease

import (
	"slices"
	"testing"
)

func TestPage(t *testing.T) {
	p := NewPool(Options{})
	p.Replace(slices.Concat(working("web", 5), working("api", 3)))
	take(t, p, Request{Selector: Selector{Fleet: "web"}})
	all := func(*Proxy) bool { return true }
	web := func(x *Proxy) bool { return x.Fleet == "web" }
	for _, tt := range []struct {
		name  string
		after Key
		limit int
		match func(*Proxy) bool
		want  []string
		more  bool
	}{
		{"all", Key{}, 100, all, []string{"api-0", "api-1", "api-2", "web-0", "web-1", "web-2", "web-3", "web-4"}, false},
		{"the first", Key{}, 2, all, []string{"api-0", "api-1"}, true},
		{"behind one", Key{Fleet: "api", Name: "api-2", ID: "id-api-2"}, 2, all, []string{"web-0", "web-1"}, true},
		{"behind one that is not there", Key{Fleet: "api", Name: "api-1x"}, 1, all, []string{"api-2"}, true},
		{"exactly the rest", Key{}, 5, web, []string{"web-0", "web-1", "web-2", "web-3", "web-4"}, false},
		{"behind the last", Key{Fleet: "x"}, 5, all, nil, false},
		{"none match", Key{}, 5, func(*Proxy) bool { return false }, nil, false},
	} {
		page, more := p.Page(tt.after, tt.limit, tt.match)
		var got []string
		for _, l := range page {
			got = append(got, l.Name)
			if want := map[bool]int{true: 1}[l.Name == "web-0"]; l.Leases != want {
				t.Errorf("%s: %s has %d leases; want %d", tt.name, l.Name, l.Leases, want)
			}
		}
		if !slices.Equal(got, tt.want) || more != tt.more {
			t.Errorf("%s: got %v, more %v; want %v, %v", tt.name, got, more, tt.want, tt.more)
		}
	}
}

func TestStatsByFleet(t *testing.T) {
	p := NewPool(Options{})
	view := slices.Concat(working("web", 3), working("api", 2))
	view[0].Working = false
	view[1].Draining = true
	p.Replace(view)
	got := p.Stats().Fleets
	if len(got) != 2 || got["web"] != (FleetStats{Working: 2, NotWorking: 1, Draining: 1}) || got["api"] != (FleetStats{Working: 2}) {
		t.Errorf("Fleets = %+v", got)
	}
	p.Replace(nil)
	if got := p.Stats().Fleets; len(got) != 0 {
		t.Errorf("an empty view has the fleets %+v", got)
	}
}
