package edits

import (
	"fmt"
	"regexp"
	"slices"
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
		if i > 0 && n == lines[i-1] {
			continue // several on one line
		}
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
	if f, ok := nearestFolded(src, old); ok {
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

// maxPlaces bounds the places that are compared to find the nearest.
const maxPlaces = 16

// nearestFolded finds old in src when both are folded: of the first places the
// one that differs least.
func nearestFolded(src, old string) (best place, ok bool) {
	known := folder{}
	needle, _ := known.folded(old)
	if needle == "" {
		return place{}, false
	}
	hay, at := known.folded(src)
	least := 0
	for from, n := 0, 0; n < maxPlaces; n++ {
		i := strings.Index(hay[from:], needle)
		if i < 0 {
			break
		}
		i += from
		from = i + len(needle)
		f := unfolded(src, old, int(at[i]), int(at[from-1]))
		if d := distance(src[f.start:f.end], old); !ok || d < least {
			best, least, ok = f, d, true
		}
	}
	return best, ok
}

// distance is a cheap measure of how far apart two texts are that fold alike:
// the characters that only one of them has.
func distance(a, b string) (n int) {
	count := map[rune]int{}
	for i, r := range a {
		if i > maxDistance {
			break
		}
		count[r]++
	}
	for i, r := range b {
		if i > maxDistance {
			break
		}
		count[r]--
	}
	for _, c := range count {
		n += max(c, -c)
	}
	return n
}

// maxDistance bounds the bytes that distance reads of each text.
const maxDistance = 1 << 16

// unfolded returns the place whose first and last characters begin at start
// and end, with the blanks and marks around it as far as old has some.
func unfolded(src, old string, start, end int) place {
	_, n := utf8.DecodeRuneInString(src[end:])
	end += n
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
	return place{start, end}
}

func blank(r rune) bool { return r == ' ' || r == '\t' || r == '\r' || unicode.In(r, unicode.Zs) }

func leading(s string) string {
	return s[:len(s)-len(strings.TrimLeftFunc(s, unicode.IsSpace))]
}

func trailing(s string) string {
	return s[len(strings.TrimRightFunc(s, unicode.IsSpace)):]
}

// partial finds the place where most of old stands, line by line and folded,
// and says where the two part ways.
func partial(src, old string) string {
	wanted, have := splitLines(strings.TrimRight(old, "\r\n")), splitLines(src)
	known := folder{}
	want, fold := make([]string, len(wanted)), make([]string, len(have))
	for i, l := range wanted {
		want[i], _ = known.folded(l)
	}
	for i, l := range have {
		fold[i], _ = known.folded(l)
	}
	first := 0
	for first < len(want) && want[first] == "" {
		first++
	}
	if first == len(want) {
		return ""
	}
	if best, ok := aligned(fold, want); ok {
		return parted(have, wanted, best, func(i int) bool { return fold[best+i] == want[i] })
	}
	for i := range fold {
		if overlap(fold[i], want[first]) {
			return fmt.Sprintf("The nearest place is line %d; %s. The file has there:\n%s", i+1, parting(i+1, have[i], wanted[first]), sample(have[i]))
		}
	}
	i := similar(fold, want[first])
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("The most similar line is %d; %s. The file has there:\n%s", i+1, parting(i+1, have[i], wanted[first]), sample(have[i]))
}

// aligned returns the index in have, which may be below 0, at which want has
// most text in lines that are the same.
func aligned(have, want []string) (best int, ok bool) {
	at := make(map[string][]int, len(want))
	for i, l := range want {
		if l != "" {
			at[l] = append(at[l], i)
		}
	}
	weight, work, total := map[int]int{}, 0, 0
	first := slices.IndexFunc(want, func(l string) bool { return l != "" })
	for _, l := range want {
		total += len(l)
	}
	for i, l := range have {
		for _, j := range at[l] {
			weight[i-j] += len(l)
			work++
		}
		if work > maxCompared {
			break
		}
	}
	most := 0
	for i, w := range weight {
		if nearer := min(i, best) < 0 && i > best || min(i, best) >= 0 && i < best; w > most || w == most && nearer {
			best, most, ok = i, w, true
		}
	}
	if !ok || most < 3 && 2*most < total { // a bracket or two in common say nothing
		return 0, false
	}
	// where lines are missing on one side the beginning stands a little off
	for n := range maxMissing {
		if len(want[first]) < 3 {
			break
		}
		for _, i := range []int{best - n, best + n} {
			if k := i + first; k >= 0 && k < len(have) && have[k] == want[first] {
				return i, true
			}
		}
	}
	return best, true
}

// maxMissing is how many missing lines are passed to find a beginning.
const maxMissing = 40

// parted words where wanted, which begins at line index best of have, differs
// first; same compares a line of it.
func parted(have, wanted []string, best int, same func(int) bool) string {
	from, to := max(0, best), min(len(have), best+len(wanted))
	if best < 0 {
		return fmt.Sprintf("A part of it is at line 1, but the file has nothing before it. The file has there:\n%s", sample(strings.Join(have[from:to], "")))
	}
	i := 0
	for i < len(wanted) && best+i < len(have) && same(i) {
		i++
	}
	switch at := best + i; {
	case at >= len(have):
		return fmt.Sprintf("Its beginning is at line %d, but the file ends with line %d.", best+1, len(have))
	case i == len(wanted): // no line differs by what is compared
		return ""
	case i == 0:
		return fmt.Sprintf("The nearest place is line %d; %s. The file has there:\n%s", at+1, parting(at+1, have[at], wanted[i]), around(have, from, to, at))
	default:
		return fmt.Sprintf("Its beginning is at line %d, but line %d of the file differs from the string: %s. The file has there:\n%s",
			best+1, at+1, parting(at+1, have[at], wanted[i]), around(have, from, to, at))
	}
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
