package provider_test

import (
	"context"
	"io"
	"slices"
	"testing"

	"github.com/crawlfleet/provider"
)

type key struct{}

// recorder returns an observer that writes down what it is told.
func recorder(name string, out *[]string) provider.Observer {
	return func(ctx context.Context, op string, ref provider.Ref) (context.Context, func(error)) {
		*out = append(*out, name+" "+op+" "+ref.Name)
		return context.WithValue(ctx, key{}, name), func(err error) {
			*out = append(*out, name+" "+op+" done "+string(provider.KindOf(err)))
		}
	}
}

func TestInstrument(t *testing.T) {
	var seen []string
	s := &scripted{
		create: func() (provider.Instance, error) { return instance("web-1", "x", provider.Running), nil },
		get: func(provider.Ref) (provider.Instance, error) {
			return provider.Instance{}, kind(provider.NotFound, nil)
		},
		list: func() ([]provider.Instance, error) { return []provider.Instance{{}}, io.EOF },
		delete: func(ctx context.Context, _ provider.Ref) error {
			if ctx.Value(key{}) != "o" {
				t.Error("the call does not run under the observer's context")
			}
			return nil
		},
		info: provider.Info{Name: "inner"},
	}
	p := provider.Instrument(s, recorder("o", &seen))
	if inst, err := p.Create(t.Context(), provider.Spec{Name: "web-1"}); err != nil || inst.ID != "x" {
		t.Errorf("Create: %+v, %v", inst, err)
	}
	if _, err := p.Get(t.Context(), provider.Ref{Name: "web-1"}); provider.KindOf(err) != provider.NotFound {
		t.Error(err)
	}
	if list, err := p.List(t.Context()); len(list) != 1 || err != io.EOF {
		t.Error("the items beside an error are lost")
	}
	if err := p.Delete(t.Context(), provider.Ref{Name: "web-1"}); err != nil {
		t.Error(err)
	}
	if err := p.Close(); err != nil || p.Info().Name != "inner" {
		t.Error(err, p.Info())
	}
	want := []string{
		"o Create web-1", "o Create done ", "o Get web-1", "o Get done NotFound", "o List ", "o List done Unavailable",
		"o Delete web-1", "o Delete done ", "o Close ", "o Close done ",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
}

// TestAbandonedReachesEveryObserver: a nil that gives something up is counted
// by each wrapper around the call, and by nobody where there is none.
func TestAbandonedReachesEveryObserver(t *testing.T) {
	var seen []string
	ref := provider.Ref{Name: "web-1", ID: "1/gone/x"}
	s := &scripted{delete: func(ctx context.Context, ref provider.Ref) error {
		provider.Abandoned(ctx, ref, "gone")
		return nil
	}}
	p := provider.Instrument(provider.Instrument(s, recorder("inner", &seen)), recorder("outer", &seen))
	if err := p.Delete(t.Context(), ref); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"outer Delete web-1", "inner Delete web-1",
		"outer Abandoned web-1", "outer Abandoned done NotFound", "inner Abandoned web-1", "inner Abandoned done NotFound",
		"inner Delete done ", "outer Delete done ",
	}
	if !slices.Equal(seen, want) {
		t.Errorf("got  %q\nwant %q", seen, want)
	}
	if err := s.Delete(t.Context(), ref); err != nil {
		t.Error(err)
	}
}

func TestObserverWithoutDone(t *testing.T) {
	s := &scripted{delete: errs(nil)}
	p := provider.Instrument(s, func(ctx context.Context, _ string, _ provider.Ref) (context.Context, func(error)) { return ctx, nil })
	if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Error(err)
	}
}

// withConsole has the method, whatever its Info says.
type withConsole struct{ scripted }

func (*withConsole) Console(context.Context, provider.Ref, io.Writer, provider.ConsoleOptions) error {
	return nil
}

func TestAs(t *testing.T) {
	observer := recorder("o", new([]string))
	wrap := func(p provider.Provider) provider.Provider {
		return provider.Instrument(provider.Instrument(p, observer), observer)
	}
	declared := &withConsole{scripted{info: provider.Info{Features: []provider.Feature{provider.FeatureConsole}}}}
	if c, ok := provider.As[provider.Console](wrap(declared)); !ok || c != provider.Console(declared) {
		t.Error("a declared console is not found through two wrappers")
	}
	if _, ok := provider.As[provider.Console](wrap(&withConsole{})); ok {
		t.Error("Info does not declare the console, and As gives it out")
	}
	if got, ok := provider.As[*scripted](wrap(&declared.scripted)); !ok || got != &declared.scripted {
		t.Error("a concrete type is not found")
	}
	if _, ok := provider.As[io.Reader](wrap(declared)); ok {
		t.Error("something that is not there was found")
	}
	if _, ok := provider.As[provider.Console](nil); ok {
		t.Error("something was found in nil")
	}
}
