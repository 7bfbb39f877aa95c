package settings

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// maxEditorconfig bounds an .editorconfig file in bytes; a larger one is
// passed over.
const maxEditorconfig = 64 << 10

// Charset returns the charset that the .editorconfig files from the file's
// folder up to root give the file rel, "" for none. A nearer file wins, and in
// one file a later section; root = true ends the search.
func Charset(root, rel string) string {
	dir := path.Dir(filepath.ToSlash(rel))
	for {
		b, err := readSmall(filepath.Join(root, filepath.FromSlash(dir), ".editorconfig"))
		if err == nil {
			below := strings.TrimPrefix(strings.TrimPrefix(filepath.ToSlash(rel), dir), "/")
			if dir == "." {
				below = filepath.ToSlash(rel)
			}
			value, last := charsetIn(string(b), below)
			if value != "" {
				if value == "unset" {
					return ""
				}
				return value
			}
			if last {
				return ""
			}
		}
		if dir == "." || dir == "/" {
			return ""
		}
		dir = path.Dir(dir)
	}
}

func readSmall(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxEditorconfig {
		return nil, os.ErrInvalid
	}
	return os.ReadFile(name)
}

// charsetIn reads one file's text: the charset for the name below its folder,
// and whether the file is the last to look at.
func charsetIn(text, name string) (value string, last bool) {
	section, matches := false, false
	for line := range strings.Lines(strings.TrimPrefix(text, "\ufeff")) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#' || line[0] == ';':
			continue
		case line[0] == '[' && strings.HasSuffix(line, "]"):
			section = true
			matches = matchSection(line[1:len(line)-1], name)
			continue
		}
		key, v, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		key, v = strings.ToLower(strings.TrimSpace(key)), strings.ToLower(strings.TrimSpace(v))
		switch {
		case !section && key == "root":
			last = v == "true"
		case matches && key == "charset":
			value = v
		}
	}
	return value, last
}

// matchSection reports whether an .editorconfig section's glob matches the
// name: without a slash the base name, else the name from the file's folder.
func matchSection(glob, name string) bool {
	if len(glob) > 1024 {
		return false
	}
	if i := strings.IndexByte(glob, '/'); i < 0 {
		name = path.Base(name)
	} else if i == 0 {
		glob = glob[1:]
	}
	re, err := regexp.Compile("^(?:" + globRegexp(glob, 0) + ")$")
	return err == nil && re.MatchString(name)
}

var numberRange = regexp.MustCompile(`^([+-]?\d+)\.\.([+-]?\d+)$`)

// globRegexp turns an .editorconfig glob into a regular expression.
func globRegexp(glob string, depth int) string {
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
			if end <= 0 {
				b.WriteString(`\[`)
				continue
			}
			class := glob[i+1 : i+1+end]
			i += end + 1
			b.WriteByte('[')
			if class[0] == '!' {
				b.WriteByte('^')
				class = class[1:]
			}
			b.WriteString(strings.NewReplacer(`\`, `\\`, "[", `\[`, "^", `\^`).Replace(class))
			b.WriteByte(']')
		case '{':
			end := closing(glob[i:])
			if end < 0 || depth > 8 {
				b.WriteString(`\{`)
				continue
			}
			b.WriteString(braces(glob[i+1:i+end], depth))
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

// closing returns the index of the brace that closes the one glob begins with.
func closing(glob string) int {
	depth := 0
	for i := range len(glob) {
		switch glob[i] {
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
// range of numbers.
func braces(inner string, depth int) string {
	if m := numberRange.FindStringSubmatch(inner); m != nil {
		lo, err1 := strconv.Atoi(m[1])
		hi, err2 := strconv.Atoi(m[2])
		if err1 == nil && err2 == nil && hi >= lo && hi-lo < 1000 {
			var parts []string
			for n := lo; n <= hi; n++ {
				parts = append(parts, strconv.Itoa(n))
			}
			return "(?:" + strings.Join(parts, "|") + ")"
		}
	}
	var parts []string
	start, level := 0, 0
	for i := 0; i <= len(inner); i++ {
		if i == len(inner) || inner[i] == ',' && level == 0 {
			parts = append(parts, globRegexp(inner[start:i], depth+1))
			start = i + 1
			continue
		}
		switch inner[i] {
		case '{':
			level++
		case '}':
			level--
		}
	}
	if len(parts) == 1 { // {single} is not a choice
		return `\{` + parts[0] + `\}`
	}
	return "(?:" + strings.Join(parts, "|") + ")"
}
