package document

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// maxLinks is how many symbolic links one name may pass through (Linux: 40).
const maxLinks = 40

// A Root is a directory served. Its name is absolute and link-resolved.
type Root struct{ dir string }

// OpenRoot makes a Root of an existing directory.
func OpenRoot(dir string) (Root, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Root{}, &Error{Name: dir, Err: err}
	}
	abs, err = filepath.EvalSymlinks(abs)
	if err != nil {
		return Root{}, &Error{Name: dir, Err: systemError(err)}
	}
	info, err := os.Stat(abs)
	if err != nil {
		return Root{}, &Error{Name: dir, Err: systemError(err)}
	}
	if !info.IsDir() {
		return Root{}, &Error{Name: dir, Err: ErrNotDirectory}
	}
	return Root{dir: abs}, nil
}

// Dir returns the root's absolute, link-resolved directory.
func (r Root) Dir() string { return r.dir }

// Resolve confines name to the root; see Roots.Resolve. A relative name is
// taken from the root's directory.
func (r Root) Resolve(name string) (Path, error) { return Roots{r}.Resolve(r.dir, name) }

// contains reports whether the clean absolute name is the root or below it,
// and its name relative to the root.
func (r Root) contains(name string) (string, bool) {
	if name == r.dir {
		return ".", true
	}
	prefix := r.dir
	if !strings.HasSuffix(prefix, string(filepath.Separator)) {
		prefix += string(filepath.Separator)
	}
	if rel, ok := strings.CutPrefix(name, prefix); ok {
		return filepath.ToSlash(rel), true
	}
	return "", false
}

// Roots are the directories one workspace serves.
type Roots []Root

// A Path is a confined, link-resolved name inside a root. Only Resolve makes
// one. It is comparable. The file may not exist.
type Path struct{ root, rel string }

// Root returns the root's absolute directory.
func (p Path) Root() string { return p.root }

// Rel returns the name below the root, with slashes; "." for the root itself.
func (p Path) Rel() string { return p.rel }

// Name returns the absolute name in the system's own form.
func (p Path) Name() string { return filepath.Join(p.root, filepath.FromSlash(p.rel)) }

// String returns Name.
func (p Path) String() string { return p.Name() }

// IsZero reports whether p names nothing.
func (p Path) IsZero() bool { return p == Path{} }

// Compare orders paths by root, then by name: the order in which lanes are
// taken.
func (p Path) Compare(q Path) int {
	return cmp.Or(strings.Compare(p.root, q.root), strings.Compare(p.rel, q.rel))
}

// Resolve makes a Path of name, which is absolute or relative to dir. Links
// are followed as the system does, "..", too; a link to a missing file
// resolves to that file. The error is an *Error of ErrOutside when the end is
// in no root (whatever exists there is not told), of ErrBadPath (NUL, too
// long, a loop, a network name), of ErrNotDirectory when a component is a
// file, naming it.
func (rs Roots) Resolve(dir, name string) (Path, error) {
	switch {
	case name == "":
		return Path{}, &Error{Name: `""`, Err: ErrBadPath, Detail: "the path is empty"}
	case strings.ContainsRune(name, 0):
		return Path{}, &Error{Name: strings.ReplaceAll(name, "\x00", `\0`), Err: ErrBadPath, Detail: "it holds a NUL byte"}
	case strings.HasPrefix(name, `\\`) || strings.HasPrefix(name, "//") && runtime.GOOS == "windows":
		return Path{}, &Error{Name: name, Err: ErrBadPath, Detail: "network paths are not served"}
	case len(name) > 4096:
		return Path{}, &Error{Name: name[:60] + "…", Err: ErrBadPath, Detail: "longer than 4096 bytes"}
	}
	abs := name
	if !filepath.IsAbs(name) {
		abs = dir + string(filepath.Separator) + name
	}
	end, err := follow(abs)
	for _, r := range rs {
		if _, ok := r.contains(end); ok && err != nil {
			return Path{}, &Error{Name: name, Err: err.Err, Detail: err.Detail}
		}
	}
	best := Path{}
	for _, r := range rs {
		if rel, ok := r.contains(end); ok && len(r.dir) >= len(best.root) {
			best = Path{root: r.dir, rel: rel}
		}
	}
	if best.IsZero() {
		return Path{}, &Error{Name: name, Err: ErrOutside, Detail: end}
	}
	return best, nil
}

// follow resolves the links of an absolute name as far as it exists. On an
// error it also returns the name it had come to.
func follow(abs string) (string, *Error) {
	const sep = string(filepath.Separator)
	vol := filepath.VolumeName(abs)
	mustDir := strings.HasSuffix(abs, sep)
	todo := strings.Split(filepath.ToSlash(abs[len(vol):]), "/")
	done, links := vol+sep, 0
	missing := 0 // how many of the last components do not exist
	for len(todo) > 0 {
		part := todo[0]
		todo = todo[1:]
		if part == "" || part == "." {
			continue
		}
		if part == ".." {
			done = filepath.Dir(done)
			missing = max(0, missing-1)
			continue
		}
		next := filepath.Join(done, part)
		if missing > 0 {
			missing++
			done = next
			continue
		}
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			missing = 1
			done = next
			continue
		case err != nil:
			return next, &Error{Err: systemError(err), Detail: ""}
		}
		if info.Mode()&fs.ModeSymlink != 0 {
			if links++; links > maxLinks {
				return next, &Error{Err: ErrBadPath, Detail: "too many levels of symbolic links"}
			}
			target, err := os.Readlink(next)
			if err != nil {
				return next, &Error{Err: systemError(err)}
			}
			if filepath.IsAbs(target) {
				vol = filepath.VolumeName(target)
				done = vol + sep
				target = target[len(vol):]
			}
			todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
			continue
		}
		if !info.IsDir() && (mustDir || hasName(todo)) {
			return next, &Error{Err: ErrNotDirectory, Detail: filepath.Base(next) + " is a file, not a directory"}
		}
		done = next
	}
	if mustDir && missing > 0 {
		return done, &Error{Err: ErrIsDirectory, Detail: "the name ends in a separator, so it is a directory's"}
	}
	return done, nil
}

func hasName(parts []string) bool {
	for _, p := range parts {
		if p != "" {
			return true
		}
	}
	return false
}

// systemError maps what the file system answers to this package's errors.
func systemError(err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return ErrNotFound
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		return ErrBadPath
	case errors.Is(err, syscall.ENOTDIR):
		return ErrNotDirectory
	case errors.Is(err, fs.ErrPermission):
		return ErrPermission
	}
	return err
}
