package edits

import (
	"fmt"
	"strings"

	"coedit/document"
)

// A Hunk is changed lines with context, for reading. Lines begin with ' ', '-'
// or '+' and have no \n; a trailing \r stays. A line without line end at the
// end of a file is followed by `\ No newline at end of file`.
type Hunk struct {
	OldStart, OldLines int
	NewStart, NewLines int
	Lines              []string
}

const noNewline = `\ No newline at end of file`

// Hunks shows what list, edits of src, changes, with context lines around.
// Edits inside a line are widened to whole lines; lines that stay equal are
// context.
func Hunks(src string, list []Edit, context int) []Hunk {
	changes := wholeLines(src, list)
	if len(changes) == 0 {
		return nil
	}
	x := document.Lines(src)
	var out []Hunk
	shift := 0
	for i := 0; i < len(changes); {
		j := i + 1 // changes [i, j) share a hunk
		for j < len(changes) && changes[j].first-changes[j-1].next <= 2*context {
			j++
		}
		start := max(1, changes[i].first-context)
		h := Hunk{OldStart: start, NewStart: start + shift}
		at := start
		for _, c := range changes[i:j] {
			h.context(x, at, c.first)
			for n := c.first; n < c.next; n++ {
				h.add('-', x.Line(n))
			}
			for _, l := range c.lines {
				h.add('+', l)
			}
			at = c.next
			shift += len(c.lines) - (c.next - c.first)
		}
		h.context(x, at, min(at+context, x.Count()+1))
		if h.OldLines == 0 { // as in unified diffs: the line before
			h.OldStart--
		}
		if h.NewLines == 0 {
			h.NewStart--
		}
		out = append(out, h)
		i = j
	}
	return out
}

// A lineChange replaces lines [first, next) by lines.
type lineChange struct {
	first, next int
	lines       []string
}

// wholeLines widens edits to lines and leaves out those that stay equal.
func wholeLines(src string, list []Edit) []lineChange {
	if len(list) == 0 {
		return nil
	}
	x := document.Lines(src)
	ranges := linesOf(x, src, list)
	var out []lineChange
	for i := 0; i < len(list); {
		first, last := ranges[i].First, ranges[i].Last
		j := i + 1
		for j < len(list) && ranges[j].First <= last+1 {
			last = max(last, ranges[j].Last)
			j++
		}
		start, _ := x.Bounds(first)
		end := start
		if last >= first {
			_, end = x.Bounds(last)
		}
		var b strings.Builder
		at := start
		for _, e := range list[i:j] {
			b.WriteString(src[at:max(at, e.Start)])
			b.WriteString(e.New)
			at = e.End
		}
		b.WriteString(src[at:max(at, end)])
		old := src[start:max(at, end)]
		n, counted := first, 0
		for _, e := range Diff(old, b.String()) {
			n += strings.Count(old[counted:e.Start], "\n")
			counted = e.Start
			out = append(out, lineChange{n, n + len(splitLines(old[e.Start:e.End])), splitLines(e.New)})
		}
		i = j
	}
	return out
}

func (h *Hunk) context(x document.LineIndex, from, to int) {
	for n := from; n < to; n++ {
		h.add(' ', x.Line(n))
	}
}

func (h *Hunk) add(kind byte, line string) {
	text, ended := strings.CutSuffix(line, "\n")
	h.Lines = append(h.Lines, string(kind)+text)
	if !ended {
		h.Lines = append(h.Lines, noNewline)
	}
	if kind != '+' {
		h.OldLines++
	}
	if kind != '-' {
		h.NewLines++
	}
}

// Unified writes hunks as a patch that git apply and patch take; no hunks are
// "". A name "" is a file that does not exist.
func Unified(oldName, newName string, hunks []Hunk) string {
	if len(hunks) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "--- %s\n+++ %s\n", patchName("a/", oldName), patchName("b/", newName))
	for _, h := range hunks {
		fmt.Fprintf(&b, "@@ -%d,%d +%d,%d @@\n", h.OldStart, h.OldLines, h.NewStart, h.NewLines)
		for _, l := range h.Lines {
			b.WriteString(l)
			b.WriteByte('\n')
		}
	}
	return b.String()
}

// patchName writes a file's name as git does: one with characters that would
// end it early is quoted as in C, one with a space inside is ended by a tab.
func patchName(prefix, name string) string {
	if name == "" {
		return "/dev/null"
	}
	name = prefix + name
	if !strings.HasSuffix(name, " ") && !strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' || r == 0x7f }) {
		if strings.Contains(name, " ") {
			name += "\t"
		}
		return name
	}
	var b strings.Builder
	b.WriteByte('"')
	for i := range len(name) {
		switch c := name[i]; {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c < ' ' || c == 0x7f:
			fmt.Fprintf(&b, "\\%03o", c)
		default:
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
