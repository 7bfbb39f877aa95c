package edits

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"coedit/document"

	"golang.org/x/text/unicode/norm"
)

// maxDifferences bounds the differences that an error names.
const maxDifferences = 3

// describe says how the text at f, which means the same as old, differs from it.
func describe(src, old string, f place) string {
	x := document.Lines(src)
	got := src[f.start:f.end]
	first := x.At(f.start)
	where := fmt.Sprintf("The text is at line %d", first)
	if last := x.At(max(f.start, f.end-1)); last > first {
		where = fmt.Sprintf("The text is at lines %d to %d", first, last)
	}
	if norm.NFC.String(got) == norm.NFC.String(old) {
		form := func(s string) string {
			if norm.NFC.IsNormalString(s) {
				return "NFC"
			}
			return "NFD"
		}
		return fmt.Sprintf("%s; it differs only in Unicode normalisation: file %s, request %s, line %d. Use exactly:\n%s", where, form(got), form(old), first, sample(got))
	}
	diffs := differences(src, f, old, x)
	if len(diffs) == 0 {
		return where + ". Use exactly:\n" + sample(got)
	}
	return where + ", but differs from the string: " + strings.Join(diffs, "; ") + ". Use exactly:\n" + sample(got)
}

// differences walks both texts side by side.
func differences(src string, f place, old string, x document.LineIndex) []string {
	var out []string
	i, end, j := f.start, f.end, 0
	for (i < end || j < len(old)) && len(out) < maxDifferences {
		if i < end && j < len(old) {
			r, n := utf8.DecodeRuneInString(src[i:end])
			s, m := utf8.DecodeRuneInString(old[j:])
			if r == s && n == m && !(r == utf8.RuneError && src[i] != old[j]) {
				i, j = i+n, j+m
				continue
			}
		}
		// go back to the beginning of the run of blanks on both sides
		gi, gj := i, j
		for gi > f.start && gj > 0 && isBlankByte(src[gi-1]) && src[gi-1] == old[gj-1] {
			gi, gj = gi-1, gj-1
		}
		fileRun, wantRun := blanks(src[gi:end]), blanks(old[gj:])
		if fileRun != wantRun {
			out = append(out, blankDifference(src, gi, fileRun, wantRun, x))
			i, j = gi+len(fileRun), gj+len(wantRun)
			continue
		}
		if i >= end || j >= len(old) {
			break
		}
		r, n := cluster(src[i:end])
		s, m := cluster(old[j:])
		out = append(out, characterDifference(src, i, r, s, x))
		i, j = i+n, j+m
	}
	return out
}

func isBlankByte(c byte) bool { return c == ' ' || c == '\t' }

// blanks returns the run of blanks, line ends and invisible characters that s
// begins with.
func blanks(s string) string {
	n := 0
	for n < len(s) {
		r, k := utf8.DecodeRuneInString(s[n:])
		if !unicode.IsSpace(r) && !unicode.In(r, unicode.Zs, unicode.Cf) {
			break
		}
		n += k
	}
	return s[:n]
}

// cluster returns the first character of s with its combining marks.
func cluster(s string) (string, int) {
	_, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		r, k := utf8.DecodeRuneInString(s[n:])
		if !unicode.In(r, unicode.Mn) {
			break
		}
		n += k
	}
	return s[:n], n
}

func blankDifference(src string, at int, file, want string, x document.LineIndex) string {
	line := x.At(at)
	start, _ := x.Bounds(line)
	for i, r := range file { // the characters that look like a space
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			return fmt.Sprintf("line %d has U+%04X (% x) at column %d", x.At(at+i), r, string(r), x.Column(at+i))
		}
	}
	for _, r := range want {
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			return fmt.Sprintf("the request has U+%04X (% x) where line %d, column %d has %s", r, string(r), line, x.Column(at), counted(file))
		}
	}
	what := "white space"
	switch {
	case strings.Contains(file, "\n") != strings.Contains(want, "\n"):
		what = "line breaks"
	case at == start && !strings.Contains(file, "\n"):
		what = "leading whitespace"
	case strings.Contains(file, "\r\n") != strings.Contains(want, "\r\n"):
		what = "line end (CRLF or LF)"
	case strings.Contains(file, "\n"):
		what = "white space around the line end"
	}
	return fmt.Sprintf("%s of line %d: file has %s, the request has %s", what, line, counted(file), counted(want))
}

// counted names a run of blanks.
func counted(s string) string {
	if s == "" {
		return "nothing"
	}
	var parts []string
	for i := 0; i < len(s); {
		n := 1
		for i+n < len(s) && s[i+n] == s[i] {
			n++
		}
		name := map[byte]string{'\t': "tab", ' ': "space", '\n': "line feed", '\r': "carriage return"}[s[i]]
		if name == "" {
			name = "other blank"
		}
		plural := ""
		if n > 1 {
			plural = "s"
		}
		parts = append(parts, fmt.Sprintf("%d %s%s (0x%02x)", n, name, plural, s[i]))
		if i += n; len(parts) == 6 {
			parts = append(parts, "…")
			break
		}
	}
	return strings.Join(parts, ", ")
}

func characterDifference(src string, at int, file, want string, x document.LineIndex) string {
	place := fmt.Sprintf("line %d, column %d", x.At(at), x.Column(at))
	if strings.EqualFold(file, want) {
		return fmt.Sprintf("letter case at %s: %q in the file, %q in the request", place, file, want)
	}
	return fmt.Sprintf("%s at %s in the file, %s in the request", codes(file), place, codes(want))
}

func codes(s string) string {
	var parts []string
	for i, r := range s {
		if len(parts) == 4 { // more marks than a reader can use
			s = s[:i]
			break
		}
		parts = append(parts, fmt.Sprintf("U+%04X", r))
	}
	return strings.Join(parts, " ") + " (" + s + ")"
}

// sample cuts text to what helps in an error: 10 lines, 500 bytes.
func sample(text string) string {
	lines := splitLines(text)
	cut := ""
	if len(lines) > 10 {
		cut = fmt.Sprintf("\n… (%d more lines)", len(lines)-10)
		lines = lines[:10]
	}
	s := strings.Join(lines, "")
	if len(s) > 500 {
		n := 500
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		cut = fmt.Sprintf("… (%d more bytes)", len(text)-n)
		s = s[:n]
	}
	return strings.TrimSuffix(s, "\n") + cut
}
