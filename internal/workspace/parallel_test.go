package workspace

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"coedit/document"
	"coedit/edits"
)

// TestParallelApply lets twenty writers change one file, each from what it saw
// without holding it: all get through in the end, and the language servers
// are told of one chain of texts, in order.
func TestParallelApply(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "0"})
	x.w = New(Options{Target: x.target, Servers: x.told}) // the journal of the tests is for one at a time
	p := x.path("a")
	first, err := x.w.Snapshot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for i := range 20 {
		by := fmt.Sprint("S", i)
		wg.Go(func() {
			for range 1000 {
				s, err := x.w.Snapshot(t.Context(), p)
				if err != nil {
					t.Error(err)
					return
				}
				plan := edits.Plan{Changes: []edits.Change{{From: p, To: p, Base: s.Revision, Edits: []edits.Edit{{Start: len(s.Text), End: len(s.Text), New: " " + by}}}}}
				_, err = x.w.Apply(t.Context(), by, plan)
				if err == nil {
					return
				}
				if !errors.Is(err, ErrConflict) {
					t.Error(err)
					return
				}
			}
			t.Errorf("%s never got through", by)
		})
	}
	wg.Wait()
	if n := len(strings.Fields(x.read("a"))); n != 21 {
		t.Errorf("%d of 21 words: %s", n, x.read("a"))
	}
	at := first.Revision
	for i, c := range x.told.list {
		if c.Before.Revision != at {
			t.Errorf("notice %d is not after the one before it", i)
		}
		at = c.After.Revision
	}
	if len(x.told.list) != 20 || at != document.RevisionOf([]byte(x.read("a"))) {
		t.Errorf("%d notices, the last of which is %s", len(x.told.list), at)
	}
	steps, own := x.w.OwnSince(p, first.Revision)
	if !own || len(steps) != 20 {
		t.Errorf("%d own steps, %v", len(steps), own)
	}
}

// TestOppositeOrder has two callers hold the same two files, named in opposite
// order, time and again.
func TestOppositeOrder(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "", "b": ""})
	a, b := x.path("a"), x.path("b")
	var wg sync.WaitGroup
	for _, paths := range [][]document.Path{{a, b}, {b, a}} {
		wg.Go(func() {
			for range 2000 {
				h, err := x.w.Hold(t.Context(), paths)
				if err != nil {
					t.Error(err)
					return
				}
				h.Release()
			}
		})
	}
	wg.Wait() // a deadlock ends in the runtime's report
}

// TestJournalCannotEnd holds that a change whose entry can't be closed is told
// of as made: to the caller, to the servers and to who asks for its steps.
func TestJournalCannotEnd(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1"})
	cause := errors.New("made up")
	x.w = New(Options{Target: x.target, Servers: x.told, Journal: journal{t: x.target, ended: cause}})
	applied, err := x.w.Apply(t.Context(), "S", x.plan("2", "a"))
	if !errors.Is(err, cause) || len(applied.After) != 1 || applied.After[0].Text != "2" {
		t.Errorf("%v %+v", err, applied)
	}
	if x.read("a") != "2" || len(x.told.list) != 1 {
		t.Errorf("a holds %s, the servers were told %d times", x.read("a"), len(x.told.list))
	}
	if _, own := x.w.OwnSince(x.path("a"), document.RevisionOf([]byte("1"))); !own {
		t.Error("our own change is not known")
	}
}

// TestDeletedLast holds that a file is deleted when nothing else can fail.
func TestDeletedLast(t *testing.T) {
	x := newWorld(t, fiveFiles())
	p := x.plan("2", "a", "b", "d")
	p.Changes[0].To, p.Changes[0].Edits = document.Path{}, nil
	if _, err := x.w.Apply(t.Context(), "S", p); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(x.target.log, ","); !strings.Contains(got, "swap b,swap d,swap a") {
		t.Error(got)
	}
	if x.read("a") != "none" || len(x.told.list) != 3 || x.told.list[0].After.Exists() {
		t.Errorf("a holds %s; %+v", x.read("a"), x.told.list)
	}
}
