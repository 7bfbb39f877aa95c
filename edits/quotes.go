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
func findQuotes(src, old string, all bool) (found, overlapped []place) {
	if !strings.ContainsAny(old, `'"`) || !strings.ContainsAny(src, "‘’“”") {
		return nil, nil
	}
	folded, at := foldQuotes(src)
	needle, _ := foldQuotes(old)
	found, overlapped = compile(needle).find(folded, all)
	var list []place
	for _, f := range ordered(append(found, overlapped...)) {
		f = place{at[f.start], at[f.end]}
		if quotesAgree(src[f.start:f.end], old) {
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

// keepQuotes makes the straight quotes of new typographic as those of got are,
// the text that old matched and that stands after before: the same quote where
// new has as many of the kind as old and it still opens or closes, else what
// the character before it asks for.
func keepQuotes(before, got, old, new string) string {
	lead, _ := utf8.DecodeLastRuneInString(before)
	if before == "" {
		lead = ' '
	}
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
		was := curlies(lead, old, kind)
		n := strings.Count(new, string(kind))
		same := n == len(was) && n == len(used)
		is := curlies(lead, new, kind)
		for i := range is {
			if same && is[i] == was[i] {
				is[i] = used[i]
			}
		}
		var b strings.Builder
		for _, r := range is {
			i := strings.IndexByte(new, kind)
			b.WriteString(new[:i])
			b.WriteRune(r)
			new = new[i+1:]
		}
		new = b.String() + new
	}
	return new
}

// curlies returns the typographic quote for each quote of a kind in text, which
// stands after before.
func curlies(before rune, text string, kind byte) (out []rune) {
	for _, r := range text {
		if r == rune(kind) {
			r = curlyFor(kind, before)
			out = append(out, r)
		}
		before = r
	}
	return out
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
