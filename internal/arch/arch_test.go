// Package arch keeps the import table, the sizes and the words of the project
// true. It reads the source files itself, so that the test cache can't hide a
// violation.
package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "coedit"

// table says what each package may import of ours: the table of
// ARCHITECTURE.md.
var table = map[string][]string{
	"document":            {},
	"edits":               {"document"},
	"readstate":           {"document"},
	"internal/wire":       {"document"},
	"internal/glob":       {},
	"internal/settings":   {},
	"internal/provision":  {"internal/settings"},
	"lsp":                 {"document", "edits", "internal/wire", "internal/glob", "internal/provision", "lsp/profile"},
	"lsp/profile":         {"document", "edits", "internal/wire", "internal/glob", "internal/provision"},
	"lsp/lsptest":         {},
	"watcher":             {},
	"internal/disk":       {"document", "edits"},
	"internal/history":    {"document", "edits"},
	"internal/permission": {"document", "edits", "internal/glob"},
	"internal/workspace":  {"lsp", "internal/history", "edits", "document"},
	"internal/session":    {"internal/workspace", "readstate", "internal/permission", "internal/history", "lsp", "edits", "document"},
	"internal/tools":      {"internal/session", "internal/workspace", "readstate", "internal/permission", "internal/history", "lsp", "edits", "document"},
	"internal/daemon":     {},
	"internal/editor":     {"document", "edits", "internal/wire"},
	"internal/arch":       {},
	"cmd/coedit":          {"*"},
}

// owners say which package alone imports a foreign module. An import of a
// module that has no owner fails too.
var owners = map[string][]string{
	"go.lsp.dev/jsonrpc2":                {"internal/wire"},
	"go.lsp.dev/protocol":                {"internal/wire", "lsp", "internal/editor"},
	"go.lsp.dev/uri":                     {"internal/wire", "lsp"},
	"github.com/sergi/go-diff":           {"edits"},
	"github.com/bmatcuk/doublestar":      {"internal/glob"},
	"github.com/modelcontextprotocol":    {"internal/tools"},
	"github.com/google/jsonschema-go":    {"internal/tools"},
	"github.com/pkg/xattr":               {"internal/disk"},
	"github.com/fsnotify/fsnotify":       {"watcher"},
	"github.com/alecthomas/kong":         {"cmd/coedit"},
	"github.com/go-json-experiment/json": {"internal/wire"},
	"github.com/rogpeppe/go-internal":    {"tests"},
	"github.com/google/go-cmp":           {"tests"},
	"go.uber.org/goleak":                 {"tests"},
}

// pure packages have no effects: none of these imports.
var (
	pure       = []string{"edits", "readstate", "internal/permission"}
	noEffects  = []string{"os", "net", "time", "sync", "log", "os/exec", "io/ioutil", "net/http", "log/slog", "sync/atomic"}
	maxLines   = 600
	maxPackage = 3500
	maxFunc    = 80
	maxExports = 30
)

// exceptions to the sizes, each with its reason.
var exceptions = map[string]string{}

type source struct {
	pkg, file string
	test      bool
	ast       *ast.File
	lines     int
}

func sources(t *testing.T) (*token.FileSet, []source) {
	t.Helper()
	root := filepath.Join("..", "..")
	fset := token.NewFileSet()
	var out []source
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, name)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if base := d.Name(); rel != "." && (strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" || base == "editors") {
				return fs.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(fset, name, b, parser.ParseComments)
		if err != nil {
			return err
		}
		out = append(out, source{pkg: filepath.ToSlash(filepath.Dir(rel)), file: rel, test: strings.HasSuffix(rel, "_test.go"), ast: f, lines: strings.Count(string(b), "\n")})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(out) == 0 {
		t.Fatal("no source found")
	}
	return fset, out
}

func TestImports(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		allowed, ok := table[f.pkg]
		if !ok {
			t.Errorf("%s: package %s is not in the table of ARCHITECTURE.md", f.file, f.pkg)
			continue
		}
		for _, imp := range f.ast.Imports {
			path := strings.Trim(imp.Path.Value, `"`)
			if ours, ok := strings.CutPrefix(path, module+"/"); ok {
				if !f.test && !slices.Contains(allowed, "*") && !slices.Contains(allowed, ours) {
					t.Errorf("%s imports %s: not in its row of the table", f.file, ours)
				}
				continue
			}
			first, _, _ := strings.Cut(path, "/")
			if !strings.Contains(first, ".") {
				if !f.test && slices.Contains(pure, f.pkg) && slices.Contains(noEffects, path) {
					t.Errorf("%s imports %s: the package has no effects", f.file, path)
				}
				continue
			}
			checkOwner(t, f, path)
		}
	}
}

func checkOwner(t *testing.T, f source, path string) {
	t.Helper()
	if strings.HasPrefix(path, "golang.org/x/") {
		return
	}
	for mod, pkgs := range owners {
		if path == mod || strings.HasPrefix(path, mod+"/") {
			if !slices.Contains(pkgs, f.pkg) && !(f.test && (slices.Contains(pkgs, "tests") || f.pkg == "cmd/coedit")) {
				t.Errorf("%s imports %s, which only %v may", f.file, path, pkgs)
			}
			return
		}
	}
	t.Errorf("%s imports %s, which has no owner: add it here and to CONTRIBUTING.md with its reason", f.file, path)
}

func TestSizes(t *testing.T) {
	fset, files := sources(t)
	lines, exports := map[string]int{}, map[string][]string{}
	for _, f := range files {
		if f.test {
			continue
		}
		if f.lines > maxLines && exceptions[f.file] == "" {
			t.Errorf("%s has %d lines, at most %d", f.file, f.lines, maxLines)
		}
		lines[f.pkg] += f.lines
		for _, d := range f.ast.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Body != nil {
				n := fset.Position(fn.End()).Line - fset.Position(fn.Pos()).Line + 1
				if id := f.file + ":" + fn.Name.Name; n > maxFunc && exceptions[id] == "" {
					t.Errorf("%s has %d lines, at most %d", id, n, maxFunc)
				}
			}
			exports[f.pkg] = append(exports[f.pkg], exported(t, f, d)...)
		}
	}
	for pkg, n := range lines {
		if n > maxPackage && exceptions[pkg] == "" {
			t.Errorf("package %s has %d lines, at most %d", pkg, n, maxPackage)
		}
	}
	for pkg, names := range exports {
		if len(names) > maxExports+10 && exceptions[pkg+" exports"] == "" {
			t.Errorf("package %s exports %d names, about %d at most: %v", pkg, len(names), maxExports, names)
		}
	}
}

// exported returns the exported names a declaration makes (methods are not
// counted), and fails where one has no doc comment.
func exported(t *testing.T, f source, d ast.Decl) []string {
	t.Helper()
	var out []string
	need := func(name string, doc *ast.CommentGroup) {
		if doc == nil {
			t.Errorf("%s: exported %s has no doc comment", f.file, name)
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if !d.Name.IsExported() {
			return nil
		}
		if d.Recv == nil {
			need(d.Name.Name, d.Doc)
			return []string{d.Name.Name}
		}
		if name := receiver(d); ast.IsExported(name) && !slices.Contains(wellKnown, d.Name.Name) {
			need(name+"."+d.Name.Name, d.Doc)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				if s.Name.IsExported() {
					if s.Doc == nil {
						need(s.Name.Name, d.Doc)
					}
					out = append(out, s.Name.Name)
				}
			case *ast.ValueSpec:
				// a group of constants counts as one name: its type's values
				if s.Names[0].IsExported() && s.Doc == nil && s.Comment == nil {
					need(s.Names[0].Name, d.Doc)
				}
			}
		}
		if d.Tok == token.CONST || d.Tok == token.VAR {
			for _, s := range d.Specs {
				if s.(*ast.ValueSpec).Names[0].IsExported() {
					return append(out, s.(*ast.ValueSpec).Names[0].Name)
				}
			}
		}
	}
	return out
}

// wellKnown methods say what they do by their interface.
var wellKnown = []string{"Error", "Unwrap", "Is", "As", "String", "MarshalJSON", "UnmarshalJSON", "MarshalText", "UnmarshalText"}

func receiver(d *ast.FuncDecl) string {
	switch x := d.Recv.List[0].Type.(type) {
	case *ast.Ident:
		return x.Name
	case *ast.StarExpr:
		if id, ok := x.X.(*ast.Ident); ok {
			return id.Name
		}
	}
	return ""
}

func TestPackageComments(t *testing.T) {
	_, files := sources(t)
	has, pkgs := map[string]bool{}, map[string]bool{}
	for _, f := range files {
		if f.test && f.pkg != "internal/arch" {
			continue
		}
		pkgs[f.pkg] = true
		if f.ast.Doc != nil {
			has[f.pkg] = true
		}
	}
	for p := range pkgs {
		if !has[p] {
			t.Errorf("package %s has no package comment", p)
		}
	}
}

// TestOneDoor holds house rule 2: only disk writes users' files, and only
// workspace calls it (cmd hands it in).
func TestOneDoor(t *testing.T) {
	_, files := sources(t)
	for _, f := range files {
		if f.test || f.pkg == "cmd/coedit" {
			continue
		}
		for _, imp := range f.ast.Imports {
			if strings.Trim(imp.Path.Value, `"`) == module+"/internal/disk" {
				t.Errorf("%s imports disk: only cmd hands it to workspace", f.file)
			}
		}
	}
}
