package edits

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// straight returns the ASCII quote that a typographic one stands for.
func straight(r rune) (byte, bool) {
	switch r {
	case '‘', '’':
		return '\'', true
	case '“', '”':
		return '"', true
	}
	return 0, false
}

// foldQuotes returns text with straight quotes and, for each byte of it, the
// offset in text.
func foldQuotes(text string) (string, []int) {
	var b strings.Builder
	at := make([]int, 0, len(text)+1)
	for i := 0; i < len(text); {
		r, n := utf8.DecodeRuneInString(text[i:])
		if q, ok := straight(r); ok {
			b.WriteByte(q)
			at = append(at, i)
		} else {
			b.WriteString(text[i : i+n])
			for k := range n {
				at = append(at, i+k)
			}
		}
		i += n
	}
	return b.String(), append(at, len(text))
}

// maxQuoted bounds the bytes of places whose quotes are compared one by one;
// past it nothing is found, since what is found might not be all.
const maxQuoted = 64 << 20

// findQuotes looks for old where straight quotes in it may be typographic in
// src; its own typographic quotes match themselves only.
func findQuotes(src, old string, all bool) (found, overlapped []place) {
	if !strings.ContainsAny(old, `'"`) || !strings.ContainsAny(src, "‘’“”") {
		return nil, nil
	}
	folded, at := foldQuotes(src)
	needle, _ := foldQuotes(old)
	found, overlapped = compile(needle).find(folded, all)
	check := strings.ContainsAny(old, "‘’“”")
	var list []place
	work := 0
	for _, f := range ordered(append(found, overlapped...)) {
		f = place{at[f.start], at[f.end]}
		if work += f.end - f.start; check && work > maxQuoted {
			if !all && len(list) > 1 { // ambiguous whatever follows
				break
			}
			return nil, nil
		}
		if !check || quotesAgree(src[f.start:f.end], old) {
			list = append(list, f)
		}
	}
	return pick(list)
}

// quotesAgree reports whether got is old but for straight quotes of old that
// are typographic in got, and line ends.
func quotesAgree(got, old string) bool {
	got, old = strings.ReplaceAll(got, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")
	for len(got) > 0 && len(old) > 0 {
		r, n := utf8.DecodeRuneInString(got)
		s, m := utf8.DecodeRuneInString(old)
		if q, ok := straight(r); r != s && !(ok && rune(q) == s) {
			return false
		}
		got, old = got[n:], old[m:]
	}
	return got == "" && old == ""
}

// A quote is a straight quote in a text and the part it plays there.
type quote struct {
	at   int
	kind byte
	part quotePart
}

type quotePart uint8

const (
	opening quotePart = iota
	closing
	apostrophe
)

// typographic returns the character for q.
func (q quote) typographic() string {
	switch {
	case q.kind == '"' && q.part == opening:
		return "“"
	case q.kind == '"':
		return "”"
	case q.part == opening:
		return "‘"
	}
	return "’"
}

// quotesIn returns the straight quotes of text, which stands after lead.
func quotesIn(lead rune, text string) []quote {
	var out []quote
	before, opened := lead, true // opened: before is a quote that opens
	for at, r := range text {
		if r != '"' && r != '\'' {
			before, opened = r, r == '‘' || r == '“'
			continue
		}
		q := quote{at: at, kind: byte(r), part: closing}
		after, _ := utf8.DecodeRuneInString(text[at+1:])
		switch {
		case unicode.IsSpace(before), strings.ContainsRune("([{<-–—", before),
			opened && before != r && strings.ContainsRune("‘“\"'", before):
			q.part = opening
		case r == '\'' && unicode.IsLetter(before) && unicode.IsLetter(after):
			q.part = apostrophe
		}
		out = append(out, q)
		before, opened = r, q.part == opening
	}
	return out
}

// keepQuotes makes the straight quotes of new typographic as those of got are,
// the text that old matched and that stands after before: what new keeps of
// old keeps its quotes, and a new quote is as those that play its part.
func keepQuotes(before, got, old, new string) string {
	lead, _ := utf8.DecodeLastRuneInString(before)
	if before == "" {
		lead = ' '
	}
	was, is := quotesIn(lead, old), quotesIn(lead, new)
	used := quotesUsed(got, old)
	pre, post := commonEnds(old, new)
	// the quotes of both between what they have in common
	first, last := inMiddle(was, pre, len(old)-post)
	from, to := inMiddle(is, pre, len(new)-post)
	var b strings.Builder
	at := 0
	for i, q := range is {
		k := -1 // the quote of old that q is
		switch {
		case i < from:
			k = i
		case i >= to:
			k = last + i - to
		case to-from == last-first:
			k = first + i - from
		}
		b.WriteString(new[at:q.at])
		at = q.at + 1
		switch {
		case k >= 0 && was[k].kind == q.kind && (was[k].part == q.part || used[k] == string(rune(q.kind))):
			b.WriteString(used[k])
		case curly(q, was, used):
			b.WriteString(q.typographic())
		default:
			b.WriteByte(q.kind)
		}
	}
	return b.String() + new[at:]
}

// quotesUsed returns what stands in got for each straight quote of old.
func quotesUsed(got, old string) (out []string) {
	got, old = strings.ReplaceAll(got, "\r\n", "\n"), strings.ReplaceAll(old, "\r\n", "\n")
	for old != "" {
		_, n := utf8.DecodeRuneInString(got)
		_, m := utf8.DecodeRuneInString(old)
		if old[0] == '"' || old[0] == '\'' {
			out = append(out, got[:n])
		}
		got, old = got[n:], old[m:]
	}
	return out
}

// inMiddle returns the indexes [first, last) of the quotes in bytes [from, to).
func inMiddle(list []quote, from, to int) (first, last int) {
	for first < len(list) && list[first].at < from {
		first++
	}
	last = first
	for last < len(list) && list[last].at < to {
		last++
	}
	return first, last
}

// curly reports whether a new quote is to be typographic: as those of its part
// are, else those of its pair, else all of its kind.
func curly(q quote, was []quote, used []string) bool {
	part, pair, kind := [2]int{}, [2]int{}, [2]int{} // straight, typographic
	for i, w := range was {
		if w.kind != q.kind {
			continue
		}
		t := 0
		if len(used[i]) > 1 {
			t = 1
		}
		kind[t]++
		if (w.part == apostrophe) == (q.part == apostrophe) {
			pair[t]++
		}
		if w.part == q.part {
			part[t]++
		}
	}
	for _, n := range [][2]int{part, pair, kind} {
		if n[0]+n[1] > 0 {
			return n[1] > 0 && n[1] >= n[0]
		}
	}
	return false
}
