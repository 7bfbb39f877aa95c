// Package editor is the link to live editors: buffers, apply, save, ask, show.
package editor

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"coedit/document"
	"coedit/internal/wire"

	"go.lsp.dev/protocol"
)

var (
	// ErrNotOpen says that the editor has no such buffer.
	ErrNotOpen = errors.New("the editor has not opened it")
	// ErrHeld says that a change waits for one before it; see Mirror.Change.
	ErrHeld = errors.New("held back until the change before it comes")
	// ErrDiverged says that a change was lost, so that the buffer's text is not
	// known until the editor tells all of it.
	ErrDiverged = errors.New("the text in the editor is not known")
)

// maxHeld is how many changes of one buffer wait for an earlier one.
const maxHeld = 64

// A Buffer is one document in an editor, as of one version.
type Buffer struct {
	Name     string // absolute file name
	Language string
	Version  int32
	Text     string // as the editor tells it, line ends and byte-order mark included
	Diverged bool   // Text is an older one; see ErrDiverged
}

// A Change replaces a range of a buffer's text, or all of it when Range is nil.
type Change struct {
	Range *protocol.Range
	Text  string
}

// A Mirror holds what one editor has open, as it tells. It is safe for
// concurrent use.
type Mirror struct {
	enc wire.Encoding

	mu      sync.Mutex
	buffers map[string]*buffer
}

type buffer struct {
	Buffer
	held map[int32][]Change // by version
	last lineStart          // of the last change: the next one is most often near
}

// A lineStart says at which byte a line begins.
type lineStart struct {
	line uint32
	at   int
}

// NewMirror returns the Mirror of an editor whose positions count in enc; ""
// is UTF-16, what holds when nothing is negotiated.
func NewMirror(enc wire.Encoding) *Mirror {
	return &Mirror{enc: enc, buffers: map[string]*buffer{}}
}

// Open takes in a didOpen. One of a buffer that is open replaces it.
func (m *Mirror) Open(name, language string, version int32, text string) Buffer {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := &buffer{Buffer: Buffer{Name: name, Language: language, Version: version, Text: text}, held: map[int32][]Change{}}
	m.buffers[name] = b
	return b.Buffer
}

// Close takes in a didClose.
func (m *Mirror) Close(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.buffers, name)
}

// Buffer returns a buffer as it is now; ErrNotOpen, or with the last known
// text ErrDiverged.
func (m *Mirror) Buffer(name string) (Buffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.buffers[name]
	if b == nil {
		return Buffer{}, ErrNotOpen
	}
	if b.Diverged {
		return b.Buffer, ErrDiverged
	}
	return b.Buffer, nil
}

// Buffers returns all buffers, by name.
func (m *Mirror) Buffers() []Buffer {
	m.mu.Lock()
	defer m.mu.Unlock()
	out := make([]Buffer, 0, len(m.buffers))
	for _, b := range m.buffers {
		out = append(out, b.Buffer)
	}
	slices.SortFunc(out, func(a, b Buffer) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Change takes in a didChange. Editors count versions one by one, and one was
// measured to send changes out of order (Helix 25.01): a version further on is
// held back, with ErrHeld, until those before it have come or Flush says that
// they won't. A version that comes after one that follows it, or with a range
// that is not in the text, makes the buffer ErrDiverged; one with the whole
// text makes it known again.
func (m *Mirror) Change(name string, version int32, changes []Change) (Buffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.buffers[name]
	if b == nil {
		return Buffer{}, ErrNotOpen
	}
	switch {
	case len(changes) > 0 && changes[0].Range == nil && version > b.Version: // rests on nothing before it
		for v := range b.held {
			if v <= version {
				delete(b.held, v)
			}
		}
		b.Diverged = false
	case version <= b.Version:
		b.Diverged = true
		return b.Buffer, ErrDiverged
	case version > b.Version+1 && len(b.held) < maxHeld:
		b.held[version] = slices.Clone(changes)
		return b.Buffer, ErrHeld
	}
	m.apply(b, version, changes)
	for next, ok := b.held[b.Version+1]; ok; next, ok = b.held[b.Version+1] {
		delete(b.held, b.Version+1)
		m.apply(b, b.Version+1, next)
	}
	return b.state()
}

// Flush applies what is held back of a buffer: versions were left out.
func (m *Mirror) Flush(name string) (Buffer, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.buffers[name]
	if b == nil {
		return Buffer{}, ErrNotOpen
	}
	for len(b.held) > 0 {
		first := int32(0)
		for v := range b.held {
			if first == 0 || v < first {
				first = v
			}
		}
		changes := b.held[first]
		delete(b.held, first)
		m.apply(b, first, changes)
	}
	return b.state()
}

// Saved takes in a didSave; text is what was saved, nil when the editor does
// not tell. It reports whether the buffer held another text: then it holds
// this one now.
func (m *Mirror) Saved(name string, text *string) (Buffer, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b := m.buffers[name]
	if b == nil {
		return Buffer{}, false, ErrNotOpen
	}
	other := text != nil && (b.Diverged || b.Text != *text) && len(b.held) == 0
	if other {
		b.Text, b.last, b.Diverged = *text, lineStart{}, false
	}
	buf, err := b.state()
	return buf, other, err
}

func (b *buffer) state() (Buffer, error) {
	if b.Diverged {
		return b.Buffer, ErrDiverged
	}
	return b.Buffer, nil
}

// apply moves b on to version. mu is held.
func (m *Mirror) apply(b *buffer, version int32, changes []Change) {
	b.Version = version
	text, last := b.Text, b.last
	for _, c := range changes {
		if c.Range == nil {
			text, last, b.Diverged = c.Text, lineStart{}, false
			continue
		}
		first, start, ok1 := offset(text, c.Range.Start, m.enc, last)
		_, end, ok2 := offset(text, c.Range.End, m.enc, first)
		if !ok1 || !ok2 || end < start {
			b.Diverged = true
			return
		}
		text = text[:start] + c.Text + text[end:]
		if last = first; first.at > 0 && text[first.at-1] == '\r' {
			last = lineStart{} // a \n may follow it now, and the line begin later
		}
	}
	if !b.Diverged {
		b.Text, b.last = text, last
	}
}

// offset returns the byte offset of p in text. Lines are ended by \n, \r\n or
// a lone \r (LSP 3.17, "Text Documents"); a character past the end of its line
// is that end, as the specification has it. It is false for a line that is
// not there. The search begins at the line known, where p is not before it, so
// that a key in a large buffer does not cost a look at all of it; the start of
// p's line is returned as the next one.
func offset(text string, p protocol.Position, enc wire.Encoding, known lineStart) (of lineStart, off int, ok bool) {
	if p.Line >= known.line && known.at <= len(text) {
		of = known
	}
	for ; of.line < p.Line; of.line++ {
		n := lineEnd(text[of.at:])
		if n < 0 {
			return lineStart{}, 0, false
		}
		of.at += n
	}
	return of, of.at + within(text[of.at:], p.Character, enc), true
}

// within returns the byte offset of a character in the first line of rest.
func within(rest string, character uint32, enc wire.Encoding) int {
	if n := lineEnd(rest); n >= 0 {
		rest = strings.TrimRight(rest[:n], "\r\n")
	}
	left := uint64(character)
	if enc == wire.UTF8 {
		n := int(min(left, uint64(len(rest))))
		for n > 0 && n < len(rest) && !utf8.RuneStart(rest[n]) {
			n--
		}
		return n
	}
	for i, r := range rest {
		width := uint64(1)
		if enc != wire.UTF32 && r >= 0x10000 {
			width = 2
		}
		if left < width {
			return i
		}
		left -= width
	}
	return len(rest)
}

// lineEnd returns where the line after the first begins, or -1.
func lineEnd(text string) int {
	n := strings.IndexByte(text, '\n')
	first := text
	if n >= 0 {
		first = text[:n]
	}
	if r := strings.IndexByte(first, '\r'); r >= 0 && r != n-1 {
		return r + 1 // a lone \r
	}
	if n < 0 {
		return -1
	}
	return n + 1
}

// Overlay returns the document that a buffer is, over the file as it is on
// disk: encoded as the file is, with the file's line ends where the editor
// tells others for all lines (eglot does). A buffer that differs from the file
// in nothing else is the file, and not dirty. A buffer whose text the file's
// encoding does not have is an error of document.Encode.
func Overlay(disk document.Snapshot, b Buffer) (s document.Snapshot, dirty bool, err error) {
	text := strings.TrimPrefix(b.Text, "\ufeff")
	if disk.Exists() && disk.Problem == nil && document.SameText(text, disk.Text) {
		return disk, false, nil
	}
	if document.LineEndsOf(disk.Text) == document.CRLF && !strings.Contains(text, "\r") {
		text = strings.ReplaceAll(text, "\n", "\r\n")
	}
	s, err = disk.WithText(text, document.Origin{Kind: document.OriginEditor})
	return s, true, err
}
