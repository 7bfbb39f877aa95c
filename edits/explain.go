package edits

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"coedit/document"

	"golang.org/x/text/unicode/norm"
	"golang.org/x/text/width"
)

func (e *MatchError) Error() string {
	switch e.Reason {
	case EmptyOld:
		return "old_string is empty, and the file exists and is not empty"
	case NoChange:
		return "old_string and new_string are the same: nothing would change"
	case Ambiguous:
		n := fmt.Sprint(e.Total)
		if e.Total >= maxFound {
			n += " or more"
		}
		s := fmt.Sprintf("found %s matches of the string to replace, but replace_all is false: lines %s", n, numbers(e.Lines, e.Total))
		if len(e.Unseen) > 0 {
			s += fmt.Sprintf(". Of these you have not seen line %s", numbers(e.Unseen, len(e.Unseen)))
		}
		return s + ". Add lines around the string to make it unique, or set replace_all."
	}
	s := "string to replace not found in file."
	if e.Hint != "" {
		return s + " " + e.Hint
	}
	return s + " Nothing like it is there. Read the file again and copy the text exactly."
}

func numbers(lines []int, total int) string {
	var b strings.Builder
	for i, n := range lines {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, n)
	}
	if total > len(lines) {
		b.WriteString(", …")
	}
	return b.String()
}

// maxExplained bounds the text that is searched to word an error.
const maxExplained = 16 << 20

// maxCompared bounds the pairs of lines that are compared to word an error.
const maxCompared = 1 << 21

var linePrefix = regexp.MustCompile(`(?m)^ *[0-9]+[\t→]`)

// explain says what in src is nearest to old and how it differs.
func explain(src, old string) string {
	if src == "" {
		return "The file is empty."
	}
	if len(src) > maxExplained || len(old) > maxExplained {
		return ""
	}
	if bare := linePrefix.ReplaceAllString(old, ""); bare != old {
		const prefixed = "The string seems to contain the line-number prefix of Read's output (spaces, number, tab), which is not part of the file. "
		if f, _ := compile(bare).find(src, false); bare != "" && len(f) > 0 {
			return fmt.Sprintf("%sWithout it the text is at line %d. Use exactly:\n%s", prefixed, document.Lines(src).At(f[0].start), sample(src[f[0].start:f[0].end]))
		}
		if hint := nearest(src, bare); hint != "" {
			return prefixed + hint
		}
		return prefixed + "Without it the text is not found either."
	}
	return nearest(src, old)
}

func nearest(src, old string) string {
	if hint := escapes(src, old); hint != "" {
		return hint
	}
	if f, ok := findFolded(src, old); ok {
		return describe(src, old, f)
	}
	return partial(src, old)
}

// escapes finds out whether old was escaped once too often or too seldom.
func escapes(src, old string) string {
	for _, c := range []struct {
		what string
		r    *strings.Replacer
	}{
		{"its backslashes are doubled", strings.NewReplacer(`\\`, `\`)},
		{`it has \n, \t or \" as two characters where the file has the characters themselves`, strings.NewReplacer(`\n`, "\n", `\t`, "\t", `\"`, `"`, `\'`, `'`, `\\`, `\`)},
		{`it has line breaks or tabs where the file has \n or \t as two characters`, strings.NewReplacer("\n", `\n`, "\t", `\t`)},
		{"backslashes are doubled in the file", strings.NewReplacer(`\`, `\\`)},
		{"it has HTML entities where the file has the characters", strings.NewReplacer("&lt;", "<", "&gt;", ">", "&quot;", `"`, "&#39;", "'", "&amp;", "&")},
		{"the file has HTML entities", strings.NewReplacer("<", "&lt;", ">", "&gt;", "&", "&amp;")},
	} {
		other := c.r.Replace(old)
		if other == old || other == "" {
			continue
		}
		if f, _ := compile(other).find(src, false); len(f) > 0 {
			return fmt.Sprintf("The string differs in its escapes: %s (line %d). Use exactly:\n%s", c.what, document.Lines(src).At(f[0].start), sample(src[f[0].start:f[0].end]))
		}
	}
	return ""
}

// A folder folds texts and remembers the characters it has met.
type folder map[rune]string

func (known folder) fold(r rune) string {
	s, ok := known[r]
	if ok {
		return s
	}
	switch {
	case r == utf8.RuneError, unicode.IsSpace(r), unicode.In(r, unicode.Zs, unicode.Cf, unicode.Mn):
		// combining marks go, so that composed and decomposed agree
	case strings.ContainsRune("‘’‚", r):
		s = "'"
	case strings.ContainsRune("“”„", r):
		s = `"`
	case strings.ContainsRune("–—−‐‑", r):
		s = "-"
	case r == '…':
		s = "..."
	default:
		for _, d := range norm.NFD.String(width.Fold.String(string(r))) {
			if !unicode.In(d, unicode.Mn) {
				s += string(unicode.ToLower(d))
			}
		}
	}
	known[r] = s
	return s
}

// folded is text without what people do not see or mean: blanks, width, case,
// composition, typographic punctuation. at holds the offset of each byte.
func (known folder) folded(text string) (string, []int32) {
	out := make([]byte, 0, len(text))
	at := make([]int32, 0, len(text)+1)
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' || c == '\v':
			case 'A' <= c && c <= 'Z':
				out, at = append(out, c+32), append(at, int32(i))
			default:
				out, at = append(out, c), append(at, int32(i))
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		s := known.fold(r)
		out = append(out, s...)
		for range len(s) {
			at = append(at, int32(i))
		}
		i += n
	}
	return string(out), append(at, int32(len(text)))
}

// findFolded finds old in src when both are folded.
func findFolded(src, old string) (place, bool) {
	known := folder{}
	needle, _ := known.folded(old)
	if needle == "" {
		return place{}, false
	}
	hay, at := known.folded(src)
	i := strings.Index(hay, needle)
	if i < 0 {
		return place{}, false
	}
	start, end := int(at[i]), int(at[i+len(needle)-1])
	_, n := utf8.DecodeRuneInString(src[end:])
	end += n
	// blanks and marks around belong to the place as far as old has some
	for end < len(src) {
		r, n := utf8.DecodeRuneInString(src[end:])
		if !unicode.In(r, unicode.Mn) {
			break
		}
		end += n
	}
	if lead := leading(old); lead != "" {
		for start > 0 {
			r, n := utf8.DecodeLastRuneInString(src[:start])
			if !blank(r) && (r != '\n' || !strings.Contains(lead, "\n")) {
				break
			}
			start -= n
		}
	}
	if trailing(old) != "" {
		for end < len(src) {
			r, n := utf8.DecodeRuneInString(src[end:])
			if !blank(r) {
				if r == '\n' && strings.HasSuffix(old, "\n") {
					end += n
				}
				break
			}
			end += n
		}
	}
	return place{start, end}, true
}

func blank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || unicode.In(r, unicode.Zs) }

func leading(s string) string {
	return s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsSpace))]
}

func trailing(s string) string {
	return s[len(strings.TrimRightFunc(s, unicode.IsSpace)):]
}

// partial finds the place where the first lines of old stand, folded, and says
// where the two part ways.
func partial(src, old string) string {
	wanted := splitLines(strings.TrimRight(old, "\r\n"))
	known := folder{}
	want := make([]string, len(wanted))
	for i, l := range wanted {
		want[i], _ = known.folded(l)
	}
	first := 0
	for first < len(want) && want[first] == "" {
		first++
	}
	if first == len(want) {
		return ""
	}
	have := splitLines(src)
	fold := make([]string, len(have))
	best, length, work := -1, 0, 0
	for i := range have {
		fold[i], _ = known.folded(have[i])
		if best < 0 && len(want) == 1 && overlap(fold[i], want[first]) {
			best = i
		}
	}
	for i := 0; i < len(have) && work < maxCompared; i++ {
		n := 0
		for first+n < len(want) && i+n < len(have) && fold[i+n] == want[first+n] {
			n++
		}
		work += n
		if n > length {
			best, length = i, n
		}
	}
	switch {
	case best < 0:
		i := similar(fold, want[first])
		if i < 0 {
			return ""
		}
		return fmt.Sprintf("The most similar line is %d; %s. The file has there:\n%s", i+1, parting(i+1, have[i], wanted[first]), sample(have[i]))
	case length == 0:
		return fmt.Sprintf("The nearest place is line %d; %s. The file has there:\n%s", best+1, parting(best+1, have[best], wanted[first]), sample(have[best]))
	case best+length >= len(have):
		return fmt.Sprintf("Its beginning is at line %d, but the file ends with line %d.", best+1, len(have))
	}
	at := best + length
	return fmt.Sprintf("Its beginning is at line %d, but line %d of the file differs from the string: %s. The file has there:\n%s",
		best+1, at+1, parting(at+1, have[at], wanted[min(first+length, len(wanted)-1)]), around(have, best, min(len(have), best+len(want)-first), at))
}

// around quotes lines [from, to), or those about at where they are many.
func around(lines []string, from, to, at int) string {
	if at-from > 5 {
		from = at - 5
	}
	return sample(strings.Join(lines[from:to], ""))
}

// parting says where line n of the file and a line of the request part ways.
func parting(n int, have, want string) string {
	have, want = strings.TrimRight(have, "\r\n"), strings.TrimRight(want, "\r\n")
	i := 0
	for i < len(have) && i < len(want) && have[i] == want[i] {
		i++
	}
	for i > 0 && (inside(have, i) || inside(want, i)) {
		i--
	}
	return fmt.Sprintf("from line %d, column %d on the file has %s%s, the request has %s%s",
		n, 1+utf8.RuneCountInString(have[:i]), strange(have[i:]), excerpt(have[i:]), strange(want[i:]), excerpt(want[i:]))
}

// excerpt quotes the beginning of s.
func excerpt(s string) string {
	n := 0
	for i := range s {
		if n++; n > 24 {
			return strconv.Quote(s[:i]) + "…"
		}
	}
	if s == "" {
		return "the end of the line"
	}
	return strconv.Quote(s)
}

// strange names the first character of s where it is no ASCII.
func strange(s string) string {
	if r, _ := utf8.DecodeRuneInString(s); s != "" && r >= utf8.RuneSelf {
		return fmt.Sprintf("U+%04X, ", r)
	}
	return ""
}

// overlap reports whether one folded line holds most of the other.
func overlap(a, b string) bool {
	n := min(len(a), len(b))
	if n < 6 || 2*n < max(len(a), len(b)) {
		return false
	}
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// similar returns the index of the line that shares the most three-byte runs
// with want, -1 where none shares half of them.
func similar(fold []string, want string) int {
	grams := map[[3]byte]bool{}
	for i := 0; i+3 <= len(want) && i < 400; i++ {
		grams[[3]byte([]byte(want[i:i+3]))] = true
	}
	best, score := -1, 0.5
	for i, f := range fold[:min(len(fold), 200_000)] {
		if len(f) > 4*len(want)+20 {
			continue
		}
		n := 0
		for k := 0; k+3 <= len(f); k++ {
			if grams[[3]byte([]byte(f[k:k+3]))] {
				n++
			}
		}
		if s := float64(n) / float64(max(len(grams), len(f)-2, 1)); s > score {
			best, score = i, s
		}
	}
	return best
}
