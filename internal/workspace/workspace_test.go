package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/disk"
	"coedit/internal/history"
	"coedit/lsp"
)

// target is the disk, with failures at chosen steps.
type target struct {
	*disk.Disk
	mu        sync.Mutex
	log       []string
	failStage map[int]error // by the how-manieth Stage, from 1
	failSwap  map[int]error
	stages    int
	swaps     int
}

func (t *target) note(s string) {
	t.log = append(t.log, s)
}

func (t *target) Stage(ctx context.Context, c edits.Change, next document.Snapshot) (document.Staged, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stages++
	t.note("stage " + c.Path().Rel())
	if err := t.failStage[t.stages]; err != nil {
		return document.Staged{}, err
	}
	s, err := t.Disk.Stage(ctx, c, next)
	if err != nil {
		return s, err
	}
	swap := s.Swap
	s.Swap = func(ctx context.Context) error {
		t.mu.Lock()
		t.swaps++
		t.note("swap " + c.Path().Rel())
		err := t.failSwap[t.swaps]
		t.mu.Unlock()
		if err != nil {
			return err
		}
		return swap(ctx)
	}
	return s, nil
}

// journal notes what is begun and ended, in the target's log.
type journal struct {
	t     *target
	err   error
	ended error
}

func (j journal) Begin(by string, inverse edits.Plan) (history.ID, error) {
	j.t.note(fmt.Sprintf("begin %s %d", by, len(inverse.Changes)))
	return "h1", j.err
}

func (j journal) End(id history.ID, applied bool) error {
	j.t.note(fmt.Sprintf("end %s %v", id, applied))
	return j.ended
}

// servers keeps what it was told.
type servers struct {
	mu    sync.Mutex
	list  []lsp.Changed
	calls int
}

func (s *servers) Changed(list []lsp.Changed) lsp.Mark {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, list...)
	s.calls++
	return lsp.Mark{}
}

type world struct {
	t      *testing.T
	root   document.Root
	target *target
	told   *servers
	w      *Workspace
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	x := &world{t: t, root: root, target: &target{Disk: disk.New(disk.Options{})}, told: &servers{}}
	t.Cleanup(func() { x.target.Close() })
	for name, text := range files {
		x.write(name, text)
	}
	x.w = New(Options{Target: x.target, Servers: x.told, Journal: journal{t: x.target}})
	return x
}

func (x *world) write(name, text string) {
	x.t.Helper()
	if err := os.MkdirAll(filepath.Dir(filepath.Join(x.root.Dir(), name)), 0o755); err != nil {
		x.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(x.root.Dir(), name), []byte(text), 0o644); err != nil {
		x.t.Fatal(err)
	}
}

func (x *world) read(name string) string {
	b, err := os.ReadFile(filepath.Join(x.root.Dir(), name))
	if err != nil {
		return "none"
	}
	return string(b)
}

func (x *world) path(name string) document.Path {
	x.t.Helper()
	p, err := x.root.Resolve(name)
	if err != nil {
		x.t.Fatal(err)
	}
	return p
}

// plan replaces the whole text of each file, or creates it.
func (x *world) plan(text string, names ...string) edits.Plan {
	x.t.Helper()
	var p edits.Plan
	for _, n := range names {
		s, err := x.w.Snapshot(x.t.Context(), x.path(n))
		if err != nil {
			x.t.Fatal(err)
		}
		c := edits.Change{From: s.Path, To: s.Path, Base: s.Revision, Edits: []edits.Edit{{End: len(s.Text), New: text}}}
		if !s.Exists() {
			c.From = document.Path{}
		}
		p.Changes = append(p.Changes, c)
	}
	return p
}

var five = []string{"e", "a", "d", "b", "c"}

func fiveFiles() map[string]string {
	return map[string]string{"a": "1", "b": "1", "d": "1", "e": "1"} // c is created
}

func TestApplyOrder(t *testing.T) {
	x := newWorld(t, fiveFiles())
	applied, err := x.w.Apply(t.Context(), "S", x.plan("2", five...))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"begin S 5", "stage a", "stage b", "stage c", "stage d", "stage e", "swap a", "swap b", "swap c", "swap d", "swap e", "end h1 true"}
	if !slices.Equal(x.target.log, want) {
		t.Errorf("%v", x.target.log)
	}
	if applied.Entry != "h1" || len(x.told.list) != 5 || x.told.list[0].Before.Text != "1" || x.told.list[0].After.Text != "2" || x.told.list[0].After.Origin.Session != "S" {
		t.Errorf("%+v %+v", applied.Entry, x.told.list)
	}
}

// TestAllOrNothing fails each stage and each swap of a plan over five files.
func TestAllOrNothing(t *testing.T) {
	cause := errors.New("made up")
	for k := 1; k <= 10; k++ {
		x := newWorld(t, fiveFiles())
		if k <= 5 {
			x.target.failStage = map[int]error{k: cause}
		} else {
			x.target.failSwap = map[int]error{k - 5: cause}
		}
		_, err := x.w.Apply(t.Context(), "S", x.plan("2", five...))
		if !errors.Is(err, cause) {
			t.Errorf("%d: %v", k, err)
		}
		for name, want := range map[string]string{"a": "1", "b": "1", "c": "none", "d": "1", "e": "1"} {
			if got := x.read(name); got != want {
				t.Errorf("%d: %s holds %q, want %q", k, name, got, want)
			}
		}
		if log := x.target.log; log[len(log)-1] != "end h1 false" {
			t.Errorf("%d: %v", k, log)
		}
		if len(x.told.list) != 0 {
			t.Errorf("%d: servers were told of what did not happen", k)
		}
		left, _ := filepath.Glob(filepath.Join(x.root.Dir(), disk.TempPrefix+"*"))
		if len(left) > 0 {
			t.Errorf("%d: left behind %v", k, left)
		}
	}
}

// TestPartial holds that what can't be undone is named, never silent.
func TestPartial(t *testing.T) {
	x := newWorld(t, fiveFiles())
	cause := errors.New("made up")
	x.target.failSwap = map[int]error{4: cause, 6: cause} // c, b, a are taken back in this order; b fails
	_, err := x.w.Apply(t.Context(), "S", x.plan("2", five...))
	var p *PartialError
	if !errors.As(err, &p) || !errors.Is(err, cause) {
		t.Fatalf("%v", err)
	}
	if len(p.Stuck) != 1 || p.Stuck[0].Rel() != "b" || len(p.Undone) != 2 {
		t.Errorf("%+v", p)
	}
	if x.read("a") != "1" || x.read("b") != "2" || x.read("c") != "none" || x.read("d") != "1" {
		t.Errorf("a %s b %s c %s d %s", x.read("a"), x.read("b"), x.read("c"), x.read("d"))
	}
}

func TestJournalFails(t *testing.T) {
	x := newWorld(t, fiveFiles())
	cause := errors.New("disk full")
	x.w = New(Options{Target: x.target, Journal: journal{t: x.target, err: cause}})
	if _, err := x.w.Apply(t.Context(), "S", x.plan("2", "a")); !errors.Is(err, cause) {
		t.Errorf("%v", err)
	}
	if x.read("a") != "1" || x.target.stages != 0 {
		t.Error("a byte was written without the journal")
	}
}

func TestConflict(t *testing.T) {
	x := newWorld(t, fiveFiles())
	p := x.plan("2", "a")
	x.write("a", "somebody's")
	if _, err := x.w.Apply(t.Context(), "S", p); !errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	if x.read("a") != "somebody's" || x.target.stages != 0 {
		t.Errorf("%q, %d staged", x.read("a"), x.target.stages)
	}
	if len(x.told.list) != 1 || x.told.list[0].After.Origin.Kind != document.OriginDisk {
		t.Errorf("the servers were not told of the outside change: %+v", x.told.list)
	}
}

// TestLanes runs plans over the same files in opposite order: none waits for
// ever, none is lost.
func TestLanes(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "", "b": "", "c": ""})
	var wg sync.WaitGroup
	for i := range 20 {
		names := []string{"a", "b", "c"}
		if i%2 == 1 {
			slices.Reverse(names)
		}
		wg.Go(func() {
			var paths []document.Path
			for _, n := range names {
				paths = append(paths, x.path(n))
			}
			held, err := x.w.Hold(t.Context(), paths)
			if err != nil {
				t.Error(err)
				return
			}
			defer held.Release()
			var p edits.Plan
			for _, q := range paths {
				s, err := held.Snapshot(t.Context(), q)
				if err != nil {
					t.Error(err)
					return
				}
				p.Changes = append(p.Changes, edits.Change{From: q, To: q, Base: s.Revision, Edits: []edits.Edit{{Start: len(s.Text), End: len(s.Text), New: "x"}}})
			}
			if _, err := held.Apply(t.Context(), "S", p); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	for _, n := range []string{"a", "b", "c"} {
		if len(x.read(n)) != 20 {
			t.Errorf("%s has %d of 20", n, len(x.read(n)))
		}
	}
	if len(x.w.lanes.m) != 0 {
		t.Errorf("%d lanes were left", len(x.w.lanes.m))
	}
}

func TestLaneIsCancelled(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "", "b": ""})
	held, err := x.w.Hold(t.Context(), []document.Path{x.path("b")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := x.w.Hold(ctx, []document.Path{x.path("a"), x.path("b")}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if _, err := x.w.Snapshot(t.Context(), x.path("a")); err != nil { // the lane of a was given back
		t.Error(err)
	}
	held.Release()
	if len(x.w.lanes.m) != 0 {
		t.Errorf("%d lanes were left", len(x.w.lanes.m))
	}
}

func TestOwnSince(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1"})
	p := x.path("a")
	first, err := x.w.Snapshot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	apply := func(by, text string) {
		t.Helper()
		if _, err := x.w.Apply(t.Context(), by, x.plan(text, "a")); err != nil {
			t.Fatal(err)
		}
	}
	apply("A", "2")
	apply("B", "3")
	steps, own := x.w.OwnSince(p, first.Revision)
	if !own || len(steps) != 2 || steps[0].Session != "A" || steps[1].Session != "B" {
		t.Errorf("%v %v", steps, own)
	}
	x.write("a", "4")
	if _, err := x.w.Snapshot(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	if _, own := x.w.OwnSince(p, first.Revision); own {
		t.Error("an outside change is called our own")
	}
	apply("A", "5")
	if steps, own := x.w.OwnSince(p, document.RevisionOf([]byte("4"))); !own || len(steps) != 1 {
		t.Errorf("%v %v", steps, own)
	}
	if _, own := x.w.OwnSince(p, first.Revision); own {
		t.Error("a chain over an outside change is called our own")
	}
}

func TestScan(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1", "b": "1", "c": "1"})
	roots := document.Roots{x.root}
	scan := func() {
		t.Helper()
		if whole, err := x.w.Scan(t.Context(), roots); err != nil || !whole {
			t.Fatalf("%v %v", whole, err)
		}
	}
	if _, err := x.w.Snapshot(t.Context(), x.path("a")); err != nil {
		t.Fatal(err)
	}
	scan()
	if len(x.told.list) != 0 {
		t.Errorf("the first scan told %v", x.told.list)
	}
	x.write("a", "22")
	x.write("new", "n")
	if err := os.Remove(filepath.Join(x.root.Dir(), "b")); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(x.root.Dir(), ".git"), 0o755); err != nil {
		t.Fatal(err)
	}
	x.write(".git/HEAD", "x")
	scan()
	got := map[string]string{}
	for _, c := range x.told.list {
		name := c.After.Path.Rel()
		if c.Other != "" {
			name = filepath.Base(c.Other)
		}
		got[name] = fmt.Sprint(c.Before.Exists(), c.After.Exists())
	}
	delete(got, "c") // as young as it was when it was listed, it may have changed since
	if len(got) != 3 || got["a"] != "true true" || got["b"] != "true false" || got["new"] != "false true" {
		t.Errorf("%v", got)
	}
	x.told.list = nil
	scan()
	if _, err := x.w.Apply(t.Context(), "S", x.plan("own", "c")); err != nil {
		t.Fatal(err)
	}
	n := x.toldOf("c")
	scan()
	if x.toldOf("c") != n {
		t.Errorf("our own change was found as another's: %+v", x.told.list)
	}
}

// What is remembered of documents is bounded: texts by their bytes, all else
// by number.
func TestBounds(t *testing.T) {
	x := newWorld(t, nil)
	half := strings.Repeat("x", keepText/4+1) // counted twice: bytes and text
	for i := range 4 {
		s := document.NewSnapshot(x.path(fmt.Sprint(i)), []byte(half), "", document.Origin{})
		x.w.mu.Lock()
		x.w.publish(s)
		x.w.mu.Unlock()
	}
	if x.w.text > keepText || x.w.texts.Len() != 1 || x.w.known[x.path("3")].snap.Text == "" || x.w.known[x.path("0")].snap.Text != "" {
		t.Errorf("%d bytes in %d texts", x.w.text, x.w.texts.Len())
	}
	for i := range maxKnown + 10 {
		x.w.mu.Lock()
		x.w.publish(document.Snapshot{Path: x.path(fmt.Sprint("n", i))})
		x.w.mu.Unlock()
	}
	if len(x.w.known) != maxKnown || x.w.order.Len() != maxKnown || x.w.text != 0 || x.w.texts.Len() != 0 {
		t.Errorf("%d known, %d in order, %d bytes in %d texts", len(x.w.known), x.w.order.Len(), x.w.text, x.w.texts.Len())
	}
}
