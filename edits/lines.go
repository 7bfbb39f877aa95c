package edits

import (
	"sort"
	"strings"

	"coedit/document"
)

// A LineRange is the lines First to Last, from 1, both included. A place
// between two lines has Last one less than First.
type LineRange struct{ First, Last int }

// Lines returns the lines of src that each edit touches. Whole lines put in
// between two lines touch neither.
func Lines(src string, list []Edit) []LineRange {
	if len(list) == 0 {
		return nil
	}
	return linesOf(document.Lines(src), src, list)
}

func linesOf(x document.LineIndex, src string, list []Edit) []LineRange {
	out := make([]LineRange, len(list))
	for i, e := range list {
		r := LineRange{First: x.At(e.Start)}
		atStart := e.End == 0 || src[e.End-1] == '\n'
		r.Last = r.First
		if e.End > e.Start {
			r.Last = x.At(e.End - 1)
		} else if atStart {
			r.Last = r.First - 1
		}
		// what follows the edit is joined to another line, unless what is
		// before it then ends a line
		ended := e.Start == 0 || src[e.Start-1] == '\n'
		if e.New != "" {
			ended = e.New[len(e.New)-1] == '\n'
		}
		if atStart && !ended {
			r.Last = max(r.Last, r.First)
			if e.End < len(src) {
				r.Last = x.At(e.End)
			}
		}
		out[i] = r
	}
	return out
}

// Disjoint reports whether no line of src is touched by both lists, which are
// both edits of src. Adjacent lines are disjoint; two insertions at the same
// place are not, since their order would decide.
func Disjoint(src string, list, onto []Edit) bool {
	if len(list) == 0 || len(onto) == 0 {
		return true
	}
	x := document.Lines(src)
	a, b := linesOf(x, src, list), linesOf(x, src, onto)
	for i, j := 0, 0; i < len(a) && j < len(b); {
		p, q := a[i], b[j]
		pi, qi := p.Last < p.First, q.Last < q.First
		switch {
		case pi && qi && p.First == q.First:
			return false
		case pi && !qi && q.First < p.First && p.First <= q.Last, qi && !pi && p.First < q.First && q.First <= p.Last:
			return false
		case !pi && !qi && p.First <= q.Last && q.First <= p.Last:
			return false
		}
		if p.Last < q.Last || p.Last == q.Last && p.First <= q.First {
			i++
		} else {
			j++
		}
	}
	return true
}

// A LineMap says where the lines of a text stand after edits.
type LineMap struct{ blocks []block }

// A block is lines that edits touch, before and after.
type block struct {
	old, new LineRange
}

// NewLineMap makes the LineMap of list, edits of src.
func NewLineMap(src string, list []Edit) LineMap {
	if len(list) == 0 {
		return LineMap{}
	}
	return newLineMap(document.Lines(src), src, list)
}

// MapLine returns where a line of src stands after list; ok is false when the
// edits touch it. For many lines a LineMap is faster.
func MapLine(src string, list []Edit, line int) (after int, ok bool) {
	return NewLineMap(src, list).Line(line)
}

func newLineMap(x document.LineIndex, src string, list []Edit) LineMap {
	var m LineMap
	shift := 0
	for i, r := range linesOf(x, src, list) {
		e := list[i]
		delta := strings.Count(e.New, "\n") - strings.Count(src[e.Start:e.End], "\n")
		n := LineRange{r.First + shift, r.Last + shift + delta}
		shift += delta
		if k := len(m.blocks) - 1; k >= 0 && m.blocks[k].old.Last >= r.First {
			m.blocks[k].old.Last = max(m.blocks[k].old.Last, r.Last)
			m.blocks[k].new.Last = m.blocks[k].old.Last + shift
			continue
		}
		m.blocks = append(m.blocks, block{r, n})
	}
	return m
}

// Line returns where line n of the old text stands now; ok is false when the
// edits touch it.
func (m LineMap) Line(n int) (line int, ok bool) {
	i := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].old.Last >= n || m.blocks[i].old.First > n })
	if i < len(m.blocks) && m.blocks[i].old.First <= n && n <= m.blocks[i].old.Last {
		return 0, false
	}
	if i == 0 {
		return n, true
	}
	b := m.blocks[i-1]
	return n + b.new.Last - b.old.Last, true
}

// Old returns where line n of the new text stood; ok is false when the edits
// wrote it.
func (m LineMap) Old(n int) (line int, ok bool) {
	i := sort.Search(len(m.blocks), func(i int) bool { return m.blocks[i].new.Last >= n || m.blocks[i].new.First > n })
	if i < len(m.blocks) && m.blocks[i].new.First <= n && n <= m.blocks[i].new.Last {
		return 0, false
	}
	if i == 0 {
		return n, true
	}
	b := m.blocks[i-1]
	return n - b.new.Last + b.old.Last, true
}
