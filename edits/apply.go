package edits

import (
	"errors"
	"fmt"
	"strings"
)

// ErrRange says that a list of edits does not fit its text: out of range,
// unsorted or overlapping.
var ErrRange = errors.New("edits do not fit the text")

// Apply returns src with the edits carried out. The error is ErrRange.
func Apply(src string, list []Edit) (string, error) {
	if err := check(len(src), list); err != nil {
		return "", err
	}
	if len(list) == 0 {
		return src, nil
	}
	size := len(src)
	for _, e := range list {
		size += len(e.New) - (e.End - e.Start)
	}
	var b strings.Builder
	b.Grow(size)
	at := 0
	for _, e := range list {
		b.WriteString(src[at:e.Start])
		b.WriteString(e.New)
		at = e.End
	}
	b.WriteString(src[at:])
	return b.String(), nil
}

// check says whether list fits a text of size bytes.
func check(size int, list []Edit) error {
	at := 0
	for i, e := range list {
		if e.Start < at || e.End < e.Start || e.End > size {
			return fmt.Errorf("edit %d, bytes %d to %d of %d: %w", i, e.Start, e.End, size, ErrRange)
		}
		at = e.End
	}
	return nil
}

// Invert returns the edits of Apply's result that give src back.
func Invert(src string, list []Edit) []Edit {
	out := make([]Edit, len(list))
	shift := 0
	for i, e := range list {
		start := e.Start + shift
		out[i] = Edit{Start: start, End: start + len(e.New), New: src[e.Start:e.End]}
		shift += len(e.New) - (e.End - e.Start)
	}
	return out
}

// Rebase moves list over onto, both of them edits of one text: the result are
// edits of the text after onto. ok is false where they overlap or touch, since
// then the order would decide what comes out.
func Rebase(list, onto []Edit) (_ []Edit, ok bool) {
	out := make([]Edit, 0, len(list))
	shift, j := 0, 0
	for _, e := range list {
		for j < len(onto) && onto[j].End < e.Start {
			shift += len(onto[j].New) - (onto[j].End - onto[j].Start)
			j++
		}
		if j < len(onto) && onto[j].Start <= e.End {
			return nil, false
		}
		out = append(out, Edit{Start: e.Start + shift, End: e.End + shift, New: e.New})
	}
	return out, true
}

// Compose returns one list of edits that does what first and then second do;
// second are edits of the text after first.
func Compose(first, second []Edit) []Edit {
	var out []Edit
	var cur *Edit // the group being built, in the first text's offsets
	add := func(start, end int, text string) {
		if cur != nil && start <= cur.End {
			cur.End = max(cur.End, end)
			cur.New += text
			return
		}
		out = append(out, Edit{Start: start, End: end, New: text})
		cur = &out[len(out)-1]
	}
	i, shift := 0, 0 // the next of first, and middle = original + shift before it
	// part is what is left of the text that first[i-1] put in, with its place
	// in the middle text.
	var part string
	partAt := 0
	flush := func(upto int) { // keep what remains of part before offset upto of the middle text
		if part == "" {
			return
		}
		n := min(len(part), max(0, upto-partAt))
		if n > 0 {
			add(out[len(out)-1].End, out[len(out)-1].End, part[:n])
			part, partAt = part[n:], partAt+n
		}
	}
	// advance takes those of first in that start at or before offset upto of
	// the middle text.
	advance := func(upto int) {
		for {
			flush(upto)
			if part != "" || i >= len(first) || first[i].Start+shift > upto {
				return
			}
			e := first[i]
			add(e.Start, e.End, "")
			part, partAt = e.New, e.Start+shift
			shift += len(e.New) - (e.End - e.Start)
			i++
		}
	}
	for _, e := range second {
		advance(e.Start)
		pos := e.Start
		// the place of e in the original text: inside an inserted part it is
		// where that part stands
		if part == "" {
			at := pos - shift
			add(at, at, e.New)
		} else {
			cur.New += e.New
		}
		for pos < e.End {
			if part != "" {
				n := min(len(part), e.End-pos)
				part, partAt, pos = part[n:], partAt+n, pos+n
				continue
			}
			next := e.End
			if i < len(first) {
				next = min(next, first[i].Start+shift)
			}
			if next > pos {
				cur.End = max(cur.End, next-shift)
				pos = next
				continue
			}
			f := first[i]
			cur.End = max(cur.End, f.End)
			part, partAt = f.New, f.Start+shift
			shift += len(f.New) - (f.End - f.Start)
			i++
			if f.New == "" && i >= len(first) && pos >= e.End {
				break
			}
		}
	}
	advance(1 << 62)
	kept := out[:0]
	for _, e := range out {
		if e.Start != e.End || e.New != "" {
			kept = append(kept, e)
		}
	}
	return kept
}
