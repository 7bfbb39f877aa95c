//go:build unix

package disk

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coedit/document"
)

func listOf(t *testing.T, root document.Root) document.Listing {
	t.Helper()
	d := New(Options{})
	defer d.Close()
	l, err := d.List(t.Context(), root, ".")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func put(t *testing.T, root document.Root, name, text string) string {
	t.Helper()
	name = filepath.Join(root.Dir(), name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// A folder that can't be read is not an empty one.
func TestListUnreadable(t *testing.T) {
	if !unprivileged(t) {
		return
	}
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put(t, root, "a", "x")
	dir := filepath.Dir(put(t, root, "d/b", "x"))
	if l := listOf(t, root); len(l.Files) != 2 || !l.Complete {
		t.Errorf("%+v", l)
	}
	if err := os.Chmod(dir, 0); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.Chmod(dir, 0o755) })
	if l := listOf(t, root); len(l.Files) != 1 || l.Complete {
		t.Errorf("%+v", l)
	}
}

// Times prove nothing of a file that changed right before it was listed.
func TestListYoung(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	later := time.Now().Add(time.Hour) // as young as can be, however slow this machine is
	if err := os.Chtimes(put(t, root, "young", "x"), later, later); err != nil {
		t.Fatal(err)
	}
	if l := listOf(t, root); len(l.Young) != 1 || l.Young[0] != "young" {
		t.Errorf("a file that may change once more is not named: %+v", l)
	}
	s := stamp{size: 1, mtime: time.Unix(1000, 5), ctime: time.Unix(1000, 5)}
	if s.young(time.Unix(1000, 5).Add(30*time.Millisecond), s.tick()) || !s.young(time.Unix(1000, 5).Add(10*time.Millisecond), s.tick()) {
		t.Error("young for a wrong time where times are fine")
	}
	s.mtime = time.Unix(1000, 0)
	if s.ctime = s.mtime; !s.young(time.Unix(1001, 0), s.tick()) || s.young(time.Unix(1003, 0), s.tick()) {
		t.Error("young for a wrong time where times are whole seconds")
	}
}

// coarse is a file system whose times are whole seconds.
type coarse struct{ system }

type coarseInfo struct{ fs.FileInfo }

func (i coarseInfo) ModTime() time.Time { return i.FileInfo.ModTime().Truncate(time.Second) }

func (coarse) Stat(f *os.File) (fs.FileInfo, error) {
	i, err := f.Stat()
	if err != nil {
		return nil, err
	}
	return coarseInfo{i}, nil
}

// A file that had just changed when it was read is read again, however old it
// is then: a second write in the same tick leaves its times as they were.
func TestCoarseTimes(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	d := New(Options{FS: coarse{}})
	defer d.Close()
	put(t, root, "a", "A")
	p := resolve(t, root, "a")
	if s, err := d.Snapshot(t.Context(), p); err != nil || s.Text != "A" {
		t.Fatalf("%q, %v", s.Text, err)
	}
	d.mu.Lock()
	n := len(d.known)
	d.mu.Unlock()
	if n != 0 {
		t.Error("what was read of a file that had just changed is kept")
	}
}

// What a process that was killed had staged is removed; what one may be about
// to put in place, and files of others, are not.
func TestListSweeps(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	old := time.Now().Add(-2 * abandoned)
	for name, left := range map[string]bool{
		"d/.coedit-0123456789abcdef.tmp": false,
		"d/.coedit-0123456789abcde.tmp":  true,
		"d/.coedit-0123456789abcdeg.tmp": true,
		"d/coedit-0123456789abcdef.tmp":  true,
	} {
		name = put(t, root, name, "x")
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
		listOf(t, root)
		if _, err := os.Lstat(name); (err == nil) != left {
			t.Errorf("%s: left %v", name, err == nil)
		}
	}
	young := put(t, root, "d/.coedit-0123456789abcdef.tmp", "x")
	l := listOf(t, root)
	if _, err := os.Lstat(young); err != nil {
		t.Error("a file that may be just about to be put in place was removed")
	}
	if _, ok := l.Files["d/.coedit-0123456789abcdef.tmp"]; ok {
		t.Error("a staged file is listed")
	}
}
