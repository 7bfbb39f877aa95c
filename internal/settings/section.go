package settings

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// maxGlob bounds a section's glob in bytes; a longer one matches nothing.
// maxBraces bounds how deep braces are in one another, maxRanges the ranges of
// numbers of a glob: each is a group, and groups make the comparison slow.
const (
	maxGlob   = 1024
	maxBraces = 8
	maxRanges = 16
)

// A sectionGlob is the glob of an .editorconfig section: an expression, whose
// groups are numbers that must lie in ranges. (Alternatives for each number
// would let 64 KiB of text become an expression of many megabytes.)
type sectionGlob struct {
	re     *regexp.Regexp
	base   bool // without a slash: the base name is compared
	ranges [][2]int
}

// compileSection returns nil for a glob that matches nothing.
func compileSection(glob string) *sectionGlob {
	if len(glob) > maxGlob {
		return nil
	}
	g := &sectionGlob{base: !strings.Contains(glob, "/")}
	text := g.expression(strings.TrimPrefix(glob, "/"), 0)
	if len(g.ranges) > maxRanges {
		return nil
	}
	re, err := regexp.Compile("(?s)^(?:" + text + ")$")
	if err != nil {
		return nil
	}
	g.re = re
	return g
}

// match reports whether the glob matches name, slashed, from the folder of the
// .editorconfig file.
func (g *sectionGlob) match(name string) bool {
	if g.base {
		name = path.Base(name)
	}
	m := g.re.FindStringSubmatch(name)
	if m == nil {
		return false
	}
	for i, r := range g.ranges {
		if m[i+1] == "" { // in an alternative that was not taken
			continue
		}
		n, err := strconv.Atoi(m[i+1])
		if err != nil || n < r[0] || n > r[1] {
			return false
		}
	}
	return true
}

var numberRange = regexp.MustCompile(`^([+-]?\d+)\.\.([+-]?\d+)$`)

// expression turns a glob into a regular expression.
func (g *sectionGlob) expression(glob string, depth int) string {
	var b strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			if strings.HasPrefix(glob[i:], "**") {
				b.WriteString(".*")
				i++
			} else {
				b.WriteString("[^/]*")
			}
		case '?':
			b.WriteString("[^/]")
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end <= 0 || strings.Contains(glob[i+1:i+1+end], "/") { // no class: a plain bracket
				b.WriteString(`\[`)
				continue
			}
			b.WriteString(class(glob[i+1 : i+1+end]))
			i += end + 1
		case '{':
			end := closing(glob[i:])
			if end < 0 || depth >= maxBraces {
				b.WriteString(`\{`)
				continue
			}
			b.WriteString(g.braces(glob[i+1:i+end], depth))
			i += end
		case '\\':
			if i+1 < len(glob) {
				i++
				b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
			}
		default:
			b.WriteString(regexp.QuoteMeta(glob[i : i+1]))
		}
	}
	return b.String()
}

// class is the expression for the characters between brackets. None is a slash.
func class(inner string) string {
	not := ""
	if rest, ok := strings.CutPrefix(inner, "!"); ok && rest != "" {
		not, inner = "^/", rest
	}
	return "[" + not + strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`).Replace(inner) + "]"
}

// closing returns the index of the brace that closes the one glob begins
// with, -1 for none.
func closing(glob string) int {
	depth := 0
	for i := 0; i < len(glob); i++ {
		switch glob[i] {
		case '\\':
			i++
		case '{':
			depth++
		case '}':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return -1
}

// braces is the expression for what stands between braces: alternatives, or a
// range of numbers, which have no leading zeros.
func (g *sectionGlob) braces(inner string, depth int) string {
	if m := numberRange.FindStringSubmatch(inner); m != nil {
		a, err1 := strconv.Atoi(m[1])
		b, err2 := strconv.Atoi(m[2])
		if err1 == nil && err2 == nil {
			g.ranges = append(g.ranges, [2]int{min(a, b), max(a, b)})
			return `([+-]?(?:0|[1-9]\d*))`
		}
	}
	var parts []string
	start, level := 0, 0
	for i := 0; i <= len(inner); i++ {
		if i == len(inner) || inner[i] == ',' && level == 0 {
			parts = append(parts, g.expression(inner[start:min(i, len(inner))], depth+1))
			start = i + 1
			continue
		}
		switch inner[i] {
		case '\\':
			i = min(i+1, len(inner)-1)
		case '{':
			level++
		case '}':
			level--
		}
	}
	if len(parts) == 1 { // one word in braces is no choice
		return `\{` + parts[0] + `\}`
	}
	return "(?:" + strings.Join(parts, "|") + ")"
}
