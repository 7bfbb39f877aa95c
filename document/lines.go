package document

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A LineIndex finds lines in a text. A line is ended by \n; a text that ends
// in \n has no further, empty line; a lone \r is a character.
type LineIndex struct {
	text   string
	starts []int
}

// Lines indexes text.
func Lines(text string) LineIndex {
	x := LineIndex{text: text}
	if text == "" {
		return x
	}
	x.starts = make([]int, 1, strings.Count(text, "\n")+1)
	for i := 0; ; {
		j := strings.IndexByte(text[i:], '\n')
		if j < 0 || i+j+1 == len(text) {
			return x
		}
		i += j + 1
		x.starts = append(x.starts, i)
	}
}

// Count returns the number of lines.
func (x LineIndex) Count() int { return len(x.starts) }

// Bounds returns the byte offsets [start, end) of line n, counted from 1, with
// its line end. A line past the last is empty and at the end of the text.
func (x LineIndex) Bounds(n int) (start, end int) {
	if n < 1 || n > len(x.starts) {
		return len(x.text), len(x.text)
	}
	end = len(x.text)
	if n < len(x.starts) {
		end = x.starts[n]
	}
	return x.starts[n-1], end
}

// Line returns line n, counted from 1, with its line end.
func (x LineIndex) Line(n int) string {
	i, j := x.Bounds(n)
	return x.text[i:j]
}

// At returns the line that holds byte offset off, from 1. The end of a text
// whose last line is ended counts as the line after it.
func (x LineIndex) At(off int) int {
	if n := len(x.text); off >= n && (n == 0 || x.text[n-1] == '\n') {
		return len(x.starts) + 1
	}
	n, found := slices.BinarySearch(x.starts, off)
	if found {
		return n + 1
	}
	return n
}

// Column returns the 1-based column of byte offset off, in code points.
func (x LineIndex) Column(off int) int {
	start, _ := x.Bounds(x.At(off))
	return 1 + utf8.RuneCountInString(x.text[start:off])
}

// LineEnds names the line ends of a text.
type LineEnds string

// What LineEnds a text can have.
const (
	NoLineEnds    LineEnds = "none"
	LF            LineEnds = "lf"
	CRLF          LineEnds = "crlf"
	MixedLineEnds LineEnds = "mixed"
)

// LineEndsOf tells which line ends text has.
func LineEndsOf(text string) LineEnds {
	all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	switch {
	case all == 0:
		return NoLineEnds
	case crlf == 0:
		return LF
	case crlf == all:
		return CRLF
	}
	return MixedLineEnds
}

// CommonLineEnd returns the commonest line end of text, "\n" when it has none
// or as many of each.
func CommonLineEnd(text string) string {
	all, crlf := strings.Count(text, "\n"), strings.Count(text, "\r\n")
	if 2*crlf > all {
		return "\r\n"
	}
	return "\n"
}
