package lsp_test

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"coedit/document"
	"coedit/edits"
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

func needGopls(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("gopls")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal("gopls is not on PATH")
		}
		t.Skip("gopls is not on PATH")
	}
	return path
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
