package provider_test

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strings"
	"testing"
)

// globals are what a library must not touch, because it belongs to the program
// that imports it. Programs may, and tests.
var globals = []struct {
	importPath string
	names      []string // empty is all of them
	why        string
}{
	{"log", nil, "a library logs to the slog.Logger that it was given"},
	{"log/slog", []string{"Default", "SetDefault", "Debug", "Info", "Warn", "Error", "Log", "LogAttrs", "With",
		"DebugContext", "InfoContext", "WarnContext", "ErrorContext"}, "a library logs to the slog.Logger that it was given"},
	{"fmt", []string{"Print", "Printf", "Println"}, "a library does not print"},
	{"os", []string{"Exit", "Stdin", "Stdout", "Stderr", "Args", "Setenv", "Chdir"}, "the process belongs to the program"},
	{"flag", []string{"CommandLine", "Parse", "Bool", "Duration", "Int", "String", "Var"}, "the command line belongs to the program"},
	{"expvar", nil, "importing it registers a handler"},
	{"net/http/pprof", nil, "importing it registers a handler"},
	{"net/http", []string{"DefaultServeMux", "DefaultClient", "DefaultTransport", "Handle", "HandleFunc", "Get", "Head", "Post", "PostForm"},
		"they are shared by the whole process and have no time limit"},
	{"github.com/prometheus/client_golang/prometheus", []string{"MustRegister", "Register", "DefaultRegisterer", "DefaultGatherer"},
		"metrics go to the registry that was handed in"},
}

func TestLibrariesKeepOffGlobals(t *testing.T) {
	tr := readTree(t)
	for _, f := range tr.files {
		for _, u := range globalUses(f) {
			t.Errorf("%s: %s", tr.fset.Position(u.pos), u.text)
		}
	}
}

// use is something that a file does and should not.
type use struct {
	pos  token.Pos
	text string
}

// globalUses returns what a file does with the process that it runs in.
func globalUses(f goFile) []use {
	var uses []use
	for _, d := range f.ast.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Name.Name == "init" && fn.Recv == nil && f.library() {
			uses = append(uses, use{fn.Pos(), "init runs in every program that imports the package; let the program call it"})
		}
	}
	names := localNames(f)
	ast.Inspect(f.ast, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		x, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		importPath := names[x.Name]
		if importPath == "context" && sel.Sel.Name == "TODO" {
			uses = append(uses, use{n.Pos(), "context.TODO: take the context from the caller"})
		}
		for _, g := range globals {
			if f.library() && importPath == g.importPath && (g.names == nil || slices.Contains(g.names, sel.Sel.Name)) {
				uses = append(uses, use{n.Pos(), x.Name + "." + sel.Sel.Name + ": " + g.why})
			}
		}
		return true
	})
	return uses
}

// localNames maps the names that a file has for packages to their paths.
func localNames(f goFile) map[string]string {
	names := map[string]string{}
	for i, importPath := range f.imports() {
		name := path.Base(importPath)
		if alias := f.ast.Imports[i].Name; alias != nil {
			name = alias.Name
		}
		names[name] = importPath
	}
	return names
}

// Limits of length. A file is a room with one purpose, and a function fits on
// a screen or two.
const (
	maxFileLines = 500
	maxTestLines = 600
	maxFuncLines = 80
)

func TestLengths(t *testing.T) {
	tr := readTree(t)
	for _, f := range tr.files {
		lines, limit := bytes.Count(f.text, []byte("\n")), maxFileLines
		if f.test {
			limit = maxTestLines
		}
		if lines > limit {
			t.Errorf("%s has %d lines; at most %d are allowed", f.path, lines, limit)
		}
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || f.test {
				continue
			}
			if n := tr.fset.Position(fn.End()).Line - tr.fset.Position(fn.Pos()).Line + 1; n > maxFuncLines {
				t.Errorf("%s: %s has %d lines; at most %d are allowed", tr.fset.Position(fn.Pos()), fn.Name.Name, n, maxFuncLines)
			}
		}
	}
}

// TestDocComments asks for a comment on every exported name, field and
// interface method of the libraries. The linter checks the comments' form.
func TestDocComments(t *testing.T) {
	tr := readTree(t)
	for _, f := range tr.files {
		if !f.library() {
			continue
		}
		for _, name := range undocumented(f.ast) {
			t.Errorf("%s: %s has no doc comment", f.path, name)
		}
	}
}

// undocumented returns the exported names of a file that have no comment.
func undocumented(f *ast.File) []string {
	var found []string
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Name.IsExported() && d.Doc == nil && exportedReceiver(d) && !promised(d) {
				found = append(found, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					found = append(found, undocumentedType(d, spec)...)
				case *ast.ValueSpec:
					// One comment may stand over a group on one line or a block.
					if spec.Names[0].IsExported() && spec.Doc == nil && d.Doc == nil && spec.Comment == nil {
						found = append(found, spec.Names[0].Name)
					}
				}
			}
		}
	}
	return found
}

// undocumentedType looks at a type, its fields and its methods.
func undocumentedType(d *ast.GenDecl, spec *ast.TypeSpec) []string {
	if !spec.Name.IsExported() {
		return nil
	}
	var found []string
	if spec.Doc == nil && d.Doc == nil {
		found = append(found, spec.Name.Name)
	}
	var members *ast.FieldList
	switch typ := spec.Type.(type) {
	case *ast.StructType:
		members = typ.Fields
	case *ast.InterfaceType:
		members = typ.Methods
	default:
		return found
	}
	covered := false // the line above has a comment, or is covered by one
	for i, m := range members.List {
		// Fields on successive lines may share the comment above the first.
		adjacent := i > 0 && m.Pos() < members.List[i-1].End()+3
		covered = m.Doc != nil || m.Comment != nil || covered && adjacent
		for _, name := range m.Names {
			if name.IsExported() && !covered {
				found = append(found, spec.Name.Name+"."+name.Name)
			}
		}
	}
	return found
}

func exportedReceiver(d *ast.FuncDecl) bool {
	if d.Recv == nil {
		return true
	}
	typ := d.Recv.List[0].Type
	if star, ok := typ.(*ast.StarExpr); ok {
		typ = star.X
	}
	if generic, ok := typ.(*ast.IndexExpr); ok {
		typ = generic.X
	}
	name, ok := typ.(*ast.Ident)
	return ok && name.IsExported()
}

// promised reports whether a method is one whose meaning an interface fixes.
func promised(d *ast.FuncDecl) bool {
	return d.Recv != nil && slices.Contains([]string{"Error", "Unwrap", "String", "Len", "Less", "Swap"}, d.Name.Name)
}

// TestExamples asks for a runnable example, with checked output, in every
// package that others import. What is internal and has one importer is a part
// of that.
func TestExamples(t *testing.T) {
	has, libraries := map[string]bool{}, map[string]bool{}
	importers := map[string]map[string]bool{}
	for _, f := range readTree(t).files {
		if f.library() {
			libraries[f.dir] = true
		}
		for _, importPath := range f.imports() {
			if !f.test && below(importPath, modulePath) {
				if importers[importPath] == nil {
					importers[importPath] = map[string]bool{}
				}
				importers[importPath][f.dir] = true
			}
		}
		for _, d := range f.ast.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && f.test && strings.HasPrefix(fn.Name.Name, "Example") && outputs(f, fn) {
				has[f.dir] = true
			}
		}
	}
	for dir := range libraries {
		part := strings.Contains(dir, "internal/") && len(importers[path.Join(modulePath, dir)]) == 1
		if !has[dir] && !part {
			t.Errorf("%s has no Example function with checked output", dir)
		}
	}
}

// outputs reports whether an example's body has the comment that go test checks.
func outputs(f goFile, fn *ast.FuncDecl) bool {
	return slices.ContainsFunc(f.ast.Comments, func(c *ast.CommentGroup) bool {
		text := strings.ToLower(c.Text())
		return fn.Pos() < c.Pos() && c.End() < fn.End() &&
			(strings.HasPrefix(text, "output:") || strings.HasPrefix(text, "unordered output:"))
	})
}

// TestStyleChecks holds that the checks above see what they are for.
func TestStyleChecks(t *testing.T) {
	f := parse(t, `
package p

import (
	"context"
	logs "log/slog"
	"os"
)

type Bare struct {
	A int
	// B has one.
	B int
	C int

	D int
}

// Covered has one.
type Covered interface {
	Method()
	unexported()
}

const Loose = 1

func (b *Bare) Do() { logs.Info("x"); os.Exit(1); _ = context.TODO() }

func (b *Bare) String() string { return "" }

func init() { logs.New(nil); _, _ = os.Open("") }
`)
	want := []string{"Bare", "Bare.A", "Bare.D", "Covered.Method", "Loose", "Do"}
	if got := undocumented(f.ast); !slices.Equal(got, want) {
		t.Errorf("undocumented: %q, want %q", got, want)
	}
	var got []string
	for _, u := range globalUses(f) {
		word, _, _ := strings.Cut(u.text, " ")
		got = append(got, strings.Trim(word, ":"))
	}
	if want := []string{"init", "logs.Info", "os.Exit", "context.TODO"}; !slices.Equal(got, want) {
		t.Errorf("uses of globals: %q, want %q", got, want)
	}
}
