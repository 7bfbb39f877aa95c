//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"coedit/document"
	"coedit/edits"
)

// unprivileged runs the test again as a user without rights where it runs as
// root, for whom no permission is refused. It reports whether the caller is to
// go on.
func unprivileged(t *testing.T) bool {
	t.Helper()
	if os.Geteuid() != 0 {
		return true
	}
	dir, err := os.MkdirTemp("", "coedit-test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	b, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	bin := filepath.Join(dir, "again")
	if err := errors.Join(os.WriteFile(bin, b, 0o755), os.Chmod(dir, 0o777)); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), bin, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: "+t.Name()) {
		t.Errorf("as a user without rights: %v\n%s", err, out)
	}
	return false
}

// modify replaces the text of the file called name below root.
func modify(t *testing.T, d *Disk, root document.Root, name string) error {
	t.Helper()
	p := resolve(t, root, name)
	before, err := d.Snapshot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return change(d, edits.Change{From: p, To: p, Base: before.Revision}, before, newText)
}

func inode(t *testing.T, name string) uint64 {
	t.Helper()
	info, err := os.Lstat(name)
	if err != nil {
		t.Fatal(err)
	}
	return info.Sys().(*syscall.Stat_t).Ino
}

// TestReadOnly holds that a file without write permission is refused, also for
// root, who could write it, and where it has hard links.
func TestReadOnly(t *testing.T) {
	check := func(t *testing.T) {
		for _, linked := range []bool{false, true} {
			root := openRoot(t)
			name := filepath.Join(root.Dir(), "f")
			write(t, name, oldText, 0o444)
			if linked {
				if err := os.Link(name, name+"2"); err != nil {
					t.Fatal(err)
				}
			}
			d := New(Options{})
			if err := modify(t, d, root, "f"); !errors.Is(err, document.ErrReadOnly) {
				t.Errorf("linked %v: %v", linked, err)
			}
			d.Close()
			holds(t, name, oldText)
			temporaries(t, root.Dir())
		}
	}
	check(t)
	unprivileged(t)
}

// TestFolderReadOnly holds that a file in a folder where none can be made is
// written in place.
func TestFolderReadOnly(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	root := openRoot(t)
	dir := filepath.Join(root.Dir(), "d")
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(dir, "f")
	write(t, name, oldText, 0o600)
	before := inode(t, name)
	if err := os.Chmod(dir, 0o555); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	d := New(Options{})
	defer d.Close()
	if err := modify(t, d, root, "d/f"); err != nil {
		t.Fatal(err)
	}
	holds(t, name, newText)
	if inode(t, name) != before {
		t.Error("it is another file now")
	}
	p := resolve(t, root, "d/new")
	next, _ := document.Snapshot{Path: p}.WithText(newText, document.Origin{})
	if _, err := d.Stage(t.Context(), edits.Change{To: p}, next); !errors.Is(err, document.ErrPermission) {
		t.Errorf("creating: %v", err)
	}
}

// TestHardLinks holds that every name of a file shows the new text.
func TestHardLinks(t *testing.T) {
	root := openRoot(t)
	name := filepath.Join(root.Dir(), "f")
	write(t, name, strings.Repeat(newText, 3), 0o640) // longer than the new text: the rest must go
	if err := os.Link(name, name+"2"); err != nil {
		t.Fatal(err)
	}
	before := inode(t, name)
	d := New(Options{})
	defer d.Close()
	if err := modify(t, d, root, "f"); err != nil {
		t.Fatal(err)
	}
	holds(t, name, newText)
	holds(t, name+"2", newText)
	if inode(t, name) != before || inode(t, name+"2") != before {
		t.Error("the link was split")
	}
}

// TestThroughLinks holds that the file a symbolic link leads to is replaced,
// in its own folder, and the link stays.
func TestThroughLinks(t *testing.T) {
	root := openRoot(t)
	if err := os.Mkdir(filepath.Join(root.Dir(), "d"), 0o755); err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(root.Dir(), "d", "f")
	write(t, name, oldText, 0o640)
	for link, to := range map[string]string{"l": "d/f", "l2": "l", "dangling": "d/new"} {
		if err := os.Symlink(to, filepath.Join(root.Dir(), link)); err != nil {
			t.Fatal(err)
		}
	}
	made := &noting{FS: system{}}
	d := New(Options{FS: made})
	defer d.Close()
	if err := modify(t, d, root, "l2"); err != nil {
		t.Fatal(err)
	}
	if err := create(t, d, root, "dangling"); err != nil {
		t.Fatal(err)
	}
	holds(t, name, newText)
	holds(t, filepath.Join(root.Dir(), "d", "new"), newText)
	for link, to := range map[string]string{"l": "d/f", "l2": "l", "dangling": "d/new"} {
		if got, err := os.Readlink(filepath.Join(root.Dir(), link)); got != to {
			t.Errorf("%s is %q now: %v", link, got, err)
		}
	}
	for _, n := range made.names {
		if filepath.Dir(n) != "d" {
			t.Errorf("a temporary file in another folder: %s", n)
		}
	}
}

// create creates the file called name.
func create(t *testing.T, d *Disk, root document.Root, name string) error {
	t.Helper()
	p := resolve(t, root, name)
	return change(d, edits.Change{To: p}, document.Snapshot{Path: p}, newText)
}

// noting is an FS that keeps the names of the files it makes and their modes
// while they are written and when they are given their place.
type noting struct {
	FS
	names   []string
	writing []fs.FileMode
}

func (n *noting) Create(r *os.Root, name string) (*os.File, error) {
	n.names = append(n.names, name)
	return n.FS.Create(r, name)
}

func (n *noting) WriteAt(f *os.File, b []byte, off int64) (int, error) {
	if info, err := f.Stat(); err == nil {
		n.writing = append(n.writing, info.Mode())
	}
	return n.FS.WriteAt(f, b, off)
}

// TestModes holds that a temporary file is nobody else's to read while it is
// written, that a new file gets 0666 less the umask, folders 0777 less it, and
// that a replaced file keeps its mode, all of it.
func TestModes(t *testing.T) {
	old := syscall.Umask(0o027)
	defer syscall.Umask(old)
	root := openRoot(t)
	n := &noting{FS: system{}}
	d := New(Options{FS: n})
	defer d.Close()
	if err := create(t, d, root, "new/f"); err != nil {
		t.Fatal(err)
	}
	want := map[string]fs.FileMode{"new": fs.ModeDir | 0o750, "new/f": 0o640}
	for name, mode := range map[string]fs.FileMode{"plain": 0o604, "run": 0o777, "secret": 0o600, "setgid": fs.ModeSetgid | 0o755} {
		write(t, filepath.Join(root.Dir(), name), oldText, mode)
		if err := modify(t, d, root, name); err != nil {
			t.Fatal(err)
		}
		want[name] = mode
	}
	for name, mode := range want {
		if info, err := os.Stat(filepath.Join(root.Dir(), name)); err != nil || info.Mode() != mode {
			t.Errorf("%s: %v, want %v", name, info.Mode(), mode)
		}
	}
	if len(n.writing) != 5 {
		t.Errorf("%d writes", len(n.writing))
	}
	for _, m := range n.writing {
		if m.Perm() != 0o600 {
			t.Errorf("mode %v while it is written", m)
		}
	}
}

// TestCreateIsExclusive holds that a temporary file is never one that is
// there, nor made through a link.
func TestCreateIsExclusive(t *testing.T) {
	root := openRoot(t)
	r, err := os.OpenRoot(root.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	write(t, filepath.Join(root.Dir(), "taken"), oldText, 0o644)
	if err := os.Symlink("missing", filepath.Join(root.Dir(), "link")); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"taken", "link"} {
		if f, err := (system{}).Create(r, name); !errors.Is(err, fs.ErrExist) {
			f.Close()
			t.Errorf("%s: %v", name, err)
		}
	}
}
