//go:build linux

package customprovider

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/crawlfleet/provider"
)

func TestCreateRunsAProxy(t *testing.T) {
	target := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") })
	ln, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{Handler: target}
	go func() { _ = server.Serve(ln) }()
	defer server.Close()

	w := newWorld(t)
	config := w.config()
	port := ln.Addr().(*net.TCPAddr).AddrPort().Port()
	config.Destinations.Allow = []provider.Destination{{Prefix: netip.MustParsePrefix("127.0.0.1/32"), Ports: []uint16{port}}}
	p := w.openAs(config)
	spec := testSpec("a")
	spec.Credentials = provider.Credentials{Username: "crawler", Password: "opensesame"}
	spec.Labels = map[string]string{"fleet": "x"}
	inst := create(t, p, spec)
	if inst.State != provider.Running || inst.SpecHash != spec.Hash() || inst.Labels["fleet"] != "x" || inst.Scheme != "http" {
		t.Errorf("Create returned %+v", inst)
	}
	for _, tt := range []struct {
		user *url.Userinfo
		want int
	}{
		{url.UserPassword("crawler", "opensesame"), http.StatusOK},
		{url.UserPassword("crawler", "wrong"), http.StatusProxyAuthRequired},
		{nil, http.StatusProxyAuthRequired},
	} {
		proxy := &url.URL{Scheme: inst.Scheme, Host: inst.Endpoint, User: tt.user}
		client := &http.Client{Transport: &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}}
		resp, err := client.Get("http://" + ln.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		if resp.StatusCode != tt.want {
			t.Errorf("as %v the proxy answers %d, want %d", tt.user, resp.StatusCode, tt.want)
		}
	}
	w.noSecret("opensesame", "$2a$")
}

// noSecret fails the test when a text is in a file or in what the process
// table shows of the guests.
func (w world) noSecret(secrets ...string) {
	w.t.Helper()
	paths := slices.Clone(w.files())
	for i := range paths {
		paths[i] = filepath.Join(w.dir, paths[i])
	}
	for pid := range w.guests() {
		paths = append(paths, fmt.Sprintf("/proc/%d/cmdline", pid), fmt.Sprintf("/proc/%d/environ", pid))
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if link, linkErr := os.Readlink(path); linkErr == nil {
			text, err = []byte(link), nil
		}
		if info, statErr := os.Lstat(path); err != nil && (statErr != nil || !info.IsDir()) {
			w.t.Fatal(err)
		}
		for _, secret := range secrets {
			if strings.Contains(string(text), secret) {
				w.t.Errorf("%s contains %q", path, secret)
			}
		}
	}
}

func TestUnsupportedFieldsAreRefusedBeforeAnythingExists(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	for _, tt := range []struct {
		field string
		kind  provider.Kind
		set   func(*provider.Spec)
	}{
		{"Name", provider.Invalid, func(s *provider.Spec) { s.Name = "A_" }},
		{"AllowFrom", provider.Invalid, func(s *provider.Spec) { s.AllowFrom = nil }},
		{"Image", provider.Invalid, func(s *provider.Spec) { s.Image = "debian" }},
		{"Location", provider.Unsupported, func(s *provider.Spec) { s.Location = "local" }},
		{"Size", provider.Unsupported, func(s *provider.Spec) { s.Size.MilliCPU = 1 }},
		{"Preemptible", provider.Unsupported, func(s *provider.Spec) { s.Preemptible = true }},
	} {
		spec := testSpec("a")
		tt.set(&spec)
		_, err := p.Create(t.Context(), spec)
		if e := wantKind(t, "Create with "+tt.field, err, tt.kind); e.Field != tt.field || e.Op != "Create" || e.Provider != "test" {
			t.Errorf("Create with %s names Field %q, Op %q, Provider %q", tt.field, e.Field, e.Op, e.Provider)
		}
	}
	w.nothing()
}

func TestTheOneImageMayBeNamed(t *testing.T) {
	p := newWorld(t).open()
	spec := testSpec("a")
	spec.Image = Image
	create(t, p, spec)
}

func TestPortInUseIsNoCapacityAndLeavesNothing(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	first := create(t, p, testSpec("first"))
	addr := netip.MustParseAddrPort(first.Endpoint)
	spec := testSpec("second")
	spec.Port = addr.Port()
	_, err := p.Create(t.Context(), spec)
	if e := wantKind(t, "Create on a taken port", err, provider.NoCapacity); e.Location == "" {
		t.Error("NoCapacity names no Location")
	}
	if got := list(t, p); len(got) != 1 {
		t.Errorf("List shows %v", got)
	}
	// It is free once its holder is gone.
	if err := p.Delete(t.Context(), first.Ref); err != nil {
		t.Fatal(err)
	}
	if inst := create(t, p, spec); inst.Endpoint != first.Endpoint {
		t.Errorf("the endpoint is %s, want %s", inst.Endpoint, first.Endpoint)
	}
}

func TestCreateOverWhatIsThere(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	first := create(t, p, testSpec("a"))
	other := testSpec("a")
	other.Revision = "2"
	got := create(t, p, other)
	if got.Ref != first.Ref || got.SpecHash != first.SpecHash || !got.Created.Equal(first.Created) {
		t.Errorf("with another spec: %+v, want %+v", got, first)
	}
	kill(t, w.guest("a"))
	eventually(t, "it is Stopped", func() bool { return get(t, p, first.Ref).State == provider.Stopped })
	if got := create(t, p, testSpec("a")); got.Ref != first.Ref || got.State != provider.Stopped {
		t.Errorf("Create over a stopped one returned %+v", got)
	}
}

func TestRefs(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	inst := create(t, p, testSpec("a"))
	unknown := provider.FormatID("local", provider.NewToken())
	for _, tt := range []struct {
		name   string
		ref    provider.Ref
		get    provider.Kind
		field  string
		delete provider.Kind
	}{
		{"another name", provider.Ref{Name: "b"}, provider.NotFound, "", ""},
		{"another incarnation", provider.Ref{Name: "a", ID: unknown}, provider.NotFound, "", ""},
		{"the ID under another name", provider.Ref{Name: "b", ID: inst.ID}, provider.NotFound, "", ""},
		{"a place of another provider", provider.Ref{Name: "a", ID: provider.FormatID("host-1", "token")}, provider.Invalid, "ID", provider.Invalid},
		{"a way out of the directory", provider.Ref{Name: "a", ID: provider.FormatID("local", "../../x")}, provider.Invalid, "ID", provider.Invalid},
		{"another form", provider.Ref{Name: "a", ID: "i-0123"}, provider.Invalid, "ID", provider.Invalid},
		{"no name", provider.Ref{}, provider.Invalid, "Name", provider.Invalid},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := p.Get(t.Context(), tt.ref)
			if e := wantKind(t, "Get", err, tt.get); e.Field != tt.field || e.Ref != tt.ref {
				t.Errorf("Get names Field %q and Ref %v", e.Field, e.Ref)
			}
			if err := p.Delete(t.Context(), tt.ref); provider.KindOf(err) != tt.delete {
				t.Errorf("Delete: %v, want kind %q", err, tt.delete)
			}
		})
	}
	if got := get(t, p, inst.Ref); got.State != provider.Running {
		t.Errorf("afterwards it is %q", got.State)
	}
}

func TestOwnersInOneDirectory(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Owner = "another owner"
	p, q := w.open(), w.openAs(config)
	mine, theirs := create(t, p, testSpec("a")), create(t, q, testSpec("a"))
	if mine.ID == theirs.ID {
		t.Errorf("both are %s", mine.ID)
	}
	if _, err := p.Get(t.Context(), theirs.Ref); provider.KindOf(err) != provider.NotFound {
		t.Errorf("Get of another owner's: %v", err)
	}
	if err := p.Delete(t.Context(), theirs.Ref); err != nil {
		t.Errorf("Delete of another owner's: %v", err)
	}
	if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	if got := list(t, p); len(got) != 0 {
		t.Errorf("List shows %v", got)
	}
	if got := list(t, q); len(got) != 1 || got[0].Ref != theirs.Ref || got[0].State != provider.Running {
		t.Errorf("the other owner's List shows %v", got)
	}
}

func TestSquattersAreConflictsAndStay(t *testing.T) {
	text := func(r record) string {
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	good := record{Version: recordVersion, Owner: "owner", Name: "a", Token: provider.NewToken()}
	other, newer, odd := good, good, good
	other.Owner, newer.Version, odd.Token = "somebody", recordVersion+1, "../.."
	for name, squat := range map[string]func(path string) error{
		"file":              func(path string) error { return os.WriteFile(path, []byte(text(good)), 0o600) },
		"directory":         func(path string) error { return os.Mkdir(path, 0o700) },
		"another owner":     func(path string) error { return os.Symlink(text(other), path) },
		"newer version":     func(path string) error { return os.Symlink(text(newer), path) },
		"token that climbs": func(path string) error { return os.Symlink(text(odd), path) },
		"garbage":           func(path string) error { return os.Symlink("/etc/passwd", path) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			p := w.open()
			path := p.claimPath("a")
			if err := squat(path); err != nil {
				t.Fatal(err)
			}
			before, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			_, err = p.Create(t.Context(), testSpec("a"))
			wantKind(t, "Create", err, provider.Conflict)
			_, err = p.Get(t.Context(), provider.Ref{Name: "a"})
			wantKind(t, "Get", err, provider.NotFound)
			if got := list(t, p); len(got) != 0 {
				t.Errorf("List shows %v", got)
			}
			if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
				t.Errorf("Delete: %v", err)
			}
			after, err := os.Lstat(path)
			if err != nil || !os.SameFile(before, after) {
				t.Errorf("it was touched: %v", err)
			}
			if files := w.files(); len(files) != 1 {
				t.Errorf("files are left: %v", files)
			}
		})
	}
}

// TestLeftoverDirectories removes claims as a person or a power cut may.
func TestLeftoverDirectories(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	lost := create(t, p, testSpec("a")).Ref
	if err := os.Remove(p.claimPath("a")); err != nil {
		t.Fatal(err)
	}
	got := get(t, p, provider.Ref{Name: "a"})
	if got.Ref != lost || got.State != provider.Incomplete || got.Created.IsZero() {
		t.Fatalf("Get of a leftover returned %+v", got)
	}
	if got := list(t, p); len(got) != 1 || got[0].Ref != lost || got[0].State != provider.Incomplete {
		t.Errorf("List shows %+v", got)
	}
	again := create(t, p, testSpec("a"))
	if again.Ref != lost || again.State != provider.Running {
		t.Errorf("Create returned %+v, want %s completed", again, lost)
	}
	if guests := w.guests(); len(guests) != 1 {
		t.Errorf("the guests are %v, want one", guests)
	}
	if err := os.Remove(p.claimPath("a")); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), provider.Ref{Name: "a", ID: provider.FormatID(place, provider.NewToken())}); err != nil {
		t.Fatal(err)
	}
	w.guest("a") // another incarnation's Delete left it
	if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

// TestDeleteByNameTakesLeftoversToo has a directory of an older incarnation
// beside the one that has the claim.
func TestDeleteByNameTakesLeftoversToo(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	old := incarnation{record: record{Name: "a", Token: provider.NewToken()}}
	inst := create(t, p, testSpec("a"))
	if err := os.Mkdir(p.dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	got := list(t, p)
	slices.SortFunc(got, func(a, b provider.Instance) int { return cmp.Compare(a.State, b.State) })
	if len(got) != 2 || got[0].Ref != old.ref() || got[0].State != provider.Incomplete || got[1].Ref != inst.Ref {
		t.Errorf("List shows %+v", got)
	}
	if err := p.Delete(t.Context(), old.ref()); err != nil {
		t.Fatal(err)
	}
	if got := list(t, p); len(got) != 1 || got[0].State != provider.Running {
		t.Errorf("List shows %+v", got)
	}
	if err := os.Mkdir(p.dir(old), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := p.Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

func TestIncompleteIsCompletedFromTheSpecInHand(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	failAt(p, "make directory", os.ErrInvalid)
	if _, err := p.Create(t.Context(), testSpec("a")); err == nil {
		t.Fatal("Create succeeded")
	}
	p.step = nil
	half := get(t, p, provider.Ref{Name: "a"})
	if half.State != provider.Incomplete {
		t.Fatalf("it is %q", half.State)
	}
	other := testSpec("a")
	other.Revision = "2"
	got := create(t, p, other)
	if got.Ref != half.Ref || got.SpecHash != other.Hash() {
		t.Errorf("Create returned %+v, want %s with hash %s", got, half.Ref, other.Hash())
	}
}

// failAt makes the provider fail at a change.
func failAt(p *Provider, change string, err error) {
	p.step = func(_ context.Context, what string, do func() error) error {
		if what == change {
			return fmt.Errorf("%s: %w", what, err)
		}
		return do()
	}
}

func TestDeleteKillsAGuestThatDoesNotEnd(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Grace = 50 * time.Millisecond
	p := w.openAs(config)
	inst := create(t, p, testSpec("a"))
	pid := w.guest("a")
	stop(t, pid) // SIGTERM waits until it goes on
	if err := p.Delete(t.Context(), inst.Ref); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

func TestWhileItIsBeingDeleted(t *testing.T) {
	w := newWorld(t)
	config := w.config()
	config.Grace = patience
	p := w.openAs(config)
	inst := create(t, p, testSpec("a"))
	pid := w.guest("a")
	stop(t, pid)
	ctx, cancel := context.WithCancel(t.Context())
	deleted := make(chan error, 1)
	go func() { deleted <- p.Delete(ctx, inst.Ref) }()
	eventually(t, "it is Deleting", func() bool { return get(t, p, inst.Ref).State == provider.Deleting })
	_, err := p.Create(t.Context(), testSpec("a"))
	wantKind(t, "Create over it", err, provider.InProgress)
	if provider.RetryAfter(err) <= 0 {
		t.Error("InProgress names no RetryAfter")
	}
	cancel()
	err = <-deleted
	wantKind(t, "the Delete that was cut off", err, provider.Canceled)
	if got := list(t, p); len(got) != 1 || got[0].State != provider.Deleting {
		t.Errorf("List shows %v", got)
	}
	signalTo(t, pid, cont)
	// Nobody calls Delete any more: Create goes on with it.
	again := create(t, p, testSpec("a"))
	if again.ID == inst.ID || again.State != provider.Running {
		t.Errorf("Create returned %+v", again)
	}
}

// TestGetIsFromOneMoment looks at an instance all the time that it is deleted.
// One that was made to the end is never Incomplete. Its guest is dead, so that
// the steps of the deletion follow each other closely.
func TestGetIsFromOneMoment(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	for range 20 {
		inst := create(t, p, testSpec("a"))
		kill(t, w.guest("a"))
		var gone atomic.Bool
		var readers sync.WaitGroup
		for range 4 {
			readers.Go(func() {
				for !gone.Load() {
					got, err := p.Get(t.Context(), inst.Ref)
					if err == nil && got.State != provider.Stopped && got.State != provider.Deleting {
						t.Errorf("while it is deleted it is %q", got.State)
					}
				}
			})
		}
		err := p.Delete(t.Context(), inst.Ref)
		gone.Store(true)
		readers.Wait()
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestDeleteSparesASuccessor has a Delete by name under way while another
// caller's Create waits for the name.
func TestDeleteSparesASuccessor(t *testing.T) {
	w := newWorld(t)
	p, q := w.open(), w.open()
	for range 10 {
		old := create(t, p, testSpec("a"))
		deleted := make(chan error, 1)
		go func() { deleted <- p.Delete(t.Context(), provider.Ref{Name: "a"}) }()
		var successor provider.Instance
		eventually(t, "there is a successor", func() bool {
			inst, err := q.Create(t.Context(), testSpec("a"))
			if err != nil && provider.KindOf(err) != provider.InProgress {
				t.Fatalf("Create: %v", err)
			}
			successor = inst
			return err == nil && inst.ID != old.ID
		})
		if err := <-deleted; err != nil {
			t.Fatalf("Delete: %v", err)
		}
		if got := get(t, q, successor.Ref); got.State != provider.Running {
			t.Errorf("the successor is %q", got.State)
		}
		if err := q.Delete(t.Context(), successor.Ref); err != nil {
			t.Fatal(err)
		}
	}
	w.nothing()
}

// TestManyCallers has two programs' providers over one directory, and 64
// callers on each of two names that create and delete at once.
func TestManyCallers(t *testing.T) {
	w := newWorld(t)
	programs := []*Provider{w.open(), w.open()}
	ids := make([]string, 64)
	parallel(len(ids), func(i int) {
		ids[i] = create(t, programs[i%2], testSpec("a")).ID
	})
	if got := slices.Compact(slices.Sorted(slices.Values(ids))); len(got) != 1 {
		t.Fatalf("the callers got %v", got)
	}
	w.guest("a")
	parallel(64, func(i int) {
		p := programs[i%2]
		if i%4 < 2 {
			if err := provider.Remove(t.Context(), p, provider.Ref{Name: "a"}); err != nil {
				t.Errorf("Remove: %v", err)
			}
			return
		}
		if _, err := p.Create(t.Context(), testSpec("a")); err != nil && provider.KindOf(err) != provider.InProgress {
			t.Errorf("Create: %v", err)
		}
	})
	if n := len(list(t, programs[0])); n > 1 || n != len(w.guests()) {
		t.Errorf("List shows %d, and the guests are %v", n, w.guests())
	}
	if err := programs[1].Delete(t.Context(), provider.Ref{Name: "a"}); err != nil {
		t.Fatal(err)
	}
	w.nothing()
}

func TestManyNames(t *testing.T) {
	w := newWorld(t)
	p := w.open()
	const n = 8
	ids := make([]string, n)
	parallel(n, func(i int) { ids[i] = create(t, p, testSpec(fmt.Sprintf("n%d", i))).ID })
	if got := slices.Compact(slices.Sorted(slices.Values(ids))); len(got) != n || len(w.guests()) != n {
		t.Errorf("the IDs are %v and the guests %v", got, w.guests())
	}
	parallel(n, func(i int) {
		if err := p.Delete(t.Context(), provider.Ref{Name: fmt.Sprintf("n%d", i)}); err != nil {
			t.Errorf("Delete: %v", err)
		}
	})
	w.nothing()
}

// parallel calls f n times at once.
func parallel(n int, f func(i int)) {
	var group sync.WaitGroup
	for i := range n {
		group.Go(func() { f(i) })
	}
	group.Wait()
}
