package edits

import (
	"errors"
	"fmt"
	"math"
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
// Grow returns how many bytes longer list makes a text.
func Grow(list []Edit) int {
	n := 0
	for _, e := range list {
		n += len(e.New) - (e.End - e.Start)
	}
	return n
}

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
	c := composer{first: first}
	for _, e := range second {
		c.advance(e.Start)
		if c.part == "" {
			c.add(e.Start-c.shift, e.Start-c.shift, e.New)
		} else { // inside a text that first put in
			c.out[len(c.out)-1].New += e.New
		}
		c.remove(e.Start, e.End)
	}
	c.advance(math.MaxInt)
	kept := c.out[:0]
	for _, e := range c.out {
		if e.Start != e.End || e.New != "" {
			kept = append(kept, e)
		}
	}
	return kept
}

// A composer walks over the text between two lists of edits. The last of out
// is the group being built, in offsets of the first text.
type composer struct {
	first []Edit
	out   []Edit
	next  int // of first
	shift int // offset in the middle text less that in the first, before next
	// part is what is left to pass of the text that the last taken of first
	// put in, partAt its place in the middle text.
	part   string
	partAt int
}

// add puts an edit in, or makes the group larger where it touches it.
func (c *composer) add(start, end int, text string) {
	if n := len(c.out); n > 0 && start <= c.out[n-1].End {
		c.out[n-1].End = max(c.out[n-1].End, end)
		c.out[n-1].New += text
		return
	}
	c.out = append(c.out, Edit{Start: start, End: end, New: text})
}

// take begins with the next of first.
func (c *composer) take() {
	e := c.first[c.next]
	c.next++
	c.add(e.Start, e.End, "")
	c.part, c.partAt = e.New, e.Start+c.shift
	c.shift += len(e.New) - (e.End - e.Start)
}

// advance keeps all that first did at or before offset upto of the middle text.
func (c *composer) advance(upto int) {
	for {
		if c.part != "" {
			if n := min(len(c.part), max(0, upto-c.partAt)); n > 0 {
				c.out[len(c.out)-1].New += c.part[:n]
				c.part, c.partAt = c.part[n:], c.partAt+n
			}
		}
		if c.part != "" || c.next >= len(c.first) || c.first[c.next].Start+c.shift > upto {
			return
		}
		c.take()
	}
}

// remove drops the bytes from pos to end of the middle text.
func (c *composer) remove(pos, end int) {
	for pos < end {
		if c.part != "" {
			n := min(len(c.part), end-pos)
			c.part, c.partAt, pos = c.part[n:], c.partAt+n, pos+n
			continue
		}
		next := end
		if c.next < len(c.first) {
			next = min(next, c.first[c.next].Start+c.shift)
		}
		if next == pos {
			c.take()
			continue
		}
		last := &c.out[len(c.out)-1]
		last.End = max(last.End, next-c.shift)
		pos = next
	}
}
