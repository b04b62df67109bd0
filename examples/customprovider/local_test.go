//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package customprovider

import (
	"io/fs"
	"net/netip"
	"os"
	"errors"
	"path/filepath"
	"testing"

	"github.com/crawlfleet/provider"
)

func TestSmoke(t *testing.T) {
	dir := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p, err := New(Config{Name: "local", Owner: "me", Dir: dir, Command: []string{exe, "guest"}})
	if err != nil {
		t.Fatal(err)
	}
	spec := provider.Spec{Name: "a", Credentials: provider.Credentials{Username: "u", Password: "p"},
		AllowFrom: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	inst, err := p.Create(t.Context(), spec)
	t.Logf("%+v %v", inst, err)
	again, err := p.Create(t.Context(), spec)
	t.Logf("%+v %v", again, err)
	list, err := p.List(t.Context())
	t.Logf("%+v %v", list, err)
	t.Log(p.Delete(t.Context(), inst.Ref))
	list, err = p.List(t.Context())
	t.Logf("%+v %v", list, err)
	filepath.WalkDir(dir, func(p string, e fs.DirEntry, err error) error { t.Log(p); return nil })
	p.Close()
	_, err = p.Get(t.Context(), inst.Ref)
	if !errors.Is(err, fs.ErrClosed) {
		t.Error(err)
	}
}
