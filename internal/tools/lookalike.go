package tools

import (
	"context"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"
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

// maxLookalikes bounds the names that are offered.
const maxLookalikes = 10

// lookalikes returns the names below p's root that look like p's and are not
// it, in the folders that p names or, where there is no such folder, in those
// that look like it.
func lookalikes(p document.Path, loose bool) []string {
	found := []string{""}
	for part := range strings.SplitSeq(p.Rel(), "/") {
		var next []string
		for _, dir := range found {
			entries, err := os.ReadDir(filepath.Join(p.Root(), dir))
			if err != nil {
				continue
			}
			var like []string
			for _, e := range entries {
				if e.Name() == part {
					like = []string{path.Join(dir, part)}
					break
				}
				if foldName(e.Name(), loose) == foldName(part, loose) {
					like = append(like, path.Join(dir, e.Name()))
				}
			}
			next = append(next, like...)
		}
		found = next[:min(len(next), maxLookalikes)]
	}
	return slices.DeleteFunc(found, func(rel string) bool { return rel == p.Rel() })
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
	if strings.HasPrefix(name, "file://") {
		return document.Path{}, &argumentError{"a file is named by its path, not by a URI: " + Visible(strings.TrimPrefix(name, "file://"))}
	}
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
		q, err := c.resolve(filepath.Join(p.Root(), like[0]))
		if err != nil {
			return p, "", nil
		}
		return q, "(There is no " + escapeName(shortest(p.Rel(), like[0])) + "; this is the file that looks like it: " + escapeName(shortest(like[0], p.Rel())) + ")\n", nil
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
		like[i] = escapeName(shortest(like[i], p.Rel()))
	}
	return &codedError{"not_found", c.show(p) + ": no such file. Did you mean " + strings.Join(like, " or ") + "? Use that name exactly."}
}

// shortest leaves out the folders that two names below one root share.
func shortest(rel, other string) string {
	for {
		a, rest, ok := strings.Cut(rel, "/")
		b, otherRest, ok2 := strings.Cut(other, "/")
		if !ok || !ok2 || a != b {
			return rel
		}
		rel, other = rest, otherRest
	}
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
