package provider_test

import (
	"cmp"
	"encoding/json"
	"go/build"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Import paths that the table names more than once.
const (
	root     = modulePath
	health   = modulePath + "/health"
	suite    = modulePath + "/providertest"
	internal = modulePath + "/examples/internal"
	goCmp    = "github.com/google/go-cmp"
)

// place says what a folder's Go files may import directly, beyond the standard
// library and the folder itself. It holds for the folders below too, except
// those that have a place of their own. An entry ending in /... allows what is
// below it as well.
type place struct {
	dir   string
	code  []string // files that a program is built from
	tests []string // test files, in addition
	not   []string // of the standard library, forbidden to code
	why   string
}

// anything allows every import.
const anything = "..."

// places is the column "may import" of the design. Those of packages that are
// not written yet hold as soon as there is a file.
var places = []place{
	{dir: ".", tests: []string{root, suite, goCmp + "/..."},
		why: "every backend and every caller imports the contract, so whatever it needs they all need"},
	{dir: "internal/gotest",
		why: "it is built before any test runs, so it needs Go alone"},
	{dir: "health", code: []string{root, "golang.org/x/sync/..."}, tests: []string{health, goCmp + "/..."},
		why: "every backend imports it; it watches hosts through what the backend hands it and knows no backend"},
	{dir: "kvm", code: []string{root, health, "github.com/digitalocean/go-libvirt/...", "libvirt.org/go/libvirtxml", "golang.org/x/crypto/ssh/..."},
		tests: []string{root + "/kvm/...", suite + "/...", goCmp + "/..."},
		why:   "a program that uses libvirt alone gets no cloud SDK and no cgo"},
	{dir: "gcp", code: []string{root, health, root + "/gcp/...", "cloud.google.com/go/...", "google.golang.org/...", "github.com/googleapis/gax-go/v2/...", "golang.org/x/oauth2/..."},
		tests: []string{suite + "/...", goCmp + "/..."},
		why:   "a program that uses the cloud alone gets no Kubernetes client"},
	{dir: "kubernetes", code: []string{root, health, root + "/kubernetes/...", "k8s.io/..."},
		tests: []string{suite + "/...", goCmp + "/...", "sigs.k8s.io/..."},
		why:   "a program that uses Kubernetes alone gets no cloud SDK, and no controller framework is forced on it"},
	{dir: "providertest", code: []string{root, health, suite + "/...", goCmp + "/..."},
		why: "authors of other providers import the suite into their tests; it must not bring a backend or raise their versions"},
	{dir: "providertest/testbed", code: []string{anything},
		why: "it starts real backends, in a module that nobody imports"},

	{dir: "examples", code: []string{anything},
		why: "programs, in a module that nobody imports"},
	{dir: "examples/quickstart", code: []string{root, modulePath + "/examples/customprovider", modulePath + "/examples/guest/...", internal + "/guest"}, tests: []string{anything},
		why: "it is the README's program and shows the library, not a framework around it"},
	{dir: "examples/customprovider", code: []string{root, "golang.org/x/crypto/bcrypt", "golang.org/x/sys/unix"},
		tests: []string{modulePath + "/examples/customprovider", suite, internal + "/guest", goCmp + "/..."},
		why:   "it is what a third party would write, who has the public packages of this module and nothing internal"},
	{dir: "examples/internal/guest", code: []string{root, "golang.org/x/crypto/bcrypt", "github.com/go-crypt/crypt/..."}, tests: []string{internal + "/guest", "golang.org/x/crypto/bcrypt", goCmp + "/..."},
		why: "it runs inside machines, small, and knows no provider"},
	{dir: "examples/internal/config", code: []string{root, internal + "/fleet", "github.com/goccy/go-yaml/..."}, tests: []string{goCmp + "/..."},
		why: "it reads and checks what both programs are told; opening providers is for kinds"},
	{dir: "examples/internal/daemon", code: []string{root, internal + "/...", "github.com/fsnotify/fsnotify", "github.com/prometheus/..."}, tests: []string{suite, goCmp + "/..."},
		why: "the loop knows providers by the contract alone, so it names no backend"},
	{dir: "examples/internal/proxycheck", code: []string{root}, tests: []string{internal + "/guest", goCmp + "/..."},
		why: "it tries a proxy as any client would, whatever runs it"},
	{dir: "examples/internal/fleet", code: []string{root}, tests: []string{internal + "/fleet/...", goCmp + "/..."},
		not: []string{"os", "net/http", "log/slog", "math/rand", "math/rand/v2", "sync"},
		why: "deciding is a pure function of what was observed, which the daemon and the operator share"},
	{dir: "examples/internal/proxyapi", code: []string{root, internal + "/proxyapi/...", "github.com/prometheus/...", "golang.org/x/net/idna", "golang.org/x/time/..."}, tests: []string{goCmp + "/..."},
		why: "the daemon and the operator serve the same API, so it depends on neither, nor on their configuration"},
}

// placeOf returns the place of a folder: the one with the longest path.
func placeOf(dir string) place {
	var found place
	for _, p := range places {
		if below(dir, p.dir) && len(p.dir) >= len(found.dir) {
			found = p
		}
	}
	return found
}

func allows(list []string, importPath string) bool {
	return slices.ContainsFunc(list, func(entry string) bool {
		prefix, wide := strings.CutSuffix(entry, "/...")
		return entry == anything || importPath == prefix || wide && below(importPath, prefix)
	})
}

func TestImports(t *testing.T) {
	for _, f := range readTree(t).files {
		if p := placeOf(f.dir); p.dir == "." && f.dir != "." {
			t.Errorf("%s: its folder has no place in the table of deps_test.go; give it one, with the reason", f.path)
			continue
		}
		for _, importPath := range forbidden(f) {
			p := placeOf(f.dir)
			t.Errorf("%s imports %s, which %s may not: %s", f.path, importPath, p.dir, p.why)
		}
	}
}

// forbidden returns what a file imports against the table.
func forbidden(f goFile) []string {
	p := placeOf(f.dir)
	return slices.DeleteFunc(f.imports(), func(importPath string) bool {
		switch {
		case standard(importPath):
			return f.test || !slices.Contains(p.not, importPath)
		case f.test && (importPath == path.Join(modulePath, f.dir) || allows(p.tests, importPath)):
			return true
		}
		return allows(p.code, importPath)
	})
}

// TestImportTable holds that the table forbids what it is for.
func TestImportTable(t *testing.T) {
	const k8s = "k8s.io/client-go/rest"
	for _, test := range []struct {
		dir        string
		importPath string
		test       bool
		ok         bool
	}{
		{".", "fmt", false, true},
		{".", goCmp + "/cmp", false, false},
		{".", goCmp + "/cmp", true, true},
		{"providertest", root, false, true},
		{"providertest", modulePath + "/kvm", false, false},
		{"kvm", k8s, false, false},
		{"kubernetes", k8s, false, true},
		{"kubernetes/inner", k8s, false, true},
		{"kubernetes", "cloud.google.com/go/compute/apiv1", true, false},
		{"examples/proxyd", k8s, false, true},
		{"examples/customprovider", internal + "/guest", false, false},
		{"examples/customprovider", internal + "/guest", true, true},
		{"examples/internal/fleet", "net/http", false, false},
		{"examples/internal/fleet", "net/http", true, true},
		{"examples/internal/proxyapi/lease", internal + "/config", false, false},
	} {
		f := parse(t, "package p\nimport _ \""+test.importPath+"\"\n")
		f.dir, f.test = test.dir, test.test
		if ok := len(forbidden(f)) == 0; ok != test.ok {
			t.Errorf("%s (test file: %t) may import %s: %t, want %t", test.dir, test.test, test.importPath, ok, test.ok)
		}
	}
}

// bans are what a program must not be built from, at any depth of this
// repository's packages, with the default build tags.
var bans = []struct {
	dir string
	not []string
	why string
}{
	{"examples/proxyd", []string{"k8s.io", "sigs.k8s.io", "cloud.google.com", "google.golang.org/api", root + "/gcp", root + "/kubernetes"},
		"the demo must stay quick to build; backends with heavy SDKs join by a build tag or a program of their own"},
	{"examples/quickstart", []string{"k8s.io", "sigs.k8s.io", "cloud.google.com", "google.golang.org/api", "github.com/prometheus", "github.com/spf13"},
		"a newcomer's first program is built from the contract and one provider"},
	{"examples/guest", []string{"k8s.io", "cloud.google.com", "github.com/prometheus", "github.com/spf13", modulePath + "/examples/customprovider"},
		"the guest goes into every machine and image"},
}

func TestProgramsStayLight(t *testing.T) {
	tr := readTree(t)
	byDir := map[string][]goFile{}
	for _, f := range tr.files {
		match, err := build.Default.MatchFile(filepath.FromSlash(f.dir), path.Base(f.path))
		if err != nil {
			t.Fatal(err)
		}
		if match && !f.test {
			byDir[f.dir] = append(byDir[f.dir], f)
		}
	}
	for _, ban := range bans {
		via := map[string]string{} // import path: the file that imports it
		var visit func(dir string)
		visit = func(dir string) {
			for _, f := range byDir[dir] {
				for _, importPath := range f.imports() {
					if _, seen := via[importPath]; seen {
						continue
					}
					via[importPath] = f.path
					if below(importPath, modulePath) {
						visit(cmp.Or(strings.TrimPrefix(strings.TrimPrefix(importPath, modulePath), "/"), "."))
					}
				}
			}
		}
		visit(ban.dir)
		for importPath, file := range via {
			if slices.ContainsFunc(ban.not, func(no string) bool { return below(importPath, no) }) {
				t.Errorf("%s is built from %s, through %s: %s", ban.dir, importPath, file, ban.why)
			}
		}
	}
}

// TestModules holds what a go.mod may require: each entry raises the versions
// of everybody who requires the module.
func TestModules(t *testing.T) {
	allowed := map[string][]string{
		".": {goCmp, "golang.org/x/sync", "golang.org/x/crypto", "golang.org/x/sys", "github.com/digitalocean/go-libvirt", "libvirt.org/go/libvirtxml"},
	}
	walk(t, func(name string) {
		if path.Base(name) != "go.mod" {
			return
		}
		out, err := exec.Command("go", "mod", "edit", "-json", filepath.FromSlash(name)).Output()
		if err != nil {
			t.Fatalf("%s cannot be read: %v", name, err)
		}
		var mod struct {
			Module  struct{ Path string }
			Go      string
			Require []struct{ Path, Version string }
			Replace []struct{ Old, New struct{ Path string } }
		}
		if err := json.Unmarshal(out, &mod); err != nil {
			t.Fatal(err)
		}
		dir := path.Dir(name)
		if want := path.Join(modulePath, dir); mod.Module.Path != want {
			t.Errorf("%s names the module %s; it is %s by its folder", name, mod.Module.Path, want)
		}
		for _, r := range mod.Require {
			if list, ok := allowed[dir]; ok && !slices.Contains(list, r.Path) {
				t.Errorf("%s requires %s, which would raise its version for every user of the library", name, r.Path)
			}
		}
		for _, r := range mod.Replace {
			if !below(r.Old.Path, modulePath) {
				t.Errorf("%s replaces %s; users ignore that, so they would build something else than is tested", name, r.Old.Path)
			}
		}
	})
}
