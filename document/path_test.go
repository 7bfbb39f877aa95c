//go:build unix

package document

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tree(t testing.TB) (Root, string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir := filepath.Join(base, "root")
	do(os.MkdirAll(filepath.Join(dir, "d", "e"), 0o755))
	do(os.MkdirAll(filepath.Join(base, "out"), 0o755))
	do(os.MkdirAll(filepath.Join(base, "root2"), 0o755))
	do(os.WriteFile(filepath.Join(dir, "f"), nil, 0o644))
	do(os.WriteFile(filepath.Join(base, "out", "secret"), nil, 0o644))
	for link, to := range map[string]string{
		"rel": "d", "abs": filepath.Join(dir, "d"), "loop1": "loop2", "loop2": "loop1", "dang": "missing/x", "out": filepath.Join(base, "out"),
		"up": "../out/secret", "chain": "rel/e", "self": ".", "dangout": filepath.Join(base, "out", "new"), "d/back": "../f",
	} {
		do(os.Symlink(to, filepath.Join(dir, link)))
	}
	r, err := OpenRoot(dir)
	do(err)
	return r, base
}

func TestResolve(t *testing.T) {
	r, base := tree(t)
	for _, c := range []struct {
		name, want string
		err        error
	}{
		{"f", "f", nil}, {"./d//e/", "d/e", nil}, {".", ".", nil}, {"missing/deep/x", "missing/deep/x", nil},
		{"rel/e", "d/e", nil}, {"abs/e", "d/e", nil}, {"chain", "d/e", nil}, {"self/self/f", "f", nil}, {"d/back", "f", nil},
		{"rel/..", ".", nil}, {"d/e/../../f", "f", nil}, {"dang", "missing/x", nil},
		{filepath.Join(r.Dir(), "f"), "f", nil}, {"..foo", "..foo", nil}, {"d/...", "d/...", nil},
		{"", "", ErrBadPath}, {"a\x00b", "", ErrBadPath}, {"loop1", "", ErrBadPath}, {"loop1/x", "", ErrBadPath},
		{strings.Repeat("x", 300), "", ErrBadPath}, {strings.Repeat("x/", 3000), "", ErrBadPath},
		{"f/x", "", ErrNotDirectory}, {"f/..", "", ErrNotDirectory}, {"d/../f/../d", "", ErrNotDirectory}, {"f/", "", ErrNotDirectory}, {"d/back/x", "", ErrNotDirectory}, {"new/", "", ErrIsDirectory},
		{"..", "", ErrOutside}, {"../root2/x", "", ErrOutside}, {"out/secret", "", ErrOutside}, {"out", "", ErrOutside}, {"up", "", ErrOutside},
		{"dangout", "", ErrOutside}, {"/etc/passwd", "", ErrOutside}, {"/no/such/file", "", ErrOutside}, {base + "/root2", "", ErrOutside},
		{"out/../root/f", "f", nil}, {"none/../out/secret", "", ErrOutside}, {"none/none/../../out/secret", "", ErrOutside}, {"none/../rel/e", "d/e", nil}, {"/proc/self/root/etc/passwd", "", ErrOutside},
	} {
		p, err := r.Resolve(c.name)
		if !errors.Is(err, c.err) || err == nil && p.Rel() != c.want {
			t.Errorf("%q: %q %v, want %q %v", c.name, p.Rel(), err, c.want, c.err)
		}
	}
}

func TestRootsDeepestWins(t *testing.T) {
	r, _ := tree(t)
	inner, err := OpenRoot(filepath.Join(r.Dir(), "d"))
	if err != nil {
		t.Fatal(err)
	}
	for _, rs := range []Roots{{r, inner}, {inner, r}} {
		p, err := rs.Resolve(r.Dir(), "d/x")
		if err != nil || p.Root() != inner.Dir() || p.Rel() != "x" {
			t.Errorf("%v %v", p, err)
		}
	}
	if _, err := OpenRoot(filepath.Join(r.Dir(), "f")); !errors.Is(err, ErrNotDirectory) {
		t.Errorf("%v", err)
	}
}

// FuzzConfined holds that what Resolve lets through, os.Root opens, and that
// it is in the root.
func FuzzConfined(f *testing.F) {
	for _, s := range []string{"f", "rel/../f", "out/secret", "self/../../out/secret", "abs/back", "loop1", "chain/../../up", "d/e/../../../root/f"} {
		f.Add(s)
	}
	r, base := tree(f)
	root, err := os.OpenRoot(r.Dir())
	if err != nil {
		f.Fatal(err)
	}
	defer root.Close()
	f.Fuzz(func(t *testing.T, name string) {
		p, err := r.Resolve(name)
		if err != nil {
			_ = err.Error()
			return
		}
		info, err := os.Lstat(p.Name())
		if err != nil {
			return
		}
		if info.Mode()&os.ModeSymlink != 0 {
			t.Fatalf("%q resolves to the link %s", name, p.Name())
		}
		if strings.HasPrefix(p.Name(), filepath.Join(base, "out")) {
			t.Fatalf("%q resolves outside: %s", name, p.Name())
		}
		if _, err := root.Lstat(p.Rel()); err != nil {
			t.Fatalf("%q resolves to %s, which os.Root refuses: %v", name, p.Rel(), err)
		}
	})
}
