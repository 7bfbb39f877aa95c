package wire

import (
	"strings"
	"unicode/utf8"

	"coedit/document"

	"go.lsp.dev/protocol"
)

// An Encoding says what a position's character counts.
type Encoding string

// The position encodings of LSP 3.17; UTF16 holds when nothing is negotiated.
const (
	UTF8  Encoding = "utf-8"
	UTF16 Encoding = "utf-16"
	UTF32 Encoding = "utf-32"
)

// A Mapper turns byte offsets of a text into positions and back. Lines are
// ended by \n; see LoneCR for texts where a peer may count otherwise.
type Mapper struct {
	text  string
	lines document.LineIndex
	enc   Encoding
}

// NewMapper indexes text for positions in enc ("" means UTF16).
func NewMapper(text string, enc Encoding) *Mapper {
	if enc == "" {
		enc = UTF16
	}
	return &Mapper{text: text, lines: document.Lines(text), enc: enc}
}

// Position returns the position of byte offset off, which is clamped to the
// text and, inside a character, moved to its start.
func (m *Mapper) Position(off int) protocol.Position {
	off = min(max(off, 0), len(m.text))
	line := m.lines.At(off)
	start := 0
	if line >= 1 {
		start, _ = m.lines.Bounds(line)
	}
	for off > start && off < len(m.text) && !utf8.RuneStart(m.text[off]) {
		off--
	}
	return protocol.Position{Line: uint32(max(line, 1) - 1), Character: uint32(units(m.text[start:off], m.enc))}
}

// Offset returns the byte offset of p. A character past the end of its line
// is the end of the line, before its \n or \r\n; a line past the last is the
// end of the text; the middle of a character is its start.
func (m *Mapper) Offset(p protocol.Position) int {
	if uint64(p.Line) >= uint64(m.lines.Count()) {
		return len(m.text)
	}
	start, end := m.lines.Bounds(int(p.Line) + 1)
	line := m.text[start:end]
	if cut, ok := strings.CutSuffix(line, "\n"); ok {
		line = strings.TrimSuffix(cut, "\r")
	}
	left := int(min(uint64(p.Character), 1<<31-1))
	for i, r := range line {
		n := width(r, m.enc, line[i:])
		if left < n || left == 0 {
			return start + i
		}
		left -= n
	}
	return start + len(line)
}

// LineColumn returns p as people count: line and column from 1, the column in
// code points.
func (m *Mapper) LineColumn(p protocol.Position) (line, column int) {
	off := m.Offset(p)
	line = m.lines.At(off)
	return max(line, 1), m.lines.Column(off)
}

// LoneCR reports whether text holds a \r that no \n follows. LSP counts it as
// a line end and some servers don't, so such a text is synced whole.
func LoneCR(text string) bool {
	for i := 0; ; {
		j := strings.IndexByte(text[i:], '\r')
		if j < 0 {
			return false
		}
		i += j + 1
		if i == len(text) || text[i] != '\n' {
			return true
		}
	}
}

func units(s string, enc Encoding) int {
	switch enc {
	case UTF8:
		return len(s)
	case UTF32:
		return utf8.RuneCountInString(s)
	}
	n := 0
	for _, r := range s {
		if n++; r >= 0x10000 {
			n++
		}
	}
	return n
}

func width(r rune, enc Encoding, at string) int {
	switch {
	case enc == UTF8:
		_, n := utf8.DecodeRuneInString(at)
		return n
	case enc == UTF16 && r >= 0x10000:
		return 2
	}
	return 1
}
