package tools

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"coedit/document"

	"golang.org/x/text/unicode/norm"
)

// foldName makes names that look alike equal: composition, blanks of other
// widths, and with loose letter case.
func foldName(name string, loose bool) string {
	s := norm.NFC.String(name)
	s = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Zs) {
			return ' '
		}
		return r
	}, s)
	if loose {
		s = strings.ToLower(s)
	}
	return s
}

// lookalikes returns the names in the folder of p that look like p's.
func lookalikes(p document.Path, loose bool) []string {
	entries, err := os.ReadDir(filepath.Dir(p.Name()))
	if err != nil {
		return nil
	}
	base := filepath.Base(p.Name())
	var out []string
	for _, e := range entries {
		if e.Name() != base && foldName(e.Name(), loose) == foldName(base, loose) {
			out = append(out, e.Name())
		}
	}
	return out
}

// expand replaces a leading ~ by the home folder.
func expand(name string) string {
	if name == "~" || strings.HasPrefix(name, "~/") {
		if home, err := os.UserHomeDir(); err == nil {
			return filepath.Join(home, name[1:])
		}
	}
	return name
}

// resolve confines a name; "~" is the home folder.
func (c *call) resolve(name string) (document.Path, error) {
	p, err := c.s.Resolve(expand(name))
	var de *document.Error
	if errors.As(err, &de) && de.Name != name && de.Detail == "" {
		de.Detail = name
	}
	return p, err
}

// resolveForRead opens the only look-alike of a name that does not exist, and
// says so.
func (c *call) resolveForRead(ctx context.Context, name string) (document.Path, string, error) {
	p, err := c.resolve(name)
	if err != nil {
		return p, "", err
	}
	snap, err := c.s.Snapshot(ctx, p)
	if err != nil || snap.Exists() {
		return p, "", nil // the caller meets the error itself
	}
	for _, loose := range []bool{false, true} {
		like := lookalikes(p, loose)
		if len(like) != 1 {
			if len(like) > 1 {
				break
			}
			continue
		}
		q, err := c.resolve(filepath.Join(filepath.Dir(p.Name()), like[0]))
		if err != nil {
			return p, "", nil
		}
		return q, "(There is no " + escapeName(filepath.Base(p.Name())) + "; this is the file that looks like it: " + escapeName(like[0]) + ")\n", nil
	}
	return p, "", nil
}

// notFound names what looks like a file that does not exist.
func (c *call) notFound(_ context.Context, p document.Path) error {
	e := &document.Error{Name: p.Name(), Err: document.ErrNotFound}
	like := lookalikes(p, true)
	if len(like) == 0 {
		return e
	}
	for i := range like {
		like[i] = escapeName(like[i])
	}
	return &codedError{"not_found", c.show(p) + ": no such file. Did you mean " + strings.Join(like, " or ") + "? Use that name exactly."}
}

// escapeName shows every character of a name that is not plain ASCII with its
// code, so that names which look alike can be told apart.
func escapeName(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range name {
		if r < 0x20 || r >= 0x7f {
			if unicode.IsLetter(r) && r != unicode.ReplacementChar {
				b.WriteRune(r)
			}
			b.WriteString("(U+" + hex4(r) + ")")
			continue
		}
		b.WriteRune(r)
	}
	b.WriteByte('"')
	return b.String()
}

func hex4(r rune) string {
	const digits = "0123456789ABCDEF"
	s := ""
	for r > 0 || len(s) < 4 {
		s = string(digits[r&15]) + s
		r >>= 4
	}
	return s
}
