package providertest

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/crawlfleet/provider"
)

func TestRules(t *testing.T) {
	ids, names := map[string]bool{}, map[string]bool{}
	form := regexp.MustCompile(`^(Create|Get|List|Delete|All)/[1-9]$`)
	for _, r := range Rules() {
		if !form.MatchString(r.ID) || ids[r.ID] {
			t.Errorf("the ID %q is used twice, or has another form", r.ID)
		}
		ids[r.ID] = true
		if r.Name == "" || r.Protects == "" || !strings.HasSuffix(r.Text, ".") || !slices.Contains([]Level{Must, Should, May}, r.Level) {
			t.Errorf("%s lacks a name, a text, a level or what it protects", r.ID)
		}
		if len(r.Checks()) == 0 && r.Missing == "" {
			t.Errorf("%s has no check and does not say so", r.ID)
		}
		for _, c := range r.Checks() {
			group, _, _ := strings.Cut(r.ID, "/")
			if !strings.HasPrefix(c.Name, group+"/") || names[c.Name] || !strings.HasSuffix(c.Says, ".") {
				t.Errorf("the check %q of %s is named twice or for another group, or says nothing", c.Name, r.ID)
			}
			names[c.Name] = true
			for _, n := range c.Needs {
				if !slices.Contains(r.Needs, n) {
					t.Errorf("%s needs %s, which %s does not list", c.Name, n, r.ID)
				}
			}
		}
	}
	for _, r := range Rules() {
		for _, id := range r.After {
			if !ids[id] {
				t.Errorf("%s stands on %s, which there is not", r.ID, id)
			}
		}
	}
	if n := len(ids); n != 28 {
		t.Errorf("there are %d rules; the contract has 28", n)
	}
}

func TestNeeds(t *testing.T) {
	for _, n := range []Need{NeedKiller, NeedStopper, NeedWrecker, NeedSquatter, NeedPlaces, NeedReadable, NeedBreaker} {
		if !n.has(NewFakeBackend(FakeOptions{})) {
			t.Errorf("the fake has no %s", n)
		}
		if n.has(plain{}) {
			t.Errorf("a harness of four methods has %s", n)
		}
	}
	if Need("Unheard").has(NewFakeBackend(FakeOptions{})) {
		t.Error("the fake meets a need that there is not")
	}
}

func TestCheckWithoutRule(t *testing.T) {
	defer func() {
		if v := recover(); v == nil || !strings.Contains(v.(string), "T/Stray names no rule") {
			t.Errorf("a check without a rule is taken: %v", v)
		}
	}()
	join(createRules(), []check{{name: "T/Stray", rule: "Create/99"}})
}

func TestRulesInACycle(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("rules that stand on each other are taken")
		}
	}()
	inOrder([]Rule{{ID: "a", After: []string{"b"}}, {ID: "b", After: []string{"a"}}})
}

func TestAdvice(t *testing.T) {
	var kinds []provider.Kind
	for _, a := range Advice() {
		kinds = append(kinds, a.Kind)
		if a.Meaning == "" || a.Reconciler == "" {
			t.Errorf("%s has no advice", a.Kind)
		}
	}
	want := provider.Kinds()
	slices.Reverse(want)
	if !slices.Equal(kinds, want) {
		t.Errorf("the kinds are %q, want %q", kinds, want)
	}
	for _, s := range States() {
		if s.State.Known() != s.State || s.Meaning == "" || s.Reconciler == "" {
			t.Errorf("the state %q is not known, or has no advice", s.State)
		}
	}
	if len(States()) != 7 {
		t.Errorf("there are %d states; package provider has 7", len(States()))
	}
}
