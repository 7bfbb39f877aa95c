package edits

import (
	"slices"
	"strings"

	"coedit/document"
)

// A Match is where a string was found and what replaces it.
type Match struct {
	Edits      []Edit
	Lines      []int // of each place, from 1
	Overlapped []int // lines of occurrences left out because they overlap one that is replaced
	Quotes     bool  // typographic quotes in the text stood for straight ones in the string
}

// A Reason says why a string can't be replaced.
type Reason uint8

// The reasons.
const (
	NoMatch   Reason = iota // the string is nowhere
	Ambiguous               // it is in several places and all were not asked for
	NoChange                // the replacement is what stands there
	EmptyOld                // there is nothing to look for
)

// A MatchError says why nothing was replaced, in words for the caller.
type MatchError struct {
	Reason Reason
	Lines  []int  // of the places found, from 1, at most 20
	Total  int    // of the places found
	Unseen []int  // those of Lines that the caller has not been shown; the caller fills it
	Hint   string // what is near and how it differs, "" where nothing is
}

// maxFound bounds the places that are counted for an error.
const maxFound = 1000

// Replace finds old in src, exactly, and replaces it by new: once, or at every
// place with all. A \n in old stands for \n or \r\n, a \r\n for itself. In new
// a \n takes the line end found at its place, so that the text keeps its line
// ends. Where old is nowhere, straight quotes in it also match typographic
// ones, which are kept. The error is a *MatchError.
func Replace(src, old, new string, all bool) (Match, error) {
	switch {
	case old == "":
		return Match{}, &MatchError{Reason: EmptyOld}
	case old == new:
		return Match{}, &MatchError{Reason: NoChange}
	}
	p := compile(old)
	found, overlapped := p.find(src, all)
	m := Match{}
	if len(found) == 0 {
		if found = findQuotes(src, old, all); len(found) == 0 {
			return Match{}, &MatchError{Reason: NoMatch, Hint: explain(src, old)}
		}
		m.Quotes = true
	}
	return m.replace(&wholeText{text: src}, old, new, found, overlapped, all)
}

// A reading is what a replacement needs to know of a text.
type reading interface {
	slice(start, end int) string
	line(off int) int       // that holds off, from 1
	lineEnd(off int) string // of the line that holds off; of the text where it has none
	mayHaveCR() bool        // false where no \r\n can be
}

// A wholeText is a reading of a string.
type wholeText struct {
	text    string
	indexed bool
	lines   document.LineIndex
}

func (w *wholeText) slice(start, end int) string { return w.text[start:end] }
func (w *wholeText) mayHaveCR() bool             { return strings.Contains(w.text, "\r\n") }
func (w *wholeText) lineEnd(off int) string      { return ownLineEnd(w.text, off) }
func (w *wholeText) line(off int) int {
	if !w.indexed {
		w.lines, w.indexed = document.Lines(w.text), true
	}
	return w.lines.At(off)
}

// replace makes the edits for the places found in text.
func (m Match) replace(text reading, old, new string, found []place, overlapped []int, all bool) (Match, error) {
	if total := len(found) + len(overlapped); !all && total > 1 {
		e := &MatchError{Reason: Ambiguous, Total: total}
		for _, f := range found {
			e.Lines = append(e.Lines, text.line(f.start))
		}
		for _, o := range overlapped {
			e.Lines = append(e.Lines, text.line(o))
		}
		slices.Sort(e.Lines)
		e.Lines = e.Lines[:min(len(e.Lines), 20)]
		return Match{}, e
	}
	same, ends := true, strings.Contains(new, "\n") && text.mayHaveCR()
	for _, f := range found {
		got, put := text.slice(f.start, f.end), new
		if m.Quotes {
			put = keepQuotes(got, old, new)
		}
		if ends {
			put = lineEnds(text, f, got, put)
		}
		same = same && put == got
		m.Edits = append(m.Edits, Edit{Start: f.start, End: f.end, New: put})
		m.Lines = append(m.Lines, text.line(f.start))
	}
	if same {
		return Match{}, &MatchError{Reason: NoChange}
	}
	for _, o := range overlapped {
		m.Overlapped = append(m.Overlapped, text.line(o))
	}
	return m, nil
}

// A place is bytes [start, end) of a text.
type place struct{ start, end int }

// A pattern is a string to look for, cut at the line ends that may be \n or
// \r\n.
type pattern struct {
	parts  []string
	anchor int // index of the longest part, which is looked for
}

func compile(old string) pattern {
	p := pattern{}
	for at := 0; ; {
		i := strings.IndexByte(old[at:], '\n')
		for i > 0 && old[at+i-1] == '\r' { // \r\n is meant literally
			j := strings.IndexByte(old[at+i+1:], '\n')
			if j < 0 {
				i = -1
				break
			}
			i += 1 + j
		}
		if i < 0 {
			p.parts = append(p.parts, old[at:])
			break
		}
		p.parts = append(p.parts, old[at:at+i])
		at += i + 1
	}
	for i, part := range p.parts {
		if len(part) > len(p.parts[p.anchor]) {
			p.anchor = i
		}
	}
	return p
}

// find returns the places from left to right that do not overlap, and the
// starts of occurrences that overlap one of them. Without all it stops when
// enough are found to word an error.
func (p pattern) find(src string, all bool) (found []place, overlapped []int) {
	needle := p.parts[p.anchor]
	lineEnd := needle == "" // nothing but line ends: those are looked for
	if lineEnd {
		needle = "\n"
	}
	last := -1
	for at := 0; at <= len(src); {
		i := strings.Index(src[at:], needle)
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		f, ok := p.match(src, i, lineEnd)
		if !ok || f.start == last {
			continue
		}
		last = f.start
		if n := len(found); n > 0 && f.start < found[n-1].end {
			if len(overlapped) < maxFound {
				overlapped = append(overlapped, f.start)
			} else {
				at = max(at, found[n-1].end)
			}
			continue
		}
		found = append(found, f)
		if !all && len(found)+len(overlapped) >= maxFound {
			break
		}
	}
	return found, overlapped
}

// every returns all places, also those that overlap, or more than maxFound.
func (p pattern) every(src string) (found []place) {
	needle := p.parts[p.anchor]
	for at := 0; ; {
		i := strings.Index(src[at:], needle)
		if i < 0 || len(found) > maxFound {
			return found
		}
		if f, ok := p.match(src, at+i, false); ok {
			found = append(found, f)
		}
		at += i + 1
	}
}

// match checks the whole pattern around its anchor at src[i].
func (p pattern) match(src string, i int, lineEnd bool) (place, bool) {
	f := place{i, i + len(p.parts[p.anchor])}
	first := p.anchor + 1
	if lineEnd {
		f.end = i + 1
		if i > 0 && src[i-1] == '\r' {
			f.start--
		}
		first = 2
	}
	for k := p.anchor - 1; k >= 0 && !lineEnd; k-- {
		s := src[:f.start]
		if !strings.HasSuffix(s, "\n") {
			return f, false
		}
		s = s[:len(s)-1]
		if part := p.parts[k]; strings.HasSuffix(s, "\r") && strings.HasSuffix(s[:len(s)-1], part) {
			f.start = len(s) - 1 - len(part)
		} else if strings.HasSuffix(s, part) {
			f.start = len(s) - len(part)
		} else {
			return f, false
		}
	}
	for _, part := range p.parts[min(first, len(p.parts)):] {
		s := src[f.end:]
		n := 0
		switch {
		case strings.HasPrefix(s, "\r\n"):
			n = 2
		case strings.HasPrefix(s, "\n"):
			n = 1
		default:
			return f, false
		}
		if !strings.HasPrefix(s[n:], part) {
			return f, false
		}
		f.end += n + len(part)
	}
	return f, true
}

// lineEnds gives each \n of text the line end that stands at its place: that
// of the matched line with its index, else of the last matched, else of the
// line the match is in, else the commonest of src. old is what stands at f. A \r\n is meant literally.
func lineEnds(src reading, f place, old, text string) string {
	var ends []string
	for i := 0; i < len(old); i++ {
		if old[i] == '\n' {
			ends = append(ends, "\n")
			if i > 0 && old[i-1] == '\r' {
				ends[len(ends)-1] = "\r\n"
			}
		}
	}
	if len(ends) == 0 {
		ends = []string{src.lineEnd(f.end)}
	}
	var b strings.Builder
	for n := 0; ; n++ {
		i := strings.IndexByte(text, '\n')
		if i < 0 {
			b.WriteString(text)
			return b.String()
		}
		if i > 0 && text[i-1] == '\r' {
			b.WriteString(text[:i+1])
		} else {
			b.WriteString(text[:i])
			b.WriteString(ends[min(n, len(ends)-1)])
		}
		text = text[i+1:]
	}
}

// ownLineEnd returns the line end of the line that holds offset at.
func ownLineEnd(src string, at int) string {
	i := strings.IndexByte(src[at:], '\n')
	switch {
	case i < 0:
		return document.CommonLineEnd(src)
	case at+i > 0 && src[at+i-1] == '\r':
		return "\r\n"
	}
	return "\n"
}
