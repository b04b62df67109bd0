package provider_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// modulePath is the root module's; the nested ones are named after their folders.
const modulePath = "github.com/crawlfleet/provider"

// goFile is a Go source file of the repository.
type goFile struct {
	path string // from the root, with slashes
	dir  string // of path
	test bool
	ast  *ast.File
	text []byte
}

// imports returns what the file imports.
func (f goFile) imports() []string {
	paths := make([]string, 0, len(f.ast.Imports))
	for _, i := range f.ast.Imports {
		p, _ := strconv.Unquote(i.Path.Value) // the parser has accepted it
		paths = append(paths, p)
	}
	return paths
}

// library reports whether others import the file's package, so that it must
// not print, exit or keep global state. Examples' internal packages count: the
// programs share them.
func (f goFile) library() bool { return !f.test && f.ast.Name.Name != "main" }

// tree is the repository as far as it is there: a module that was fetched by
// version has no nested modules.
type tree struct {
	fset  *token.FileSet
	files []goFile
}

// readTree parses every Go file below the root, nested modules included,
// whatever its build tags.
func readTree(t *testing.T) tree {
	t.Helper()
	tr := tree{fset: token.NewFileSet()}
	walk(t, func(name string) {
		if path.Ext(name) != ".go" {
			return
		}
		text, err := os.ReadFile(filepath.FromSlash(name))
		if err != nil {
			t.Fatal(err)
		}
		parsed, err := parser.ParseFile(tr.fset, name, text, parseMode)
		if err != nil {
			t.Fatal(err)
		}
		tr.files = append(tr.files, goFile{path: name, dir: path.Dir(name), test: strings.HasSuffix(name, "_test.go"), ast: parsed, text: text})
	})
	return tr
}

const parseMode = parser.ParseComments | parser.SkipObjectResolution

// parse reads a file of a library that a test of the checks makes up.
func parse(t *testing.T, text string) goFile {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), "made-up.go", text, parseMode)
	if err != nil {
		t.Fatal(err)
	}
	return goFile{path: "made-up/made-up.go", dir: "made-up", ast: parsed, text: []byte(text)}
}

// walk calls visit with every file below the root, except in folders that Go
// passes over too.
func walk(t *testing.T, visit func(name string)) {
	t.Helper()
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata"):
			return fs.SkipDir
		case !d.IsDir():
			visit(name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// standard reports whether an import path is of the standard library.
func standard(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return !strings.Contains(first, ".")
}

// below reports whether an import path or folder is prefix or is in it.
func below(p, prefix string) bool {
	return p == prefix || prefix == "." || strings.HasPrefix(p, prefix+"/")
}
