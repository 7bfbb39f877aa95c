package lsp

import (
	"slices"
	"strings"
)

// lineMap moves line numbers (from 1) through the edits of one document. The
// zero lineMap is that of a document that was not edited.
type lineMap struct{ spans []lineSpan }

// lineSpan says that the old lines [from, to) became the new lines
// [newFrom, newTo).
type lineSpan struct{ from, to, newFrom, newTo int }

func newLineMap(c Changed) lineMap {
	list := c.Edits
	if list == nil {
		list = oneEdit(c.Before.Text, c.After.Text)
	}
	var m lineMap
	line, at, delta := 1, 0, 0
	for _, e := range list {
		if e.Start < at || e.End > len(c.Before.Text) || e.End < e.Start {
			return newLineMap(Changed{Before: c.Before, After: c.After})
		}
		line += strings.Count(c.Before.Text[at:e.Start], "\n")
		old := c.Before.Text[e.Start:e.End]
		removed, inserted := strings.Count(old, "\n"), strings.Count(e.New, "\n")
		lineStart := e.Start == 0 || c.Before.Text[e.Start-1] == '\n'
		span := lineSpan{line, line + removed + 1, line + delta, line + delta + inserted + 1}
		if lineStart && strings.HasSuffix(old, "\n") == (old != "") && strings.HasSuffix(e.New, "\n") == (e.New != "") {
			// Whole lines: the line after them is untouched.
			span.to--
			span.newTo--
		}
		delta += inserted - removed
		line, at = line+removed, e.End
		if n := len(m.spans); n > 0 && m.spans[n-1].to > span.from {
			m.spans[n-1].to, m.spans[n-1].newTo = span.to, span.newTo
		} else {
			m.spans = append(m.spans, span)
		}
	}
	return m
}

// forward returns where an old line is now; false when it was edited.
func (m lineMap) forward(line int) (int, bool) {
	i, _ := slices.BinarySearchFunc(m.spans, line, func(s lineSpan, line int) int {
		if s.to <= line {
			return -1
		}
		return 1
	})
	if i < len(m.spans) && m.spans[i].from <= line {
		return 0, false
	}
	if i == 0 {
		return line, true
	}
	return line - m.spans[i-1].to + m.spans[i-1].newTo, true
}

// touches reports whether the edits made or changed the new line.
func (m lineMap) touches(line int) bool {
	for _, s := range m.spans {
		if s.newFrom <= line && line < s.newTo {
			return true
		}
	}
	return false
}
