//go:build unix

package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/workspace"
)

// planned is what became of the documents of a plan.
type planned struct {
	root document.Root
	err  error
	n    int // system calls needed
}

// runPlan applies a plan over five files, of which one has a hard link, one is
// created in new folders and one is deleted, with count calls failing from
// the k-th on.
func runPlan(t *testing.T, k, count int, cause error) planned {
	t.Helper()
	root := openRoot(t)
	for _, name := range []string{"a", "b", "d", "e"} {
		write(t, filepath.Join(root.Dir(), name), oldText, 0o640)
	}
	if err := os.Link(filepath.Join(root.Dir(), "b"), filepath.Join(root.Dir(), "b2")); err != nil {
		t.Fatal(err)
	}
	base := document.RevisionOf([]byte(oldText))
	var plan edits.Plan
	for _, name := range []string{"e", "a", "b", "c/new/c", "d"} {
		p := resolve(t, root, name)
		c := edits.Change{From: p, To: p, Base: base, Edits: []edits.Edit{{End: len(oldText), New: newText}}}
		switch name {
		case "c/new/c":
			c = edits.Change{To: p, Edits: []edits.Edit{{New: newText}}}
		case "d":
			c = edits.Change{From: p, Base: base}
		}
		plan.Changes = append(plan.Changes, c)
	}
	f := &faulty{FS: system{}, k: k, count: count, err: cause}
	d := New(Options{FS: f})
	defer d.Close()
	_, err := workspace.New(workspace.Options{Target: d}).Apply(t.Context(), "S", plan)
	return planned{root, err, f.n}
}

// check holds that every document is wholly before or wholly after, that all
// are the same unless the error names those that are not, and that nothing is
// left behind.
func (p planned) check(t *testing.T, when string) {
	t.Helper()
	var partial *workspace.PartialError
	stuck := map[string]bool{}
	if errors.As(p.err, &partial) {
		for _, q := range partial.Stuck {
			stuck[q.Rel()] = true
		}
	}
	for _, name := range []string{"a", "b", "b2", "c/new/c", "d", "e"} {
		before, after := oldText, newText
		switch name {
		case "c/new/c":
			before = "none"
		case "d":
			after = "none"
		}
		want := before
		if p.err == nil || stuck[strings.TrimSuffix(name, "2")] {
			want = after
		}
		b, err := os.ReadFile(filepath.Join(p.root.Dir(), name))
		got := string(b)
		if errors.Is(err, fs.ErrNotExist) {
			got = "none"
		}
		if got != want {
			t.Errorf("%s: %s holds %q, want %q; the answer was %v", when, name, got, want, p.err)
		}
		if info, err := os.Stat(filepath.Join(p.root.Dir(), name)); err == nil && name != "c/new/c" && info.Mode() != 0o640 {
			t.Errorf("%s: %s has mode %v", when, name, info.Mode())
		}
	}
}

// clean holds that no temporary file and no empty folder is left.
func (p planned) clean(t *testing.T, when string) {
	t.Helper()
	temporaries(t, p.root.Dir())
	if _, err := os.Lstat(filepath.Join(p.root.Dir(), "c")); err == nil && p.err != nil && !errors.As(p.err, new(*workspace.PartialError)) {
		t.Errorf("%s: a folder was left behind", when)
	}
}

// TestPlanFaults fails each system call of a plan once.
func TestPlanFaults(t *testing.T) {
	for k := 1; ; k++ {
		p := runPlan(t, k, 1, syscall.EIO)
		when := fmt.Sprintf("call %d", k)
		p.check(t, when)
		p.clean(t, when)
		if p.n < k {
			if p.err != nil {
				t.Errorf("without a fault: %v", p.err)
			}
			t.Logf("%d system calls", p.n)
			return
		}
	}
}
