package edits

import (
	"slices"
	"strings"
	"unicode/utf8"

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
		if found, overlapped = findQuotes(src, old, all); len(found) == 0 {
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
func (m Match) replace(text reading, old, new string, found, overlapped []place, all bool) (Match, error) {
	if total := len(found) + len(overlapped); !all && total > 1 {
		e := &MatchError{Reason: Ambiguous, Total: total}
		for _, f := range found {
			e.Lines = append(e.Lines, text.line(f.start))
		}
		for _, o := range overlapped {
			e.Lines = append(e.Lines, text.line(o.start))
		}
		slices.Sort(e.Lines)
		e.Lines = e.Lines[:min(len(e.Lines), 20)]
		return Match{}, e
	}
	same, ends := true, strings.Contains(new, "\n") && text.mayHaveCR()
	for _, f := range found {
		got, put := text.slice(f.start, f.end), new
		if m.Quotes {
			put = keepQuotes(text.slice(max(0, f.start-utf8.UTFMax), f.start), got, old, new)
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
		m.Overlapped = append(m.Overlapped, text.line(o.start))
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
// occurrences that overlap one of them. Without all it stops when enough are
// found to word an error.
func (p pattern) find(src string, all bool) (found, overlapped []place) {
	last, work := -1, 0
	for at := 0; at <= len(src); {
		i := strings.Index(src[at:], p.needle())
		if i < 0 {
			break
		}
		i += at
		at = i + 1
		f, ok := p.match(src, i, &work)
		if work > maxWork {
			return p.findFolded(src, all)
		}
		if !ok || f.start == last {
			continue
		}
		last = f.start
		if n := len(found); n > 0 && f.start < found[n-1].end {
			if overlapped = append(overlapped, f); len(overlapped) > maxFound {
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

// maxWork is how many parts are compared before a text of many like lines is
// searched another way.
const maxWork = 1 << 21

// findFolded is find on a copy of src whose line ends are all \n, which takes
// the same time whatever the lines are.
func (p pattern) findFolded(src string, all bool) (found, overlapped []place) {
	folded, cut := src, []int(nil) // cut: offsets in folded of the \n that had a \r
	if strings.Contains(src, "\r\n") {
		folded = strings.ReplaceAll(src, "\r\n", "\n")
		for i, k := 0, 0; ; i++ {
			n := strings.IndexByte(src[i:], '\n')
			if n < 0 {
				break
			}
			if i += n; i > 0 && src[i-1] == '\r' {
				cut = append(cut, i-1-k)
				k++
			}
		}
	}
	needle := strings.ReplaceAll(strings.Join(p.parts, "\n"), "\r\n", "\n")
	var list []place
	for at, k := 0, 0; ; {
		i := strings.Index(folded[at:], needle)
		if i < 0 || len(list) > maxFound && !all {
			break
		}
		at += i + 1
		for k < len(cut) && cut[k] < at-1 {
			k++
		}
		work := 0
		if f, ok := p.matchAt(src, at-1+k, &work); ok {
			list = append(list, f)
			if n := len(list); n > 2*maxFound && f.start < list[n-2].end { // each overlaps the next
				at += len(needle) - 1
			}
		}
	}
	return pick(list)
}

// pick takes places from left to right that do not overlap.
func pick(list []place) (found, overlapped []place) {
	for _, f := range list {
		if n := len(found); n > 0 && f.start < found[n-1].end {
			overlapped = append(overlapped, f)
			continue
		}
		found = append(found, f)
	}
	return found, overlapped
}

// every returns all places, also those that overlap; ok is false where they are
// more than maxFound or take too long to find.
func (p pattern) every(src string) (found []place, ok bool) {
	work := 0
	for at := 0; ; {
		i := strings.Index(src[at:], p.needle())
		if i < 0 {
			return found, true
		}
		if f, ok := p.match(src, at+i, &work); ok {
			found = append(found, f)
		}
		if len(found) > maxFound || work > maxWork {
			return nil, false
		}
		at += i + 1
	}
}

// needle is what is looked for: the longest part, or a line end.
func (p pattern) needle() string {
	if n := p.parts[p.anchor]; n != "" {
		return n
	}
	return "\n"
}

// match checks the whole pattern around its needle at src[i]. It adds to work
// the number of parts compared.
func (p pattern) match(src string, i int, work *int) (place, bool) {
	if p.parts[p.anchor] == "" { // nothing but line ends
		if i > 0 && src[i-1] == '\r' {
			i--
		}
		return p.matchAt(src, i, work)
	}
	start := i
	for k := p.anchor - 1; k >= 0; k-- {
		*work++
		s, ended := strings.CutSuffix(src[:start], "\n")
		if !ended {
			return place{}, false
		}
		if part := p.parts[k]; strings.HasSuffix(s, "\r") && strings.HasSuffix(s[:len(s)-1], part) {
			start = len(s) - 1 - len(part)
		} else if strings.HasSuffix(s, part) {
			start = len(s) - len(part)
		} else {
			return place{}, false
		}
	}
	end, ok := p.rest(src, i+len(p.parts[p.anchor]), p.anchor+1, work)
	return place{start, end}, ok
}

// matchAt checks the whole pattern from src[start].
func (p pattern) matchAt(src string, start int, work *int) (place, bool) {
	if !strings.HasPrefix(src[start:], p.parts[0]) {
		return place{}, false
	}
	end, ok := p.rest(src, start+len(p.parts[0]), 1, work)
	return place{start, end}, ok
}

// rest checks parts from number k at src[end].
func (p pattern) rest(src string, end, k int, work *int) (int, bool) {
	for _, part := range p.parts[k:] {
		*work++
		s := src[end:]
		n := 0
		switch {
		case strings.HasPrefix(s, "\r\n"):
			n = 2
		case strings.HasPrefix(s, "\n"):
			n = 1
		default:
			return 0, false
		}
		if !strings.HasPrefix(s[n:], part) {
			return 0, false
		}
		end += n + len(part)
	}
	return end, true
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
