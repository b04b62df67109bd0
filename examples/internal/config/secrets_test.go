package config

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/crawlfleet/provider"
)

// TestRestartAdopts: another program on the same directory has the same owner
// and passwords, whoever came first, and a new fleet changes no other.
func TestRestartAdopts(t *testing.T) {
	getenv := env(t)
	first, err := Default(getenv)
	if err != nil {
		t.Fatal(err)
	}
	if err := first.Prepare(); err != nil {
		t.Fatal(err)
	}
	parse(t, "owner: a\nproviders: {p: {kind: local}}\nfleets: [{name: other, provider: p}]\n", getenv)
	second, err := Default(getenv)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 { // a second Prepare changes nothing
		if err := second.Prepare(); err != nil {
			t.Fatal(err)
		}
	}
	a, err := first.Fleets[0].Spec("web-0")
	if err != nil {
		t.Fatal(err)
	}
	b, err := second.Fleets[0].Spec("web-0")
	if err != nil || a.Credentials != b.Credentials || first.Owner != second.Owner {
		t.Errorf("the second program has %s %q, the first %s %q (%v)",
			second.Owner, string(b.Credentials.Password), first.Owner, string(a.Credentials.Password), err)
	}
	adhoc, err := first.AdhocCredentials()
	if err != nil {
		t.Fatal(err)
	}
	again, err := second.AdhocCredentials()
	if err != nil || adhoc != again || adhoc.Password == a.Credentials.Password {
		t.Errorf("credentials of what is made by hand: %q and %q, %v", string(adhoc.Password), string(again.Password), err)
	}
}

func TestFilesArePrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	c, err := Default(env(t, EnvStateDir, dir))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]os.FileMode{
		dir: 0o700 | os.ModeDir, filepath.Join(dir, secretsFile): 0o600, filepath.Join(dir, secretsLock): 0o600,
	} {
		info, err := os.Stat(path)
		if err != nil || info.Mode() != want {
			t.Errorf("%s: mode %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
}

// TestTogether starts many programs at the same moment on an empty directory.
func TestTogether(t *testing.T) {
	getenv := env(t)
	got := make([]string, 20)
	var wg sync.WaitGroup
	for i := range got {
		wg.Go(func() {
			c, err := Default(getenv)
			if err != nil {
				t.Error(err)
				return
			}
			if err := c.Prepare(); err != nil {
				t.Error(err)
				return
			}
			spec, err := c.Fleets[0].Spec("web-0")
			if err != nil {
				t.Error(err)
			}
			got[i] = c.Owner + " " + string(spec.Credentials.Password)
		})
	}
	wg.Wait()
	for _, g := range got {
		if g != got[0] || g == "" {
			t.Fatalf("they have %q", got)
		}
	}
}

func TestPrepareRefuses(t *testing.T) {
	good := `{"version":1,"passwords":{"web":"0123456789"}}`
	for _, test := range []struct {
		name string
		make func(t *testing.T, path string)
		want string // "" is no error
	}{
		{"good", func(t *testing.T, path string) { writeFile(t, path, good) }, ""},
		{"readable by the group", func(t *testing.T, path string) {
			writeFile(t, path, good)
			if err := os.Chmod(path, 0o640); err != nil {
				t.Fatal(err)
			}
		}, "can be read by others (mode -rw-r-----); chmod 600 it"},
		{"writable by others", func(t *testing.T, path string) {
			writeFile(t, path, good)
			if err := os.Chmod(path, 0o602); err != nil {
				t.Fatal(err)
			}
		}, "can be read by others"},
		{"a link", func(t *testing.T, path string) {
			writeFile(t, path+".other", good)
			if err := os.Symlink(path+".other", path); err != nil {
				t.Fatal(err)
			}
		}, "is no regular file"},
		{"not JSON", func(t *testing.T, path string) { writeFile(t, path, "0123456789") }, "is not a file that this version wrote"},
		{"cut short", func(t *testing.T, path string) { writeFile(t, path, good[:20]) }, "is not a file that this version wrote"},
		{"newer", func(t *testing.T, path string) { writeFile(t, path, `{"version":2}`) }, "is not a file that this version wrote"},
		{"left by a crash", func(t *testing.T, path string) { writeFile(t, path+".tmp", "rest of a longer file"+good) }, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			dir := t.TempDir()
			c, err := Default(env(t, EnvStateDir, dir))
			if err != nil {
				t.Fatal(err)
			}
			test.make(t, filepath.Join(dir, secretsFile))
			err = c.Prepare()
			if test.want == "" {
				if err != nil {
					t.Error(err)
				}
				if _, err := readPrivate(filepath.Join(dir, secretsFile)); err != nil {
					t.Error(err)
				}
				return
			}
			if provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want Invalid with %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "0123456789") {
				t.Errorf("the error shows the password: %v", err)
			}
		})
	}
}

func TestPrepareWithoutDirectory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	writeFile(t, file, "")
	c, err := Default(env(t, EnvStateDir, file))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Prepare(); provider.KindOf(err) != provider.Invalid || !strings.Contains(err.Error(), "stateDir") {
		t.Errorf("got %v, want Invalid for stateDir", err)
	}
}
