package edits

import (
	"unicode/utf8"

	"github.com/sergi/go-diff/diffmatchpatch"
)

// refineBudget bounds the work of one Refine, in products of the lengths
// compared; refineLargest bounds one region by the same measure. Past them an
// edit loses only what both of its ends have in common.
const (
	refineBudget  = 16 << 20
	refineLargest = 4 << 20
)

// Refine shrinks each edit of before to what differs inside it. It divides
// neither a character nor a \r\n, in the old text or in the new.
func Refine(before string, list []Edit) []Edit {
	out := make([]Edit, 0, len(list))
	budget := refineBudget
	for _, e := range list {
		old := before[e.Start:e.End]
		if old == e.New {
			continue
		}
		pre, post := commonEnds(old, e.New)
		spans := []span{{pre, len(old) - post, pre, len(e.New) - post}}
		if s := spans[0]; s.a0 < s.a1 && s.b0 < s.b1 {
			if cost := (s.a1 - s.a0) * (s.b1 - s.b0); cost <= min(budget, refineLargest) {
				budget -= cost
				spans = characters(old, e.New, s)
			}
		}
		for _, s := range joined(old, e.New, spans) {
			out = append(out, Edit{Start: e.Start + s.a0, End: e.Start + s.a1, New: e.New[s.b0:s.b1]})
		}
	}
	return out
}

// commonEnds returns how many bytes a and b have in common at the beginning
// and, of what is left, at the end.
func commonEnds(a, b string) (pre, post int) {
	n := min(len(a), len(b))
	for pre < n && a[pre] == b[pre] {
		pre++
	}
	for pre > 0 && (inside(a, pre) || inside(b, pre)) {
		pre--
	}
	for post < n-pre && a[len(a)-1-post] == b[len(b)-1-post] {
		post++
	}
	for post > 0 && (inside(a, len(a)-post) || inside(b, len(b)-post)) {
		post--
	}
	return pre, post
}

// inside reports whether offset i of s is in the middle of a character or of a
// \r\n.
func inside(s string, i int) bool {
	if i <= 0 || i >= len(s) {
		return false
	}
	if s[i] == '\n' {
		return s[i-1] == '\r'
	}
	if utf8.RuneStart(s[i]) {
		return false
	}
	for k := i - 1; k >= max(0, i-3); k-- {
		if utf8.RuneStart(s[k]) {
			_, n := utf8.DecodeRuneInString(s[k:])
			return k+n > i
		}
	}
	return false
}

// characters compares part s of a and b by characters. Text that is not UTF-8
// stays one span, since its bytes all look alike to the comparison.
func characters(a, b string, s span) []span {
	x, y := a[s.a0:s.a1], b[s.b0:s.b1]
	if !utf8.ValidString(x) || !utf8.ValidString(y) {
		return []span{s}
	}
	dmp := diffmatchpatch.New()
	dmp.DiffTimeout = 0 // the budget bounds the work, so that equal texts give equal answers
	parts := dmp.DiffCleanupSemantic(dmp.DiffMain(x, y, false))
	var out []span
	i, j := s.a0, s.b0
	for _, p := range parts {
		n := len(p.Text)
		next := span{i, i, j, j}
		switch p.Type {
		case diffmatchpatch.DiffEqual:
			if i+n > s.a1 || j+n > s.b1 || a[i:i+n] != p.Text || b[j:j+n] != p.Text {
				return []span{s}
			}
			i, j = i+n, j+n
			continue
		case diffmatchpatch.DiffDelete:
			next.a1 = i + n
		case diffmatchpatch.DiffInsert:
			next.b1 = j + n
		}
		i, j = next.a1, next.b1
		if k := len(out) - 1; k >= 0 && out[k].a1 == next.a0 && out[k].b1 == next.b0 {
			out[k].a1, out[k].b1 = i, j
			continue
		}
		out = append(out, next)
	}
	if i != s.a1 || j != s.b1 {
		return []span{s}
	}
	return out
}

// joined widens spans to whole characters and line ends, and makes one of
// those that then touch.
func joined(a, b string, spans []span) []span {
	var out []span
	for _, s := range spans {
		for s.a0 > 0 && s.b0 > 0 && (inside(a, s.a0) || inside(b, s.b0)) {
			s.a0, s.b0 = s.a0-1, s.b0-1
		}
		for s.a1 < len(a) && s.b1 < len(b) && (inside(a, s.a1) || inside(b, s.b1)) {
			s.a1, s.b1 = s.a1+1, s.b1+1
		}
		if k := len(out) - 1; k >= 0 && s.a0 <= out[k].a1 {
			out[k].a1, out[k].b1 = s.a1, s.b1
			continue
		}
		out = append(out, s)
	}
	return out
}
