package providertest

import (
	"errors"
	"net/netip"
	"strings"

	"github.com/crawlfleet/provider"
)

func createSpecChecks() []check {
	return []check{{
		name: "Create/BadSpec", rule: "Create/4", run: createBadSpec,
		says: "A spec that is not valid is refused as Invalid (or Unsupported) with its Field, and the backend holds nothing.",
	}, {
		name: "Create/UnsupportedField", rule: "Create/4", run: createUnsupportedField,
		says: "A field that Info does not declare is refused as Unsupported with its Field, and the backend holds nothing.",
	}}
}

// badSpecs are specs that Spec.Validate refuses, or no provider can place.
func badSpecs(good provider.Spec) map[string]provider.Spec {
	bad := map[string]provider.Spec{}
	with := func(what string, f func(*provider.Spec)) {
		spec := good
		f(&spec)
		bad[what] = spec
	}
	with("no name", func(s *provider.Spec) { s.Name = "" })
	with("a name that is no DNS label", func(s *provider.Spec) { s.Name = "Bad_" + s.Name })
	with("a name of 64 bytes", func(s *provider.Spec) { s.Name = strings.Repeat("x", provider.MaxName+1) })
	with("negative processors", func(s *provider.Spec) { s.Size.MilliCPU = -1 })
	with("memory in the wrong unit", func(s *provider.Spec) { s.Size.MemoryBytes = 512 })
	with("a username without a password", func(s *provider.Spec) { s.Credentials = provider.Credentials{Username: "suite"} })
	with("an open proxy", func(s *provider.Spec) { s.Credentials, s.AllowFrom = provider.Credentials{}, nil })
	with("a network with bits beyond its length", func(s *provider.Spec) {
		s.AllowFrom = []netip.Prefix{netip.MustParsePrefix("198.51.100.7/24")}
	})
	with("a label key with a space", func(s *provider.Spec) { s.Labels = map[string]string{"a b": "c"} })
	with("a revision with a line break", func(s *provider.Spec) { s.Revision = "a\nb" })
	with("a location that there is not", func(s *provider.Spec) { s.Location = "suite-nowhere" })
	return bad
}

func createBadSpec(t *trial) {
	p := t.open()
	for what, spec := range badSpecs(t.spec(1)) {
		_, err := t.create(p, spec)
		if k := provider.KindOf(err); k != provider.Invalid && k != provider.Unsupported {
			t.failf("Create with %s answered %s (%v); Invalid is owed", what, orNil(k), err)
		}
		if fieldOf(err) == "" {
			t.failf("Create with %s names no Field: %v", what, err)
		}
	}
	t.nothing(p, "after specs that were refused")
}

func createUnsupportedField(t *trial) {
	p := t.open()
	tried := false
	for _, field := range specFields(provider.Spec{}) {
		if p.Info().Has(field.feature) {
			continue
		}
		tried = true
		spec := t.spec(1)
		field.fill(&spec)
		_, err := t.create(p, spec)
		k := provider.KindOf(err)
		if k != provider.Unsupported && (k != provider.Invalid || field.name != "Location") {
			t.failf("Create with the field %s, which Info does not declare, answered %s (%v); Unsupported is owed", field.name, orNil(k), err)
		}
		if !strings.HasPrefix(fieldOf(err), field.name) {
			t.failf("Create with the field %s names the Field %q: %v", field.name, fieldOf(err), err)
		}
	}
	if !tried {
		t.end(NotApplicable, "Info declares every field")
	}
	t.nothing(p, "after specs that were refused")
}

// fieldOf returns the Field that an error names.
func fieldOf(err error) string {
	for err != nil {
		if e, ok := err.(*provider.Error); ok && e.Field != "" {
			return e.Field
		}
		err = errors.Unwrap(err)
	}
	return ""
}

// orNil names the absence of an error.
func orNil(k provider.Kind) string {
	if k == "" {
		return "nil"
	}
	return string(k)
}
