package edits

import (
	"cmp"
	"slices"
	"strings"

	"coedit/document"
)

// A Sequence takes replacements one after the other, each on the result of
// those before it. It searches a large text through an index of its beginning
// and reads again only what the edits so far have written.
type Sequence struct {
	src  string
	list []Edit // of src; none touch

	text  string // as it is now, where whole
	whole bool
	steps int

	lines   document.LineIndex // of src
	indexed bool
	blocks  *blockIndex
	cr      bool     // src has a \r
	pieces  []placed // of list
	size    int      // of the text now
	origin  LineMap
	mapped  bool
}

// placed says where an edit of a Sequence has got to.
type placed struct {
	start, end int // of its New in the text now
	line       int // the first of its New, counted from 1
}

// indexAfter is the replacement from which a text is indexed, and indexFrom
// the size: before, reading it all costs less.
const (
	indexAfter = 3
	indexFrom  = 32 << 10
)

// NewSequence begins with src.
func NewSequence(src string) *Sequence {
	return &Sequence{src: src, text: src, whole: true, size: len(src)}
}

// Replace is the function Replace on the text as it is now, which Edits and
// Lines of its Match are of.
func (s *Sequence) Replace(old, new string, all bool) (Match, error) {
	s.steps++
	if found, ok := s.find(old, new); ok {
		m, err := s.match(old, new, found, all)
		if err != nil {
			return m, err
		}
		return m, s.Apply(m.Edits)
	}
	m, err := Replace(s.Text(), old, new, all)
	if err != nil {
		return m, err
	}
	return m, s.Apply(m.Edits)
}

func (s *Sequence) match(old, new string, all []place, every bool) (Match, error) {
	found, overlapped := pick(all)
	return Match{}.replace(s, old, new, found, overlapped, every)
}

// Apply carries out edits of the text as it is now. The error is ErrRange.
func (s *Sequence) Apply(list []Edit) error {
	if err := check(s.size, list); err != nil {
		return err
	}
	if len(list) == 0 {
		return nil
	}
	s.list = Compose(s.list, list)
	s.text, s.whole, s.mapped = "", false, false
	s.index()
	s.pieces = s.pieces[:0]
	shift, lines := 0, 0
	for _, e := range s.list {
		at := e.Start + shift
		s.pieces = append(s.pieces, placed{at, at + len(e.New), s.lines.At(e.Start) + lines})
		shift += len(e.New) - (e.End - e.Start)
		lines += strings.Count(e.New, "\n") - strings.Count(s.src[e.Start:e.End], "\n")
	}
	s.size = len(s.src) + shift
	return nil
}

func (s *Sequence) index() {
	if !s.indexed {
		s.lines, s.cr, s.indexed = document.Lines(s.src), strings.Contains(s.src, "\r"), true
	}
}

// Text returns the text as it is now.
func (s *Sequence) Text() string {
	if !s.whole {
		s.text, s.whole = s.slice(0, s.size), true
	}
	return s.text
}

// Edits returns everything done so far as edits of the first text.
func (s *Sequence) Edits() []Edit { return s.list }

// Origin returns the line of the first text that stands at line now; ok is
// false where a replacement wrote it.
func (s *Sequence) Origin(line int) (int, bool) {
	if !s.mapped {
		s.index()
		s.origin, s.mapped = newLineMap(s.lines, s.src, s.list), true
	}
	return s.origin.Old(line)
}

// find returns every place of old in the text now, rising, through the index;
// ok is false where that can't answer, or has found none: then the whole text
// is to be read, by which it is also explained.
func (s *Sequence) find(old, new string) (found []place, ok bool) {
	if s.steps < indexAfter || len(s.src) < indexFrom || old == "" || old == new || len(s.list) == 0 {
		return nil, false
	}
	if s.blocks == nil {
		s.blocks = newBlockIndex(s.src)
	}
	p := compile(old)
	at, ok := s.blocks.find(p.parts[p.anchor])
	if !ok {
		return nil, false
	}
	places := make([]place, 0, len(at))
	work := 0
	for _, pos := range at {
		if f, ok := p.match(s.src, pos, &work); ok {
			places = append(places, f)
		}
		if work > maxWork {
			return nil, false
		}
	}
	i, shift := 0, 0 // list[:i] is before
	for _, f := range ordered(places) {
		for i < len(s.list) && s.list[i].End < f.start {
			shift += len(s.list[i].New) - (s.list[i].End - s.list[i].Start)
			i++
		}
		if i == len(s.list) || s.list[i].Start > f.end { // touches no edit
			found = append(found, place{f.start + shift, f.end + shift})
		}
	}
	written, ok := s.findWritten(p, 2*len(old)+2)
	found = ordered(append(found, written...))
	return found, ok && len(found) > 0 && len(found) < maxFound
}

func ordered(list []place) []place {
	slices.SortFunc(list, func(a, b place) int { return cmp.Compare(a.start, b.start) })
	return slices.CompactFunc(list, func(a, b place) bool { return a.start == b.start })
}

// maxWritten bounds the bytes that findWritten reads.
const maxWritten = 1 << 20

// findWritten returns the places of p that touch what edits have written.
// They reach at most n bytes out of it. ok is false where that is too much.
func (s *Sequence) findWritten(p pattern, n int) (found []place, ok bool) {
	read := 0
	for i := 0; i < len(s.pieces); {
		from, to := max(0, s.pieces[i].start-n), min(s.size, s.pieces[i].end+n)
		j := i + 1
		for j < len(s.pieces) && s.pieces[j].start-n <= to {
			to = min(s.size, s.pieces[j].end+n)
			j++
		}
		if read += to - from; read > maxWritten {
			return nil, false
		}
		window, k := s.slice(from, to), i
		places, ok := p.every(window)
		if !ok {
			return nil, false
		}
		for _, f := range places {
			f = place{f.start + from, f.end + from}
			for k < j && s.pieces[k].end < f.start {
				k++
			}
			if k < j && s.pieces[k].start <= f.end {
				found = append(found, f)
			}
		}
		i = j
	}
	return found, true
}

// slice returns bytes [start, end) of the text now.
func (s *Sequence) slice(start, end int) string {
	if s.whole {
		return s.text[start:end]
	}
	// the first piece that ends after start
	i, _ := slices.BinarySearchFunc(s.pieces, start, func(p placed, at int) int {
		if p.end <= at {
			return -1
		}
		return 1
	})
	var b strings.Builder
	b.Grow(end - start)
	for at := start; at < end; {
		from := s.before(i) + at // in src
		if i < len(s.pieces) && s.pieces[i].start <= at {
			stop := min(end, s.pieces[i].end)
			b.WriteString(s.list[i].New[at-s.pieces[i].start : max(at, stop)-s.pieces[i].start])
			at = max(at, stop)
			if at >= s.pieces[i].end {
				i++
			}
			continue
		}
		stop := end
		if i < len(s.pieces) {
			stop = min(end, s.pieces[i].start)
		}
		b.WriteString(s.src[from : from+stop-at])
		at = stop
	}
	return b.String()
}

// before returns what an offset after piece i-1 differs from that in src.
func (s *Sequence) before(i int) int {
	if i == 0 {
		return 0
	}
	return s.list[i-1].End - s.pieces[i-1].end
}

// line returns the line of the text now that holds off, from 1.
func (s *Sequence) line(off int) int {
	s.index()
	i, _ := slices.BinarySearchFunc(s.pieces, off, func(p placed, at int) int {
		if p.start <= at {
			return -1
		}
		return 1
	})
	if i == 0 {
		return s.lines.At(off)
	}
	p, e := s.pieces[i-1], s.list[i-1]
	if off <= p.end {
		return p.line + strings.Count(e.New[:off-p.start], "\n")
	}
	return p.line + strings.Count(e.New, "\n") + s.lines.At(off-p.end+e.End) - s.lines.At(e.End)
}

func (s *Sequence) lineEnd(off int) string {
	for n := 256; off+n < s.size; n *= 4 {
		from := max(0, off-1) // the \r may be the last that is replaced
		if t := s.slice(from, off+n); strings.Contains(t[off-from:], "\n") {
			return ownLineEnd(t, off-from)
		}
	}
	return ownLineEnd(s.Text(), off)
}

func (s *Sequence) mayHaveCR() bool {
	s.index()
	return s.cr || slices.ContainsFunc(s.list, func(e Edit) bool { return strings.Contains(e.New, "\r") })
}
