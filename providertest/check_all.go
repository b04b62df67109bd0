package providertest

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/crawlfleet/provider"
)

func allChecks() []check {
	return []check{{
		name: "All/Concurrent", rule: "All/1", run: allConcurrent,
		says: "Create, Get, List and Delete of few names by many callers of two processes end, and each name can be created afterwards.",
	}, {
		name: "All/Closed", rule: "All/1", run: allClosed,
		says: "After Close each method's error matches fs.ErrClosed, Close answers nil again, and Info is the same.",
	}, {
		name: "All/CloseBusy", rule: "All/1", run: allCloseBusy,
		says: "Close ends while calls are under way, and they end.",
	}, {
		name: "All/Canceled", rule: "All/2", run: allCanceled,
		says: "Each method, under a canceled context, ends within the patience as Canceled or Unavailable and matches context.Canceled.",
	}, {
		name: "All/Deadline", rule: "All/2", run: allDeadline,
		says: "Each method, after its deadline, ends within the patience as Canceled or Unavailable and matches context.DeadlineExceeded.",
	}, {
		name: "All/Kinds", rule: "All/3", run: allKinds,
		says: "Errors about a bad spec, a bad ID, something missing, a canceled context and a closed provider all are or wrap a *provider.Error.",
	}, {
		name: "All/Secrets", rule: "All/3", run: allSecrets,
		says: "The spec's password is in no error, log line or instance, nor its base64 or URL form.",
	}, {
		name: "All/Readable", rule: "All/3", run: allReadable, needs: []Need{NeedReadable},
		says: "The spec's password is in nothing that another reader of the backend sees.",
	}}
}

// method is one method of a provider as a call that returns its error alone.
type method struct {
	op   string
	call func(ctx context.Context, p provider.Provider) error
}

// methods returns the four methods that reach the backend, about a name that
// is free.
func (t *trial) methods() []method {
	ref := provider.Ref{Name: t.name("free")}
	return []method{
		{"Create", func(ctx context.Context, p provider.Provider) error {
			_, err := p.Create(ctx, t.spec("free"))
			return err
		}},
		{"Get", func(ctx context.Context, p provider.Provider) error { _, err := p.Get(ctx, ref); return err }},
		{"List", func(ctx context.Context, p provider.Provider) error { _, err := p.List(ctx); return err }},
		{"Delete", func(ctx context.Context, p provider.Provider) error { return p.Delete(ctx, ref) }},
	}
}

// perName is how many callers share a name in allConcurrent.
const perName = 8

func allConcurrent(t *trial) {
	processes := []provider.Provider{t.open(), t.open()}
	n := t.config.callers()
	names := max(1, n/perName)
	t.parallel(n, func(i int) {
		p, spec := processes[i%len(processes)], t.spec(i%names)
		calls := []func(context.Context) error{
			func(ctx context.Context) error { _, err := p.Create(ctx, spec); return err },
			func(ctx context.Context) error { _, err := p.Get(ctx, provider.Ref{Name: spec.Name}); return err },
			func(ctx context.Context) error { _, err := p.List(ctx); return err },
			func(ctx context.Context) error { return p.Delete(ctx, provider.Ref{Name: spec.Name}) },
		}
		for round := range 2 * len(calls) {
			err := t.once(calls[(round+i)%len(calls)])
			switch k := provider.KindOf(err); k {
			case provider.Invalid, provider.Unsupported, provider.Conflict:
				t.failf("a call beside others answered %s: %v", k, err)
			}
		}
	})
	for i := range names {
		// Whoever began a deletion is gone, so somebody else ends it.
		t.gone(processes[0], provider.Ref{Name: t.name(i)})
		inst, err := t.create(processes[0], t.spec(i))
		if err != nil {
			t.failf("Create after many concurrent calls: %v", err)
		}
		t.oneMachine(processes[1], inst.Name)
	}
}

func allClosed(t *trial) {
	p := t.open()
	before := p.Info()
	if err := p.Close(); err != nil {
		t.failf("Close: %v", err)
	}
	for _, m := range t.methods() {
		err := t.once(func(ctx context.Context) error { return m.call(ctx, p) })
		if !errors.Is(err, fs.ErrClosed) {
			t.failf("%s after Close answered %v, which does not match fs.ErrClosed", m.op, err)
		}
	}
	if err := p.Close(); err != nil {
		t.failf("the second Close: %v", err)
	}
	if after := p.Info(); !reflect.DeepEqual(before, after) {
		t.failf("Info changed with Close from %+v to %+v", before, after)
	}
}

func allCloseBusy(t *trial) {
	p := t.open()
	n := t.config.callers()
	t.parallel(n+1, func(i int) {
		if i == n {
			t.bounded("Close", func() error { return p.Close() })
			return
		}
		deadline := time.Now().Add(t.config.patience())
		for {
			err := t.once(func(ctx context.Context) error { _, err := p.List(ctx); return err })
			if errors.Is(err, fs.ErrClosed) {
				return
			}
			if !t.pause(firstPause, deadline) {
				t.failf("List goes on after Close, with %v", err)
			}
		}
	})
}

// bounded runs a call that is owed to end by itself, and fails the check when
// it does not within the patience.
func (t *trial) bounded(what string, call func() error) error {
	ended := make(chan error, 1)
	go func() {
		defer t.recovered()
		ended <- call()
	}()
	timer := time.NewTimer(t.config.patience())
	defer timer.Stop()
	select {
	case err := <-ended:
		return err
	case <-timer.C:
		t.failf("%s did not end within %v", what, t.config.patience())
		return nil
	}
}

func allCanceled(t *trial) {
	ctx, cancel := context.WithCancel(t.ctx)
	cancel()
	t.underEnded(ctx)
}

func allDeadline(t *trial) {
	ctx, cancel := context.WithDeadline(t.ctx, time.Now().Add(-time.Second))
	defer cancel()
	t.underEnded(ctx)
}

// underEnded calls each method under a context that has ended.
func (t *trial) underEnded(ctx context.Context) {
	p := t.open()
	for _, m := range t.methods() {
		err := t.bounded(m.op+" under an ended context", func() error { return m.call(ctx, p) })
		if !errors.Is(err, ctx.Err()) {
			t.failf("%s under an ended context answered %v, which does not match %v", m.op, err, ctx.Err())
		}
		if k := provider.KindOf(err); k != provider.Canceled && k != provider.Unavailable {
			t.failf("%s under an ended context answered %s; Canceled or Unavailable is owed: %v", m.op, k, err)
		}
	}
}

// someErrors makes calls that fail for different reasons and returns what each
// answered.
func (t *trial) someErrors(p provider.Provider, spec provider.Spec) map[string]error {
	found := map[string]error{}
	call := func(what string, f func(context.Context) error) {
		found[what] = t.once(f)
	}
	for what, bad := range badSpecs(spec) {
		call("Create with "+what, func(ctx context.Context) error { _, err := p.Create(ctx, bad); return err })
	}
	for _, id := range impossibleIDs() {
		ref := provider.Ref{Name: spec.Name, ID: id}
		call(fmt.Sprintf("Get by the ID %.20q", id), func(ctx context.Context) error { _, err := p.Get(ctx, ref); return err })
		call(fmt.Sprintf("Delete by the ID %.20q", id), func(ctx context.Context) error { return p.Delete(ctx, ref) })
	}
	call("Get of a missing name", func(ctx context.Context) error { _, err := p.Get(ctx, provider.Ref{Name: t.name("free")}); return err })
	for _, m := range t.methods() {
		call(m.op+" under a canceled context", func(ctx context.Context) error {
			ctx, cancel := context.WithCancel(ctx)
			cancel()
			return m.call(ctx, p)
		})
	}
	return found
}

func allKinds(t *trial) {
	p := t.open()
	found := t.someErrors(p, t.spec(1))
	q := t.open()
	if err := q.Close(); err != nil {
		t.blockf("preparing: Close: %v", err)
	}
	for _, m := range t.methods() {
		found[m.op+" after Close"] = t.once(func(ctx context.Context) error { return m.call(ctx, q) })
	}
	for what, err := range found {
		// Calls that should have failed and did not have checks of their own.
		var e *provider.Error
		if err != nil && !errors.As(err, &e) {
			t.failf("the error of %s is and wraps no *provider.Error: %v (%T)", what, err, err)
		}
		if err != nil && e.Kind != "" && !slices.Contains(provider.Kinds(), e.Kind) {
			t.failf("the error of %s has the Kind %q, which there is not: %v", what, e.Kind, err)
		}
	}
}

// secretSpec returns a spec with a password that is nowhere else.
func (t *trial) secretSpec(p provider.Provider) (provider.Spec, string) {
	if !p.Info().Has(provider.FeatureCredentials) {
		t.end(NotApplicable, "Info does not declare "+string(provider.FeatureCredentials))
	}
	password := "s3cret/" + provider.NewToken()
	spec := t.spec(1)
	spec.Credentials = provider.Credentials{Username: "suite", Password: provider.Secret(password)}
	return spec, password
}

// reveals returns the form in which a text has a password, or nothing.
func reveals(text, password string) string {
	user := "suite:" + password
	for _, form := range []string{password, url.QueryEscape(password), url.PathEscape(password),
		base64.StdEncoding.EncodeToString([]byte(password)), base64.RawURLEncoding.EncodeToString([]byte(password)),
		base64.StdEncoding.EncodeToString([]byte(user)), base64.RawURLEncoding.EncodeToString([]byte(user))} {
		if strings.Contains(text, form) {
			return form
		}
	}
	return ""
}

func allSecrets(t *trial) {
	p := t.open()
	spec, password := t.secretSpec(p)
	for what, err := range t.someErrors(p, spec) {
		if err != nil && reveals(fmt.Sprintf("%v %+v %#v", err, err, err), password) != "" {
			t.failf("the error of %s shows the password", what)
		}
	}
	inst := t.make(p, spec)
	// Whether Get and List find it is the business of other rules.
	got, _ := t.get(p, inst.Ref)
	list, _ := t.list(p)
	for what, found := range map[string][]provider.Instance{"Create": {inst}, "Get": {got}, "List": list} {
		text, err := json.Marshal(found)
		if err != nil {
			t.blockf("an instance cannot be written as JSON: %v", err)
		}
		if reveals(fmt.Sprintf("%+v %s", found, text), password) != "" {
			t.failf("what %s returns shows the password", what)
		}
	}
	_ = t.once(func(ctx context.Context) error { return p.Delete(ctx, inst.Ref) })
	if reveals(t.logs.String(), password) != "" {
		t.failf("the log shows the password")
	}
}

func allReadable(t *trial) {
	p := t.open()
	spec, password := t.secretSpec(p)
	inst := t.make(p, spec)
	t.calm(p, inst.Ref)
	dump, err := t.harness.(Readable).Dump(t.ctx, p.Info().Owner)
	t.harnessed("Dump", err)
	if form := reveals(string(dump), password); form != "" {
		t.failf("other readers of the backend see the password as %s", strings.ReplaceAll(form, password, "itself"))
	}
}
