package edits

import (
	"fmt"
	"regexp"
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

var linePrefix = regexp.MustCompile(`(?m)^ *[0-9]+\t`)

// explain says what in src is nearest to old and how it differs.
func explain(src, old string) string {
	if len(src) > maxExplained || len(old) > maxExplained {
		return ""
	}
	if n := len(linePrefix.FindAllStringIndex(old, -1)); n > 0 {
		bare := linePrefix.ReplaceAllString(old, "")
		if f, _ := compile(bare).find(src, false); bare != "" && len(f) > 0 {
			return fmt.Sprintf("It seems to contain the line-number prefix of Read's output (spaces, number, tab), which is not part of the file. Without it the text is at line %d. Use exactly:\n%s", document.Lines(src).At(f[0].start), sample(src[f[0].start:f[0].end]))
		}
	}
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

// folded is text without what people do not see or mean: blanks, width, case,
// composition, typographic punctuation. at holds the offset of each byte.
func folded(text string) (string, []int32) {
	out := make([]byte, 0, len(text))
	at := make([]int32, 0, len(text)+1)
	put := func(s string, from int) {
		for i := range len(s) {
			out = append(out, s[i])
			at = append(at, int32(from))
		}
	}
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
		switch {
		case r == utf8.RuneError, unicode.IsSpace(r), unicode.In(r, unicode.Zs, unicode.Cf, unicode.Mn):
			// combining marks go, so that composed and decomposed agree
		case strings.ContainsRune("‘’‚", r):
			put("'", i)
		case strings.ContainsRune("“”„", r):
			put(`"`, i)
		case strings.ContainsRune("–—−‐‑", r):
			put("-", i)
		case r == '…':
			put("...", i)
		default:
			s := norm.NFD.String(width.Fold.String(text[i : i+n]))
			for _, d := range s {
				if !unicode.In(d, unicode.Mn) {
					put(string(unicode.ToLower(d)), i)
				}
			}
		}
		i += n
	}
	return string(out), append(at, int32(len(text)))
}

// findFolded finds old in src when both are folded.
func findFolded(src, old string) (place, bool) {
	needle, _ := folded(old)
	if needle == "" {
		return place{}, false
	}
	hay, at := folded(src)
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
	want := strings.Split(strings.TrimRight(old, "\r\n"), "\n")
	for i := range want {
		want[i], _ = folded(want[i])
	}
	first := 0
	for first < len(want) && len(want[first]) < 3 {
		first++
	}
	if first == len(want) {
		return ""
	}
	have := splitLines(src)
	fold := make([]string, len(have))
	best, length := -1, 0
	for i := range have {
		fold[i], _ = folded(have[i])
		if fold[i] == want[first] || len(want) == 1 && overlap(fold[i], want[first]) {
			if best < 0 {
				best, length = i, 0
			}
		}
	}
	for i := range have {
		n := 0
		for first+n < len(want) && i+n < len(have) && fold[i+n] == want[first+n] {
			n++
		}
		if n > length {
			best, length = i, n
		}
	}
	switch {
	case best < 0:
		return similar(have, fold, want[first])
	case length == 0:
		return fmt.Sprintf("The nearest place is line %d. Use exactly the text that stands there:\n%s", best+1, sample(have[best]))
	case best+length >= len(have):
		return fmt.Sprintf("Its first %d lines are at line %d, where the file then ends.", length, best+1)
	}
	return fmt.Sprintf("Its beginning is at line %d, but line %d of the file differs from the string. The file has there:\n%s", best+1, best+length+1, sample(strings.Join(have[best:min(len(have), best+len(want)-first)], "")))
}

// overlap reports whether one folded line holds most of the other.
func overlap(a, b string) bool {
	n := min(len(a), len(b))
	if n < 6 || 2*n < max(len(a), len(b)) {
		return false
	}
	return strings.Contains(a, b) || strings.Contains(b, a)
}

// similar names the line that shares the most three-byte runs with want.
func similar(have, fold []string, want string) string {
	grams := map[string]bool{}
	for i := 0; i+3 <= len(want) && i < 400; i++ {
		grams[want[i:i+3]] = true
	}
	best, score := -1, 0.5
	for i, f := range fold[:min(len(fold), 200_000)] {
		if len(f) > 4*len(want)+20 {
			continue
		}
		n := 0
		for k := 0; k+3 <= len(f); k++ {
			if grams[f[k:k+3]] {
				n++
			}
		}
		if s := float64(n) / float64(max(len(grams), len(f)-2, 1)); s > score {
			best, score = i, s
		}
	}
	if best < 0 {
		return ""
	}
	return fmt.Sprintf("The most similar line is %d:\n%s", best+1, sample(have[best]))
}
