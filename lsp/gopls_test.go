package lsp_test

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/provision"
	"coedit/internal/settings"
	"coedit/lsp"
	"coedit/lsp/profile"
)

// disk is a Source that reads the file system.
type disk struct{}

func (disk) Snapshot(_ context.Context, p document.Path) (document.Snapshot, error) {
	b, err := os.ReadFile(p.Name())
	if err != nil {
		return document.Snapshot{Path: p}, nil
	}
	return document.NewSnapshot(p, b, "", document.Origin{}), nil
}

// bench is a workspace in a temporary folder with its servers.
type bench struct {
	t       testing.TB
	root    document.Root
	servers *lsp.Servers
}

// needGopls returns a gopls on PATH or in coedit's cache.
func needGopls(t testing.TB) string {
	t.Helper()
	home, _ := os.UserHomeDir()
	folders, err := settings.FindFolders(os.Getenv, home, os.Getuid())
	if err != nil {
		t.Fatal(err)
	}
	tool, err := provision.New(provision.Options{Cache: folders.Cache, Path: os.Getenv("PATH")}).Find(t.Context(), "gopls")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	return tool.Path
}

func launchFrom(path string) func(context.Context, profile.Profile, string) (lsp.Command, error) {
	return func(context.Context, profile.Profile, string) (lsp.Command, error) {
		return lsp.Command{Path: path, Args: []string{"serve"}}, nil
	}
}

func newBench(t testing.TB, files map[string]string, change func(*lsp.Options)) *bench {
	t.Helper()
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, root: root}
	for name, text := range files {
		b.write(name, text)
	}
	o := lsp.Options{Roots: []document.Root{root}, Source: disk{}}
	if testing.Verbose() {
		o.Log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	}
	change(&o)
	b.servers = lsp.New(o)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := b.servers.Close(ctx); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return b
}

func goplsBench(t testing.TB, files map[string]string) *bench {
	path := needGopls(t)
	if files["go.mod"] == "" {
		files["go.mod"] = "module example.test/m\n\ngo 1.22\n"
	}
	return newBench(t, files, func(o *lsp.Options) {
		o.Profiles = []profile.Profile{profile.Gopls()}
		o.Launch = launchFrom(path)
	})
}

func (b *bench) path(name string) document.Path {
	b.t.Helper()
	p, err := b.root.Resolve(filepath.FromSlash(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return p
}

func (b *bench) write(name, text string) {
	b.t.Helper()
	p := b.path(name).Name()
	if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(p, []byte(text), 0o644); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) snap(name string) document.Snapshot {
	b.t.Helper()
	s, err := disk{}.Snapshot(b.t.Context(), b.path(name))
	if err != nil {
		b.t.Fatal(err)
	}
	return s
}

// edit replaces old by new in the file, as the pipeline does, and returns the
// report.
func (b *bench) edit(name, old, new string) lsp.Report {
	b.t.Helper()
	r, _ := b.editAll(name, old, new)
	return r
}

func (b *bench) editAll(name, old, new string) (lsp.Report, []lsp.Changed) {
	b.t.Helper()
	before := b.snap(name)
	at := strings.Index(before.Text, old)
	if at < 0 {
		b.t.Fatalf("%q is not in %s", old, name)
	}
	base := b.servers.Before(b.t.Context(), []document.Snapshot{before})
	b.write(name, before.Text[:at]+new+before.Text[at+len(old):])
	list := []lsp.Changed{{Before: before, After: b.snap(name), Edits: []edits.Edit{{Start: at, End: at + len(old), New: new}}}}
	return b.servers.Diagnose(b.t.Context(), b.servers.Changed(list), base), list
}

// put writes the whole file, or removes it when text is "-", and reports.
func (b *bench) put(name, text string) lsp.Report {
	b.t.Helper()
	before := b.snap(name)
	base := b.servers.Before(b.t.Context(), []document.Snapshot{before})
	return b.servers.Diagnose(b.t.Context(), b.outside(name, text, before), base)
}

// outside is a change by somebody else.
func (b *bench) outside(name, text string, before document.Snapshot) lsp.Mark {
	b.t.Helper()
	if text == "-" {
		os.Remove(b.path(name).Name())
	} else {
		b.write(name, text)
	}
	return b.servers.Changed([]lsp.Changed{{Before: before, After: b.snap(name)}})
}

func show(list []lsp.Diagnostic) string {
	var sb strings.Builder
	for _, d := range list {
		sb.WriteString(filepath.Base(d.Name))
		sb.WriteString(":" + itoa(d.Line) + ":" + itoa(d.Column) + " " + d.Severity.String() + " " + d.Message + "\n")
	}
	return sb.String()
}

func itoa(n int) string { return strconv.Itoa(n) }

func wantContains(t testing.TB, what string, list []lsp.Diagnostic, text string) {
	t.Helper()
	if !strings.Contains(show(list), text) {
		t.Errorf("%s: no %q in:\n%s", what, text, show(list))
	}
}

func wantNone(t testing.TB, what string, list []lsp.Diagnostic) {
	t.Helper()
	if len(list) > 0 {
		t.Errorf("%s: want none, got:\n%s", what, show(list))
	}
}

func wantFresh(t testing.TB, r lsp.Report) {
	t.Helper()
	if r.Freshness != lsp.Fresh || !r.BaselineKnown {
		t.Errorf("freshness %s, baseline known %v, note %q, %+v", r.Freshness, r.BaselineKnown, r.Note, r.Servers)
	}
}

func TestGoplsOtherFile(t *testing.T) {
	b := goplsBench(t, map[string]string{
		"a/a.go": "package a\n\nfunc Area(w int) int { return w * w }\n",
		"b/b.go": "package b\n\nimport \"example.test/m/a\"\n\nvar X = a.Area(3)\n",
	})
	b.servers.Open(b.snap("a/a.go"))
	r := b.edit("a/a.go", "Area(w int) int { return w * w }", "Area(w, h int) int { return w * h }")
	wantFresh(t, r)
	wantContains(t, "new", r.New, "b.go:5:17 error not enough arguments in call to a.Area")
	r = b.edit("b/b.go", "Area(3)", "Area(3, 4)")
	wantFresh(t, r)
	wantNone(t, "new", r.New)
	wantNone(t, "current", r.Current)
	wantContains(t, "resolved", r.Resolved, "not enough arguments")
}

func TestGoplsColumns(t *testing.T) {
	b := goplsBench(t, map[string]string{"main.go": "package main\n\nfunc main() {\n\tprintln(\"🦊🦊é\", nope)\n}\n"})
	b.servers.Open(b.snap("main.go"))
	r := b.edit("main.go", "nope", "nope2")
	wantFresh(t, r)
	wantContains(t, "new", r.New, "main.go:4:17 error undefined: nope2")
	wantContains(t, "resolved", r.Resolved, "undefined: nope\n")
	if d := r.New[0]; d.EndColumn != 22 || d.Code != "UndeclaredName" || d.Source != "compiler" || d.Path != b.path("main.go") {
		t.Errorf("%+v", d)
	}
	// Two edits in one go, after the emoji: both ranges must be right.
	r = b.edit("main.go", "nope2", "1")
	wantNone(t, "current", r.Current)
}

func TestGoplsOutsideChange(t *testing.T) {
	bad := "package main\n\nfunc main() {\n\tprintln(wobble)\n}\n"
	b := goplsBench(t, map[string]string{"main.go": bad})
	r := b.edit("main.go", "println(wobble)", "println(1)")
	wantFresh(t, r)
	wantNone(t, "current", r.Current)
	wantContains(t, "resolved", r.Resolved, "undefined: wobble")
	b.outside("main.go", bad, b.snap("main.go"))
	_, list := b.servers.Current(t.Context(), nil, b.root.Dir())
	wantContains(t, "current", list, "main.go:4:10 error undefined: wobble")
}

func TestGoplsNewFiles(t *testing.T) {
	b := goplsBench(t, map[string]string{"main.go": "package main\n\nfunc main() {}\n"})
	b.servers.Open(b.snap("main.go"))
	wantNone(t, "util.go", b.put("util.go", "package main\n\nfunc Helper() int { return 1 }\n").New)
	wantNone(t, "use", b.edit("main.go", "func main() {}", "func main() { println(Helper()) }").New)
	r := b.put("pkg/p.go", "package pkg\n\nfunc P() {}\n\nvar Broken int = \"s\"\n")
	wantContains(t, "p.go's own", r.New, "p.go:5:18")
	wantNone(t, "p.go", b.edit("pkg/p.go", "\"s\"", "1").New)
	r = b.edit("main.go", "package main\n", "package main\n\nimport \"example.test/m/pkg\"\n")
	if len(r.New) != 1 || !strings.Contains(show(r.New), "imported and not used") {
		t.Errorf("import: %s", show(r.New))
	}
	r = b.edit("main.go", "println(Helper())", "println(Helper()); pkg.P()")
	wantFresh(t, r)
	wantNone(t, "current", r.Current)
	r = b.put("pkg/p.go", "-")
	wantFresh(t, r)
	wantContains(t, "after the removal", r.New, "main.go")
}

func TestGoplsFilesByOthers(t *testing.T) {
	b := goplsBench(t, map[string]string{
		"main.go": "package main\n\nimport \"example.test/m/lib\"\n\nfunc main() { println(K, lib.V) }\n", "lib/lib.go": "package lib\n\nconst V = 1\n",
	})
	current := func() []lsp.Diagnostic {
		t.Helper()
		r, list := b.servers.Current(t.Context(), []document.Snapshot{b.snap("main.go")})
		if r.Freshness != lsp.Fresh {
			t.Errorf("%+v", r)
		}
		return list
	}
	wantContains(t, "cold", current(), "undefined: K")
	b.outside("k.go", "package main\n\nconst K = 1\n", b.snap("k.go"))
	wantNone(t, "created", current())
	k := b.snap("k.go")
	b.outside("k.go", "-", k)
	b.outside("k2.go", "package main\n\nconst K2 = 1\n", b.snap("k2.go"))
	wantContains(t, "renamed", current(), "undefined: K")
	b.outside("k2.go", "package main\n\nconst K = 1\n", b.snap("k2.go"))
	wantNone(t, "changed", current())
	b.outside("lib/lib.go", "package lib\n\nconst W = 1\n", b.snap("lib/lib.go"))
	wantContains(t, "a file that is not open changed", current(), "undefined: lib.V")
	b.outside("lib/lib.go", "-", b.snap("lib/lib.go"))
	wantContains(t, "a file that is not open is gone", current(), "main.go:3:8")
}

// moduleFiles returns the text files of a module that this one requires, out
// of the module cache.
func moduleFiles(t testing.TB, module string) map[string]string {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	dir := strings.TrimSpace(string(out))
	if err != nil || dir == "" {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%s: %v", module, err)
		}
		t.Skipf("%s is not in the module cache", module)
	}
	files := map[string]string{}
	err = fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(name, "testdata") || !strings.HasSuffix(name, ".go") && name != "go.mod" || strings.HasSuffix(name, "zip_test.go") {
			return err
		}
		b, err := os.ReadFile(filepath.Join(dir, name))
		files[name] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// gopls v0.23.0 keeps "missing metadata" errors of the packages that import
// one whose folder was away for a while, in this module at least.
func TestGoplsFolderAwayAndBack(t *testing.T) {
	files := moduleFiles(t, "golang.org/x/mod")
	b := goplsBench(t, files)
	current := func() []lsp.Diagnostic {
		t.Helper()
		r, list := b.servers.Current(t.Context(), []document.Snapshot{b.snap("module/module.go")})
		if r.Freshness != lsp.Fresh {
			t.Errorf("%+v", r)
		}
		return slices.DeleteFunc(list, func(d lsp.Diagnostic) bool { return d.Severity != lsp.Error })
	}
	wantNone(t, "at first", current())
	const name = "internal/lazyregexp/lazyre.go"
	for range 2 {
		b.outside(name, "-", b.snap(name))
		list := current()
		wantContains(t, "away", list, "no required module provides package")
		if strings.Contains(show(list), "missing metadata") {
			t.Errorf("away: %s", show(list))
		}
		b.outside(name, files[name], b.snap(name))
		wantNone(t, "back", current())
	}
}

func TestGoplsModule(t *testing.T) {
	mod := "module example.test/app\n\ngo 1.22\n"
	b := goplsBench(t, map[string]string{
		"app/go.mod": mod, "go.mod": "-",
		"app/main.go": "package main\n\nimport \"example.test/lib\"\n\nfunc main() { lib.Hi() }\n",
		"lib/go.mod":  "module example.test/lib\n\ngo 1.22\n",
		"lib/lib.go":  "package lib\n\nfunc Hi() {}\n",
	})
	os.Remove(b.path("go.mod").Name())
	current := func() []lsp.Diagnostic {
		t.Helper()
		r, list := b.servers.Current(t.Context(), []document.Snapshot{b.snap("app/main.go")})
		if r.Freshness != lsp.Fresh {
			t.Errorf("%+v", r)
		}
		return list
	}
	wantContains(t, "before", current(), "could not import example.test/lib")
	b.outside("app/go.mod", mod+"\nrequire example.test/lib v0.0.0\n\nreplace example.test/lib => ../lib\n", b.snap("app/go.mod"))
	wantNone(t, "with replace", current())
	b.outside("app/go.mod", mod, b.snap("app/go.mod"))
	wantContains(t, "without", current(), "could not import")
}

// A cold server must not be called clean before it has loaded.
func TestGoplsCold(t *testing.T) {
	files := map[string]string{"a.go": "package m\n\nfunc F() {}\n"}
	for i := range 40 {
		n := itoa(i)
		files["p"+n+"/p.go"] = "package p" + n + "\n\nimport (\n\t\"net/http\"\n\t\"example.test/m\"\n)\n\nvar _ = http.StatusOK\n\nfunc init() { m.F(1) }\n"
	}
	b := goplsBench(t, files)
	r, list := b.servers.Current(t.Context(), []document.Snapshot{b.snap("a.go")})
	if r.Freshness != lsp.Fresh || len(list) != 40 {
		t.Errorf("%s, %d errors (of 40)", r.Freshness, len(list))
	}
}

// Each round ends after its last publication: the word after it is final.
func TestGoplsRoundsAreFinal(t *testing.T) {
	b := goplsBench(t, map[string]string{
		"a/a.go": "package a\n\nfunc F(n int) {}\n",
		"b/b.go": "package b\n\nimport \"example.test/m/a\"\n\nfunc G() { a.F(0) }\n",
		"c/c.go": "package c\n\nimport \"example.test/m/a\"\n\nfunc H() { a.F(0) }\n",
	})
	b.servers.Open(b.snap("a/a.go"))
	for i := range 30 {
		r := b.edit("a/a.go", "n int", "n string")
		wantFresh(t, r)
		if len(r.New) != 2 || len(r.Current) != 2 {
			t.Fatalf("round %d: new:\n%scurrent:\n%s", i, show(r.New), show(r.Current))
		}
		r = b.edit("a/a.go", "n string", "n int")
		wantFresh(t, r)
		if len(r.New) != 0 || len(r.Current) != 0 || len(r.Resolved) != 2 {
			t.Fatalf("round %d: new:\n%scurrent:\n%s", i, show(r.New), show(r.Current))
		}
	}
}

// Without the option for rounds, versions and quiet take their place.
func TestGoplsWithoutRounds(t *testing.T) {
	path := needGopls(t)
	b := newBench(t, map[string]string{"go.mod": "module example.test/m\n\ngo 1.22\n", "a.go": "package m\n\nvar X int = 1\n"}, func(o *lsp.Options) {
		p := profile.Gopls()
		p.InitializationOptions = map[string]any{"diagnosticsDelay": "0s"}
		p.Settings = nil
		o.Profiles = []profile.Profile{p}
		o.Launch = launchFrom(path)
	})
	for range 3 {
		r := b.edit("a.go", "1", "\"s\"")
		if r.Freshness != lsp.Settled || len(r.New) != 1 {
			t.Errorf("%s %+v\n%s", r.Freshness, r.Servers, show(r.New))
		}
		r = b.edit("a.go", "\"s\"", "1")
		if r.Freshness != lsp.Settled || len(r.Current) != 0 {
			t.Errorf("%s %+v\n%s", r.Freshness, r.Servers, show(r.Current))
		}
	}
}

// In a restricted root neither a driver nor flags of the user run; in a
// trusted one they do.
func TestGoplsEnvironment(t *testing.T) {
	path := needGopls(t)
	dir := t.TempDir()
	proof := filepath.Join(dir, "ran")
	driver := filepath.Join(dir, "gopackagesdriver") // run when it is on PATH, unless that is off
	if err := os.WriteFile(driver, []byte("#!/bin/sh\ntouch "+proof+"\necho '{\"NotHandled\":true}'\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, trusted := range []bool{false, true} {
		b := newBench(t, map[string]string{
			"go.mod": "module example.test/m\n\ngo 1.22\n", "a.go": "package m\n", "tagged.go": "//go:build special\n\npackage m\n\nvar x int = \"s\"\n",
		}, func(o *lsp.Options) {
			o.Profiles = []profile.Profile{profile.Gopls()}
			o.Trusted = func(string) bool { return trusted }
			env := append(os.Environ(), "GOFLAGS=-tags=special", "GOPACKAGESDRIVER="+driver, "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
			o.Launch = func(context.Context, profile.Profile, string) (lsp.Command, error) {
				return lsp.Command{Path: path, Args: []string{"serve"}, Env: env}, nil
			}
		})
		os.Remove(proof)
		_, list := b.servers.Current(t.Context(), []document.Snapshot{b.snap("a.go")})
		_, err := os.Stat(proof)
		if ran := err == nil; ran != trusted {
			t.Errorf("trusted %v: the driver ran: %v", trusted, ran)
		}
		if flagged := strings.Contains(show(list), "tagged.go:5"); flagged != trusted {
			t.Errorf("trusted %v: the user's flags hold: %v\n%s", trusted, flagged, show(list))
		}
	}
}

// What was wrong before is not new, however much there is of it.
func TestGoplsFlood(t *testing.T) {
	gen := "package m\n\n"
	for i := range 300 {
		gen += "var _ = u" + itoa(i) + "\n"
	}
	b := goplsBench(t, map[string]string{"gen.go": gen})
	r := b.put("c.go", "package m\n\nvar C int = \"s\"\n")
	wantFresh(t, r)
	if len(r.New) != 1 || r.Remaining.Errors < 300 {
		t.Errorf("new:\n%s%+v", show(r.New), r.Remaining)
	}
	wantContains(t, "new", r.New, "c.go:3:13 error")
}

// Many edits at a time, of several files: each report is fresh and true of
// its own file, and nothing is left at the end.
func TestGoplsConcurrent(t *testing.T) {
	files := map[string]string{}
	const n = 8
	for i := range n {
		files["p"+itoa(i)+"/p.go"] = "package p\n\nvar X int = 1\n"
	}
	b := goplsBench(t, files)
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			name := "p" + itoa(i) + "/p.go"
			for range 5 {
				if r := b.edit(name, "= 1", "= \"s\""); r.Freshness != lsp.Fresh || !strings.Contains(show(own(r.Current, b.path(name))), "p.go:3:13 error") {
					t.Errorf("%s: %s\n%s", name, r.Freshness, show(r.Current))
				}
				if r := b.edit(name, "= \"s\"", "= 1"); r.Freshness != lsp.Fresh || len(own(r.Current, b.path(name))) != 0 {
					t.Errorf("%s: %s\n%s", name, r.Freshness, show(r.Current))
				}
			}
		})
	}
	wg.Wait()
	_, list := b.servers.Current(t.Context(), nil, b.root.Dir())
	wantNone(t, "at the end", list)
}

func own(list []lsp.Diagnostic, p document.Path) (out []lsp.Diagnostic) {
	for _, d := range list {
		if d.Path == p {
			out = append(out, d)
		}
	}
	return out
}
