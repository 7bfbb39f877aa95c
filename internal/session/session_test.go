package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/disk"
	"coedit/internal/history"
	"coedit/internal/permission"
	"coedit/internal/workspace"
	"coedit/lsp"
	"coedit/readstate"
)

// target is a disk whose k-th swap fails with fail[k].
type target struct {
	*disk.Disk
	swaps int
	fail  map[int]error
}

func (t *target) Stage(ctx context.Context, c edits.Change, next document.Snapshot) (document.Staged, error) {
	s, err := t.Disk.Stage(ctx, c, next)
	swap := s.Swap
	s.Swap = func(ctx context.Context) error {
		t.swaps++
		if err := t.fail[t.swaps]; err != nil {
			return err
		}
		return swap(ctx)
	}
	return s, err
}

type journal struct{ end error }

func (journal) Begin(string, edits.Plan) (history.ID, error) { return "1", nil }
func (j journal) End(history.ID, bool) error                 { return j.end }

// world is a workspace in a temporary folder.
type world struct {
	t      *testing.T
	root   document.Root
	target *target
	space  *workspace.Workspace
	state  string
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &world{t: t, root: root, target: &target{Disk: disk.New(disk.Options{})}, state: filepath.Join(t.TempDir(), "states", "s.json")}
	t.Cleanup(func() { x.target.Close() })
	for name, text := range files {
		x.write(name, text)
	}
	x.space = workspace.New(workspace.Options{Target: x.target})
	return x
}

func (x *world) write(name, text string) {
	x.t.Helper()
	if err := os.WriteFile(filepath.Join(x.root.Dir(), name), []byte(text), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

func (x *world) text(name string) string {
	x.t.Helper()
	b, err := os.ReadFile(filepath.Join(x.root.Dir(), name))
	if err != nil {
		x.t.Fatal(err)
	}
	return string(b)
}

func (x *world) session(name string) *Session {
	return New(Options{Name: name, Roots: document.Roots{x.root}, Dir: x.root.Dir(), Workspace: x.space,
		Rules: permission.Rules{Mode: permission.Default}, StateFile: x.state})
}

func (x *world) path(name string) document.Path {
	x.t.Helper()
	p, err := x.root.Resolve(name)
	if err != nil {
		x.t.Fatal(err)
	}
	return p
}

// read shows the session all of a file.
func (x *world) read(s *Session, name string) {
	x.t.Helper()
	snap, err := s.Snapshot(x.t.Context(), x.path(name))
	if err != nil {
		x.t.Fatal(err)
	}
	s.Shown(snap, "all", []readstate.Span{{First: 1, Last: max(1, document.Lines(snap.Text).Count())}})
}

// replace is an intent that replaces old by new in every file called names.
func (x *world) replace(old, new string, names ...string) Intent {
	in := Intent{Plan: func(_ context.Context, docs []Looked) (edits.Plan, error) {
		var p edits.Plan
		for _, d := range docs {
			at := strings.Index(d.Text, old)
			if at < 0 {
				return edits.Plan{}, errors.New("no match")
			}
			p.Changes = append(p.Changes, edits.Change{From: d.Path, To: d.Path, Base: d.Revision, Edits: []edits.Edit{{Start: at, End: at + len(old), New: new}}})
		}
		return p, nil
	}}
	for _, n := range names {
		in.Paths = append(in.Paths, x.path(n))
	}
	return in
}

func (x *world) notices(s *Session) (out []string) {
	for _, e := range s.Notices(x.t.Context()) {
		what := e.Path.Rel() + " " + e.Change
		if e.Back {
			what = e.Path.Rel() + " back"
		}
		out = append(out, what)
	}
	return out
}

func (x *world) wantNotices(s *Session, want ...string) {
	x.t.Helper()
	if got := x.notices(s); !slices.Equal(got, want) {
		x.t.Errorf("told of %q, want %q", got, want)
	}
}

// A plan that failed in the middle and could not be undone is told as that,
// and is not tried again.
func TestPartialPlan(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "x\n", "b": "x\n"})
	x.target.fail = map[int]error{2: &document.Error{Name: "b", Err: document.ErrConflict}, 3: errors.New("input/output error")}
	s := x.session("s")
	x.read(s, "a")
	x.read(s, "b")
	_, err := s.Edit(t.Context(), x.replace("x", "yx", "a", "b"))
	var partial *workspace.PartialError
	if !errors.As(err, &partial) || len(partial.Stuck) != 1 {
		t.Errorf("%v", err)
	}
	if x.text("a") != "yx\n" || x.text("b") != "x\n" {
		t.Errorf("a %q, b %q", x.text("a"), x.text("b"))
	}
}

// A change whose entry in the history can't be closed was made all the same.
func TestJournalEndFails(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "x\n"})
	x.space = workspace.New(workspace.Options{Target: x.target, Journal: journal{errors.New("disk full")}})
	s := x.session("s")
	x.read(s, "a")
	out, err := s.Edit(t.Context(), x.replace("x", "y", "a"))
	if err != nil || len(out.Notices) != 1 || !strings.Contains(out.Notices[0], "disk full") {
		t.Errorf("%v, %q", err, out.Notices)
	}
	if _, err := s.Edit(t.Context(), x.replace("y", "z", "a")); err != nil {
		t.Errorf("its own change is stale: %v", err)
	}
}

// A mark that a text begins with is not part of the text.
func TestMarkWritten(t *testing.T) {
	for _, before := range []string{"abc\n", "\ufeffabc\n"} {
		x := newWorld(t, map[string]string{"a": before})
		s := x.session("s")
		x.read(s, "a")
		if _, err := s.Edit(t.Context(), x.replace("abc\n", "\ufeffxyz", "a")); err != nil {
			t.Errorf("%q: %v", before, err)
		}
		if x.text("a") != "\ufeffxyz" {
			t.Errorf("%q became %q", before, x.text("a"))
		}
		if _, err := s.Edit(t.Context(), x.replace("xyz", "z", "a")); err != nil {
			t.Errorf("%q: its own change is stale: %v", before, err)
		}
		x.wantNotices(s)
	}
}

// What a notice told is told again when it is taken back, and neither is
// repeated, not after a restart either.
func TestToldOnce(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "one\n", "gone": "x\n"})
	s := x.session("s")
	x.read(s, "a")
	x.read(s, "gone")
	x.write("a", "two\n")
	if err := os.Remove(filepath.Join(x.root.Dir(), "gone")); err != nil {
		t.Fatal(err)
	}
	x.wantNotices(s, "a modified", "gone deleted")
	x.wantNotices(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = x.session("s")
	x.wantNotices(s)
	x.write("a", "one\n")
	x.wantNotices(s, "a back")
	x.wantNotices(s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	s = x.session("s")
	x.wantNotices(s)
	x.write("a", "two\n")
	x.wantNotices(s, "a modified")
	x.write("a", "one\n")
	out, err := s.Edit(t.Context(), x.replace("one", "1", "a"))
	if err != nil || len(out.External) != 1 || !out.External[0].Back {
		t.Errorf("an edit of what was taken back: %+v, %v", out.External, err)
	}
	if out, err = s.Edit(t.Context(), x.replace("1", "2", "a")); err != nil || len(out.External) != 0 {
		t.Errorf("told twice: %+v, %v", out.External, err)
	}
}

// What the session itself wrote is nothing to tell it of; what came back
// after somebody else's change is not its own.
func TestOwnChanges(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1\n"})
	s, other := x.session("s"), x.session("other")
	x.read(s, "a")
	x.read(other, "a")
	if _, err := s.Edit(t.Context(), x.replace("1", "2", "a")); err != nil {
		t.Fatal(err)
	}
	x.wantNotices(s)
	x.wantNotices(other, "a modified")
	// A change of its own that another call is just about to record.
	snap, err := x.space.Snapshot(t.Context(), x.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := x.space.Apply(t.Context(), "s", edits.Plan{Changes: []edits.Change{{From: snap.Path, To: snap.Path, Base: snap.Revision, Edits: []edits.Edit{{New: "0"}}}}}); err != nil {
		t.Fatal(err)
	}
	x.wantNotices(s)
	x.write("a", "2\n")
	x.notices(s)
	x.write("a", "1\n")
	_, err = s.Edit(t.Context(), x.replace("1", "3", "a"))
	var stale *StaleError
	if !errors.As(err, &stale) || len(stale.Sessions) != 0 {
		t.Fatalf("%+v", err)
	}
	x.write("a", "2\n")
	_, err = s.Edit(t.Context(), x.replace("2", "3", "a"))
	if !errors.As(err, &stale) || len(stale.Sessions) != 0 || stale.Origin.Kind != document.OriginDisk {
		t.Errorf("%+v", err)
	}
}

// Read state that could not be kept is kept by the next call.
func TestSaveAgain(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "x\n"})
	if err := os.WriteFile(filepath.Dir(x.state), nil, 0o600); err != nil { // in the way
		t.Fatal(err)
	}
	s := x.session("s")
	x.read(s, "a")
	if s.Save() == nil {
		t.Fatal("saved through a file in the way")
	}
	if err := os.Remove(filepath.Dir(x.state)); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := x.session("s").Edit(t.Context(), x.replace("x", "y", "a")); err != nil {
		t.Error(err)
	}
}

// servers note what they were given, and what happens while they are.
type servers struct {
	Servers
	opening func()
	told    []lsp.Changed
}

func (s *servers) Open(document.Snapshot) { s.opening() }

func (s *servers) Changed(list []lsp.Changed) lsp.Mark {
	s.told = append(s.told, list...)
	return lsp.Mark{}
}

func (s *servers) Before(context.Context, []document.Snapshot) lsp.Baseline { return lsp.Baseline{} }

func (s *servers) Diagnose(context.Context, lsp.Mark, lsp.Baseline) lsp.Report { return lsp.Report{} }

// A document that moves on while a server is given its text is told to it
// afterwards: it would keep the older one.
func TestOpenCatchesUp(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1\n"})
	var s *Session
	sv := &servers{}
	x.space = workspace.New(workspace.Options{Target: x.target, Servers: sv})
	s = New(Options{Name: "s", Roots: document.Roots{x.root}, Dir: x.root.Dir(), Workspace: x.space, Servers: sv})
	snap, err := s.Snapshot(t.Context(), x.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	sv.opening = func() {
		c := edits.Change{From: snap.Path, To: snap.Path, Base: snap.Revision, Edits: []edits.Edit{{New: "0"}}}
		if _, err := x.space.Apply(t.Context(), "other", edits.Plan{Changes: []edits.Change{c}}); err != nil {
			t.Error(err)
		}
		sv.opening = func() {}
	}
	s.Shown(snap, "all", nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := len(sv.told); n != 2 || sv.told[1].Before.Text != "1\n" || sv.told[1].After.Text != "01\n" {
		t.Errorf("told %d: %+v", n, sv.told)
	}
}

// A change of many files by others is told as a number, once; of few it is not.
func TestOutside(t *testing.T) {
	x := newWorld(t, nil)
	s := x.session("s")
	scan := func() {
		t.Helper()
		if _, err := x.space.Scan(t.Context(), document.Roots{x.root}); err != nil {
			t.Fatal(err)
		}
	}
	scan()
	for i := range manyFiles - 1 {
		x.write(fmt.Sprint("few", i), "1")
	}
	scan()
	if n := s.Outside(); n != 0 {
		t.Errorf("told of %d files", n)
	}
	for i := range manyFiles {
		x.write(fmt.Sprint("many", i), "1")
	}
	scan()
	if n := s.Outside(); n != manyFiles {
		t.Errorf("told of %d files", n)
	}
	if n := s.Outside(); n != 0 {
		t.Errorf("told of %d files again", n)
	}
}

// A snapshot taken before a change that another call of the session has
// recorded since is looked at again: the change is nobody else's.
func TestSnapshotBehind(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1\n"})
	s := x.session("s")
	x.read(s, "a")
	old, err := s.Snapshot(t.Context(), x.path("a"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Edit(t.Context(), x.replace("1", "2", "a")); err != nil {
		t.Fatal(err)
	}
	a := &attempt{s: s, first: map[document.Path]document.Revision{}}
	if _, err := a.sight(old); !errors.Is(err, workspace.ErrConflict) {
		t.Errorf("%v", err)
	}
}
