// Package readstate is what one agent has seen, and whether that is still
// true. It has no effects and is not safe for concurrent use: its session
// guards it.
package readstate

import (
	"container/list"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"

	"coedit/document"
)

// MaxText is how many bytes of text a Ledger keeps in memory in order to say
// what changed. A baseline whose text was let go is still exact: it can tell
// that a document changed, but not what.
const MaxText = 32 << 20

// MaxSpans bounds the spans of one ledger (security rule R5); past it the
// oldest baselines are dropped, which asks for a new Read and nothing worse.
const MaxSpans = 50_000

// ErrUnread says that the agent has no baseline of a document.
var ErrUnread = errors.New("file has not been read yet")

// ErrStale says that a document is not as the agent saw it last.
var ErrStale = errors.New("file has been modified since read")

// A StaleError is ErrStale with what the agent had seen.
type StaleError struct {
	Path     document.Path
	Baseline Baseline
	Now      document.Snapshot
}

func (e *StaleError) Error() string {
	if !e.Now.Exists() {
		return fmt.Sprintf("%s no longer exists", e.Path)
	}
	return fmt.Sprintf("%s: %v", e.Path, ErrStale)
}

// Is reports that every StaleError is ErrStale.
func (e *StaleError) Is(target error) bool { return target == ErrStale }

// A Span is the lines First to Last, counted from 1, both included.
type Span struct{ First, Last int }

// A Baseline is what an agent has seen of one document.
type Baseline struct {
	Revision document.Revision
	Spans    []Span // sorted, disjoint, not adjacent; lines shown in full
	Whole    bool   // every line has been shown
	Text     string // of Revision; "" with HasText false when it was let go
	HasText  bool
}

// Seen reports whether line n was shown.
func (b Baseline) Seen(n int) bool {
	if b.Whole {
		return true
	}
	i, found := slices.BinarySearchFunc(b.Spans, n, func(s Span, n int) int { return s.First - n })
	return found || i > 0 && b.Spans[i-1].Last >= n
}

// Unseen returns the lines from 1 to total that were not shown.
func (b Baseline) Unseen(total int) []Span {
	if b.Whole {
		return nil
	}
	var out []Span
	next := 1
	for _, s := range b.Spans {
		if s.First > next {
			out = append(out, Span{next, min(s.First-1, total)})
		}
		next = s.Last + 1
	}
	if next <= total {
		out = append(out, Span{next, total})
	}
	return out
}

// A Ledger holds an agent's baselines. The zero value is ready.
type Ledger struct {
	seen  map[document.Path]*seen
	order list.List // of *seen, the last used first
	text  int
	spans int
}

type seen struct {
	path document.Path
	Baseline
	at *list.Element
}

// Record notes that the agent has been shown lines of s. Spans of the same
// revision add up; those of another one are forgotten. A document that does
// not exist is recorded too: the agent knows that it is gone.
func (l *Ledger) Record(s document.Snapshot, shown ...Span) {
	e := l.entry(s.Path)
	if e.Revision != s.Revision || e.HasText && (s.Problem != nil || e.Text != s.Text) {
		l.drop(e) // another text, be it that the same bytes are decoded otherwise now
		e.Baseline = Baseline{Revision: s.Revision}
	}
	if !e.HasText && s.Problem == nil {
		e.Text, e.HasText = s.Text, true
		l.text += len(s.Text)
	}
	l.spans -= len(e.Spans)
	if s.Problem == nil { // else what was shown is not its text
		e.Spans = Union(e.Spans, shown)
	}
	total := document.Lines(s.Text).Count()
	e.Whole = s.Problem == nil && (e.Whole || total == 0 || len(e.Spans) == 1 && e.Spans[0].First <= 1 && e.Spans[0].Last >= total)
	if e.Whole {
		e.Spans = nil
	}
	l.spans += len(e.Spans)
	l.shrink(e)
}

// RecordWhole notes that the agent knows all of s, as it does of what it
// wrote itself.
func (l *Ledger) RecordWhole(s document.Snapshot) {
	l.Record(s, Span{1, max(1, document.Lines(s.Text).Count())})
	l.seen[s.Path].Whole = true
}

// Check says whether the agent has seen s as it is: nil, ErrUnread or a
// *StaleError.
func (l *Ledger) Check(s document.Snapshot) error {
	e, ok := l.seen[s.Path]
	if !ok {
		return ErrUnread
	}
	if e.Revision != s.Revision {
		return &StaleError{Path: s.Path, Baseline: e.Baseline, Now: s}
	}
	return nil
}

// Baseline returns what the agent has seen of the document at p.
func (l *Ledger) Baseline(p document.Path) (Baseline, bool) {
	e, ok := l.seen[p]
	if !ok {
		return Baseline{}, false
	}
	return e.Baseline, true
}

// All gives every document with the revision that was seen last, in the order
// of their paths.
func (l *Ledger) All() iter.Seq2[document.Path, document.Revision] {
	paths := slices.SortedFunc(maps.Keys(l.seen), document.Path.Compare)
	return func(yield func(document.Path, document.Revision) bool) {
		for _, p := range paths {
			if e, ok := l.seen[p]; ok && !yield(p, e.Revision) {
				return
			}
		}
	}
}

// Restore puts back a baseline that was kept over a restart, without text.
func (l *Ledger) Restore(p document.Path, b Baseline) {
	e := l.entry(p)
	l.drop(e)
	b.Text, b.HasText = "", false
	b.Spans = Union(nil, b.Spans)
	e.Baseline = b
	l.spans += len(b.Spans)
	l.shrink(e)
}

// Forget removes the baseline of p.
func (l *Ledger) Forget(p document.Path) {
	if e, ok := l.seen[p]; ok {
		l.drop(e)
		l.order.Remove(e.at)
		delete(l.seen, p)
	}
}

func (l *Ledger) entry(p document.Path) *seen {
	if l.seen == nil {
		l.seen = map[document.Path]*seen{}
	}
	e := l.seen[p]
	if e == nil {
		e = &seen{path: p}
		e.at = l.order.PushFront(e)
		l.seen[p] = e
	}
	l.order.MoveToFront(e.at)
	return e
}

// drop takes what e holds out of the counts.
func (l *Ledger) drop(e *seen) {
	l.text -= len(e.Text)
	l.spans -= len(e.Spans)
	e.Text, e.HasText, e.Spans = "", false, nil
}

// shrink lets texts go, the longest unused first, then whole baselines; never
// those of keep.
func (l *Ledger) shrink(keep *seen) {
	for at := l.order.Back(); at != nil && l.text > MaxText; at = at.Prev() {
		if e := at.Value.(*seen); e != keep && e.HasText {
			l.text -= len(e.Text)
			e.Text, e.HasText = "", false
		}
	}
	for at := l.order.Back(); at != nil && l.spans > MaxSpans; {
		e := at.Value.(*seen)
		at = at.Prev()
		if e != keep && len(e.Spans) > 0 {
			l.Forget(e.path)
		}
	}
}

// Union merges two lists of spans into a sorted one without overlaps.
func Union(a, b []Span) []Span {
	all := slices.Concat(a, b)
	slices.SortFunc(all, func(x, y Span) int { return x.First - y.First })
	out := all[:0]
	for _, s := range all {
		if s.Last < s.First {
			continue
		}
		if n := len(out); n > 0 && s.First <= out[n-1].Last+1 {
			out[n-1].Last = max(out[n-1].Last, s.Last)
			continue
		}
		out = append(out, s)
	}
	return slices.Clip(out)
}

// Moved carries spans over a change of the text: line says where an old line
// stands now (false where the change touched it), added are the new lines
// that the agent knows.
func Moved(spans []Span, line func(int) (int, bool), added []Span) []Span {
	var out []Span
	for _, s := range spans {
		for n := s.First; n <= s.Last; n++ {
			m, ok := line(n)
			if !ok {
				continue
			}
			if k := len(out); k > 0 && out[k-1].Last+1 == m {
				out[k-1].Last = m
				continue
			}
			out = append(out, Span{m, m})
		}
	}
	return Union(out, added)
}
