package readstate

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"coedit/document"
)

func snap(t *testing.T, root document.Root, name, text string) document.Snapshot {
	t.Helper()
	p, err := root.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return document.NewSnapshot(p, []byte(text), "", document.Origin{})
}

func newRoot(t *testing.T) document.Root {
	t.Helper()
	r, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCheck(t *testing.T) {
	root := newRoot(t)
	var l Ledger
	one := snap(t, root, "a", "1\n2\n3\n")
	if err := l.Check(one); !errors.Is(err, ErrUnread) {
		t.Errorf("unread: %v", err)
	}
	l.Record(one, Span{1, 2})
	if err := l.Check(snap(t, root, "a", "1\n2\n3\n")); err != nil {
		t.Errorf("equal content: %v", err)
	}
	two := snap(t, root, "a", "1\n2\n4\n") // the same size
	err := l.Check(two)
	var stale *StaleError
	if !errors.As(err, &stale) || !errors.Is(err, ErrStale) || stale.Baseline.Text != one.Text || stale.Baseline.Whole {
		t.Errorf("changed: %v", err)
	}
	gone := document.Snapshot{Path: one.Path}
	if err := l.Check(gone); !errors.Is(err, ErrStale) || !strings.Contains(err.Error(), "no longer exists") {
		t.Errorf("gone: %v", err)
	}
	l.Record(gone)
	if err := l.Check(gone); err != nil {
		t.Errorf("known to be gone: %v", err)
	}
}

func TestSpans(t *testing.T) {
	root := newRoot(t)
	var l Ledger
	s := snap(t, root, "a", "1\n2\n3\n4\n5\n")
	l.Record(s, Span{1, 1}, Span{3, 3})
	b, _ := l.Baseline(s.Path)
	if b.Whole || b.Seen(2) || !b.Seen(3) || b.Seen(5) {
		t.Errorf("%+v", b)
	}
	if got := b.Unseen(5); !reflect.DeepEqual(got, []Span{{2, 2}, {4, 5}}) {
		t.Errorf("unseen %v", got)
	}
	l.Record(s, Span{4, 5})
	l.Record(s, Span{2, 2})
	if b, _ := l.Baseline(s.Path); !b.Whole || !b.Seen(2) || b.Unseen(5) != nil {
		t.Errorf("spans do not add up: %+v", b)
	}
	l.Record(snap(t, root, "a", "x\n2\n3\n4\n5\n"), Span{1, 1})
	if b, _ := l.Baseline(s.Path); b.Whole || b.Seen(2) || !b.Seen(1) {
		t.Errorf("spans of another revision: %+v", b)
	}
	empty := snap(t, root, "e", "")
	l.Record(empty)
	if b, _ := l.Baseline(empty.Path); !b.Whole {
		t.Error("an empty file is not seen whole")
	}
}

func TestUnion(t *testing.T) {
	for _, c := range []struct{ a, b, want []Span }{
		{[]Span{{1, 2}}, []Span{{3, 4}}, []Span{{1, 4}}},
		{[]Span{{1, 2}, {8, 9}}, []Span{{4, 5}}, []Span{{1, 2}, {4, 5}, {8, 9}}},
		{[]Span{{1, 9}}, []Span{{2, 3}, {5, 4}}, []Span{{1, 9}}},
		{nil, []Span{{5, 6}, {1, 1}}, []Span{{1, 1}, {5, 6}}},
	} {
		if got := Union(c.a, c.b); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%v and %v: %v, want %v", c.a, c.b, got, c.want)
		}
	}
}

func TestMoved(t *testing.T) {
	// line 2 became lines 2 and 3, what follows moved by one
	line := func(n int) (int, bool) {
		switch {
		case n < 2:
			return n, true
		case n == 2:
			return 0, false
		}
		return n + 1, true
	}
	got := Moved([]Span{{1, 3}, {6, 6}}, line, []Span{{2, 3}})
	if want := []Span{{1, 4}, {7, 7}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	got = Moved([]Span{{1, 3}}, line, nil)
	if want := []Span{{1, 1}, {4, 4}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// TestTextIsLetGo holds that a baseline whose text is gone is still exact.
func TestTextIsLetGo(t *testing.T) {
	root := newRoot(t)
	var l Ledger
	big := strings.Repeat("x", MaxText/2+1)
	first := snap(t, root, "first", big+"1")
	l.RecordWhole(first)
	second := snap(t, root, "second", big+"2")
	l.RecordWhole(second)
	b, ok := l.Baseline(first.Path)
	if !ok || b.HasText || b.Text != "" || !b.Whole {
		t.Errorf("HasText %v, Whole %v", b.HasText, b.Whole)
	}
	if b, _ := l.Baseline(second.Path); !b.HasText {
		t.Error("the text just recorded is gone")
	}
	if err := l.Check(first); err != nil {
		t.Errorf("%v", err)
	}
	if err := l.Check(snap(t, root, "first", "other")); !errors.Is(err, ErrStale) {
		t.Errorf("%v", err)
	}
}

func TestSpansAreBounded(t *testing.T) {
	root := newRoot(t)
	var l Ledger
	var spans []Span
	for i := range MaxSpans / 2 {
		spans = append(spans, Span{3*i + 1, 3*i + 1})
	}
	text := strings.Repeat("\n", 3*MaxSpans)
	for i := range 4 {
		l.Record(snap(t, root, fmt.Sprint("f", i), text), spans...)
	}
	n := 0
	for range l.All() {
		n++
	}
	if n != 2 || l.spans > MaxSpans {
		t.Errorf("%d baselines, %d spans", n, l.spans)
	}
	if _, ok := l.Baseline(snap(t, root, "f3", "").Path); !ok {
		t.Error("the newest was dropped")
	}
}

func TestRestore(t *testing.T) {
	root := newRoot(t)
	var l Ledger
	s := snap(t, root, "a", "1\n2\n")
	l.Restore(s.Path, Baseline{Revision: s.Revision, Spans: []Span{{2, 2}}, Text: "lies", HasText: true})
	b, _ := l.Baseline(s.Path)
	if b.HasText || b.Text != "" || !b.Seen(2) || b.Seen(1) {
		t.Errorf("%+v", b)
	}
	if err := l.Check(s); err != nil {
		t.Error(err)
	}
	l.Record(s)
	if b, _ := l.Baseline(s.Path); !b.HasText || b.Text != s.Text || !b.Seen(2) {
		t.Errorf("the text did not come back: %+v", b)
	}
	l.Forget(s.Path)
	if err := l.Check(s); !errors.Is(err, ErrUnread) {
		t.Error(err)
	}
}
