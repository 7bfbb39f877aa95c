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

// findQuotes looks for old where straight quotes in it may be typographic in
// src; its own typographic quotes match themselves only.
func findQuotes(src, old string, all bool) []place {
	if !strings.ContainsAny(old, `'"`) || !strings.ContainsAny(src, "‘’“”") {
		return nil
	}
	folded, at := foldQuotes(src)
	needle, _ := foldQuotes(old)
	found, _ := compile(needle).find(folded, all)
	out := found[:0]
	for _, f := range found {
		f = place{at[f.start], at[f.end]}
		if quotesAgree(src[f.start:f.end], old) {
			out = append(out, f)
		}
	}
	return out
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

// keepQuotes makes the straight quotes of new typographic as those of got are,
// the text that old matched: the same where new has as many of the kind as
// old, else opening or closing by what is before.
func keepQuotes(got, old, new string) string {
	for _, kind := range []byte{'\'', '"'} {
		var used []rune
		curly := false
		for _, r := range got {
			if q, ok := straight(r); ok && q == kind {
				used, curly = append(used, r), true
			} else if r == rune(kind) {
				used = append(used, r)
			}
		}
		if !curly {
			continue
		}
		same := strings.Count(new, string(kind)) == strings.Count(old, string(kind)) && strings.Count(old, string(kind)) == len(used)
		var b strings.Builder
		n, before := 0, ' '
		for _, r := range new {
			if r == rune(kind) {
				if same {
					r = used[n]
				} else {
					r = curlyFor(kind, before)
				}
				n++
			}
			b.WriteRune(r)
			before = r
		}
		new = b.String()
	}
	return new
}

func curlyFor(kind byte, before rune) rune {
	open := unicode.IsSpace(before) || strings.ContainsRune("([{<-–—‘“\"'", before)
	switch {
	case kind == '"' && open:
		return '“'
	case kind == '"':
		return '”'
	case open:
		return '‘'
	}
	return '’'
}
