// Package glob is glob and ignore patterns: doublestar, gitignore, LSP file
// patterns.
package glob

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// ErrPattern is what is wrong with a pattern that can't be used.
var ErrPattern = errors.New("bad pattern")

const (
	maxPattern    = 4 << 10
	maxExpansions = 1000
)

// LSPFile returns a matcher of absolute file names for a file pattern of the
// language server protocol (3.17, Pattern): * ? ** {a,b} [a-z] [!a-z], taken
// relative to base, an absolute directory, unless the pattern is absolute. The
// error is ErrPattern, also for a pattern with over 1,000 alternatives.
func LSPFile(base, pattern string) (func(name string) bool, error) {
	if len(pattern) > maxPattern {
		return nil, fmt.Errorf("%w: longer than %d bytes", ErrPattern, maxPattern)
	}
	pattern = filepath.ToSlash(pattern)
	list, err := expand(pattern)
	if err != nil {
		return nil, err
	}
	prefix := strings.TrimSuffix(filepath.ToSlash(base), "/") + "/"
	for i, p := range list {
		p = strings.TrimPrefix(p, "./")
		if !doublestar.ValidatePattern(p) {
			return nil, fmt.Errorf("%w: %.200q", ErrPattern, p)
		}
		list[i] = p
	}
	return func(name string) bool {
		name = filepath.ToSlash(name)
		rel, below := strings.CutPrefix(name, prefix)
		for _, p := range list {
			if strings.HasPrefix(p, "/") || filepath.IsAbs(filepath.FromSlash(p)) {
				if doublestar.MatchUnvalidated(p, name) {
					return true
				}
			} else if below && doublestar.MatchUnvalidated(p, rel) {
				return true
			}
		}
		return false
	}, nil
}

// expand returns the patterns that one with braces stands for. The number of
// them is bounded before they are made.
func expand(pattern string) ([]string, error) {
	out := []string{""}
	for i := 0; i < len(pattern); {
		switch pattern[i] {
		case '{':
			end, parts := alternatives(pattern[i:])
			if end < 0 {
				return nil, fmt.Errorf("%w: { without }", ErrPattern)
			}
			var inner []string
			for _, part := range parts {
				more, err := expand(part)
				if err != nil {
					return nil, err
				}
				if inner = append(inner, more...); len(inner)*len(out) > maxExpansions {
					return nil, fmt.Errorf("%w: over %d alternatives", ErrPattern, maxExpansions)
				}
			}
			next := make([]string, 0, len(out)*len(inner))
			for _, o := range out {
				for _, in := range inner {
					next = append(next, o+in)
				}
			}
			out = next
			i += end
		case '[':
			j := strings.IndexByte(pattern[i:], ']')
			if j < 0 {
				return nil, fmt.Errorf("%w: [ without ]", ErrPattern)
			}
			for k := range out {
				out[k] += pattern[i : i+j+1]
			}
			i += j + 1
		default:
			j := strings.IndexAny(pattern[i:], "{[")
			if j < 0 {
				j = len(pattern) - i
			}
			for k := range out {
				out[k] += pattern[i : i+j]
			}
			i += j
		}
	}
	return out, nil
}

// alternatives splits a text that begins with { at the commas of that brace,
// and returns how long it is; -1 without a closing brace.
func alternatives(s string) (end int, parts []string) {
	depth, start := 0, 1
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth == 0 {
				return i + 1, append(parts, s[start:i])
			}
		}
	}
	return -1, nil
}
