//go:build unix

package disk

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"coedit/document"
	"coedit/edits"
)

// faulty is an FS whose k-th call fails, and those after it if count says so,
// and that notes what was called.
type faulty struct {
	FS
	k     int   // counted from 1; 0 for never
	count int   // how many calls fail; 0 is 1
	err   error // what they fail with
	n     int
	calls []string
}

func (f *faulty) hit(name string) error {
	f.n++
	f.calls = append(f.calls, name)
	if f.k > 0 && f.n >= f.k && f.n < f.k+max(1, f.count) {
		return f.err
	}
	return nil
}

func (f *faulty) Open(r *os.Root, name string) (*os.File, error) {
	if err := f.hit("open"); err != nil {
		return nil, err
	}
	return f.FS.Open(r, name)
}

func (f *faulty) OpenWrite(r *os.Root, name string) (*os.File, error) {
	if err := f.hit("openwrite"); err != nil {
		return nil, err
	}
	return f.FS.OpenWrite(r, name)
}

func (f *faulty) Create(r *os.Root, name string) (*os.File, error) {
	if err := f.hit("create"); err != nil {
		return nil, err
	}
	return f.FS.Create(r, name)
}

func (f *faulty) Stat(file *os.File) (fs.FileInfo, error) {
	if err := f.hit("stat"); err != nil {
		return nil, err
	}
	return f.FS.Stat(file)
}

func (f *faulty) Lstat(r *os.Root, name string) (fs.FileInfo, error) {
	if err := f.hit("lstat"); err != nil {
		return nil, err
	}
	return f.FS.Lstat(r, name)
}

func (f *faulty) Read(file *os.File, b []byte) (int, error) {
	if err := f.hit("read"); err != nil {
		return 0, err
	}
	return f.FS.Read(file, b)
}

// WriteAt fails in the middle: half of the bytes are written.
func (f *faulty) WriteAt(file *os.File, b []byte, off int64) (int, error) {
	if err := f.hit("write"); err != nil {
		n, _ := f.FS.WriteAt(file, b[:len(b)/2], off)
		return n, err
	}
	return f.FS.WriteAt(file, b, off)
}

func (f *faulty) Truncate(file *os.File, size int64) error {
	if err := f.hit("truncate"); err != nil {
		return err
	}
	return f.FS.Truncate(file, size)
}

func (f *faulty) Sync(file *os.File) error {
	if err := f.hit("sync"); err != nil {
		return err
	}
	return f.FS.Sync(file)
}

func (f *faulty) SyncDir(r *os.Root, name string) error {
	if err := f.hit("syncdir"); err != nil {
		return err
	}
	return f.FS.SyncDir(r, name)
}

func (f *faulty) Chmod(file *os.File, mode fs.FileMode) error {
	if err := f.hit("chmod"); err != nil {
		return err
	}
	return f.FS.Chmod(file, mode)
}

func (f *faulty) Chown(file *os.File, like fs.FileInfo) error {
	if err := f.hit("chown"); err != nil {
		return err
	}
	return f.FS.Chown(file, like)
}

func (f *faulty) Xattrs(file *os.File) (map[string][]byte, error) {
	if err := f.hit("xattrs"); err != nil {
		return nil, err
	}
	return f.FS.Xattrs(file)
}

func (f *faulty) Rename(r *os.Root, from, to string) error {
	if err := f.hit("rename"); err != nil {
		return err
	}
	return f.FS.Rename(r, from, to)
}

func (f *faulty) Link(r *os.Root, from, to string) error {
	if err := f.hit("link"); err != nil {
		return err
	}
	return f.FS.Link(r, from, to)
}

func (f *faulty) Mkdir(r *os.Root, name string, mode fs.FileMode) error {
	if err := f.hit("mkdir"); err != nil {
		return err
	}
	return f.FS.Mkdir(r, name, mode)
}

func (f *faulty) SetXattr(file *os.File, name string, value []byte) error {
	if err := f.hit("setxattr"); err != nil {
		return err
	}
	return f.FS.SetXattr(file, name, value)
}

// Close fails as a network file system does: the file is closed all the same.
func (f *faulty) Close(file *os.File) error {
	err := f.hit("close")
	return errors.Join(err, f.FS.Close(file))
}

func (f *faulty) LockDir(r *os.Root, name string) (io.Closer, error) {
	if err := f.hit("lock"); err != nil {
		return nil, err
	}
	return f.FS.LockDir(r, name)
}

func (f *faulty) Remove(r *os.Root, name string) error {
	if err := f.hit("remove"); err != nil {
		return err
	}
	return f.FS.Remove(r, name)
}

func openRoot(t *testing.T) document.Root {
	t.Helper()
	r, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func resolve(t *testing.T, r document.Root, name string) document.Path {
	t.Helper()
	p, err := r.Resolve(name)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// change applies one change as a workspace does.
func change(d *Disk, c edits.Change, before document.Snapshot, text string) error {
	next, err := before.WithText(text, document.Origin{})
	if err != nil {
		return err
	}
	if c.To.IsZero() {
		next = document.Snapshot{Path: c.From}
	}
	s, err := d.Stage(context.Background(), c, next)
	if err != nil {
		return err
	}
	if err := s.Swap(context.Background()); err != nil {
		s.Discard()
		return err
	}
	return nil
}

func temporaries(t *testing.T, dir string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(e.Name(), TempPrefix) {
			t.Errorf("left behind: %s", name)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

const oldText, newText = "the old text\n", "the new text, which is longer\n"

// TestFaults fails every system call of every kind of change once: the file is
// wholly old or wholly new, as the answer says, and nothing is left behind.
func TestFaults(t *testing.T) {
	kinds := []struct {
		name  string
		setup func(t *testing.T, dir string)
		plan  func(p document.Path) edits.Change
	}{
		{"modify", nil, func(p document.Path) edits.Change { return edits.Change{From: p, To: p} }},
		{"in place", func(t *testing.T, dir string) {
			if err := os.Link(filepath.Join(dir, "f"), filepath.Join(dir, "other")); err != nil {
				t.Fatal(err)
			}
		}, func(p document.Path) edits.Change { return edits.Change{From: p, To: p} }},
		{"with attributes", func(t *testing.T, dir string) {
			f, err := os.OpenFile(filepath.Join(dir, "f"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if err := (system{}).SetXattr(f, "user.coedit", []byte("kept")); err != nil {
				t.Skipf("the file system has no user attributes: %v", err)
			}
		}, func(p document.Path) edits.Change { return edits.Change{From: p, To: p} }},
		{"create", nil, func(p document.Path) edits.Change { return edits.Change{To: p} }},
		{"delete", nil, func(p document.Path) edits.Change { return edits.Change{From: p} }},
	}
	for _, kind := range kinds {
		for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES} {
			t.Run(kind.name+" "+cause.Error(), func(t *testing.T) {
				for k := 1; ; k++ {
					root := openRoot(t)
					name := "f"
					if kind.name == "create" {
						name = "new/sub/f"
					} else if err := os.WriteFile(filepath.Join(root.Dir(), name), []byte(oldText), 0o640); err != nil {
						t.Fatal(err)
					}
					if kind.setup != nil {
						kind.setup(t, root.Dir())
					}
					p := resolve(t, root, name)
					ff := &faulty{FS: system{}, k: k, err: cause}
					d := New(Options{FS: ff})
					before, err := New(Options{}).Snapshot(t.Context(), p)
					if err != nil {
						t.Fatal(err)
					}
					c := kind.plan(p)
					c.Base = before.Revision
					err = change(d, c, before, newText)
					checkWhole(t, root, kind.name, name, err, fmt.Sprintf("%v failing at call %d of %v", cause, k, ff.calls))
					d.Close()
					if ff.n < k {
						if err != nil {
							t.Fatalf("without a fault: %v", err)
						}
						break
					}
				}
			})
		}
	}
}

// checkWhole holds that the file is what the answer says.
func checkWhole(t *testing.T, root document.Root, kind, name string, err error, when string) {
	t.Helper()
	b, readErr := os.ReadFile(filepath.Join(root.Dir(), name))
	before, after := string(b) == oldText, string(b) == newText
	switch kind {
	case "create":
		before = errors.Is(readErr, fs.ErrNotExist)
		if err != nil {
			if _, e := os.Lstat(filepath.Join(root.Dir(), "new")); e == nil {
				t.Errorf("%s: folders were left behind", when)
			}
		}
	case "delete":
		after = errors.Is(readErr, fs.ErrNotExist)
	}
	if err == nil && !after || err != nil && !before {
		t.Errorf("%s: answer %v, the file holds %q (%v)", when, err, b, readErr)
	}
	temporaries(t, root.Dir())
}

// TestOrder holds the order in which a file is replaced.
func TestOrder(t *testing.T) {
	root := openRoot(t)
	if err := os.WriteFile(filepath.Join(root.Dir(), "f"), []byte(oldText), 0o751); err != nil {
		t.Fatal(err)
	}
	p := resolve(t, root, "f")
	ff := &faulty{FS: system{}}
	d := New(Options{FS: ff})
	defer d.Close()
	before, err := d.Snapshot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	ff.calls = nil
	if err := change(d, edits.Change{From: p, To: p, Base: before.Revision}, before, newText); err != nil {
		t.Fatal(err)
	}
	at := func(name string) int {
		i := slices.Index(ff.calls, name)
		if i < 0 {
			t.Fatalf("no %s in %v", name, ff.calls)
		}
		return i
	}
	rename := at("rename")
	last := rename - 1 // what is compared right before the swap
	for ff.calls[last] == "stat" || ff.calls[last] == "close" {
		last--
	}
	if !(at("create") < at("write") && at("write") < at("chmod") && at("chmod") < at("sync") && at("sync") < rename && rename < at("syncdir") && ff.calls[last] == "read") {
		t.Errorf("order: %v", ff.calls)
	}
	if info, _ := os.Stat(p.Name()); info.Mode().Perm() != 0o751 {
		t.Errorf("mode %v", info.Mode())
	}
}

// TestComparedBeforeSwap holds that a change between stage and swap is found.
func TestComparedBeforeSwap(t *testing.T) {
	for _, links := range []bool{false, true} {
		root := openRoot(t)
		name := filepath.Join(root.Dir(), "f")
		if err := os.WriteFile(name, []byte(oldText), 0o644); err != nil {
			t.Fatal(err)
		}
		if links {
			if err := os.Link(name, name+"2"); err != nil {
				t.Fatal(err)
			}
		}
		p := resolve(t, root, "f")
		d := New(Options{})
		before, err := d.Snapshot(t.Context(), p)
		if err != nil {
			t.Fatal(err)
		}
		next, _ := before.WithText(newText, document.Origin{})
		s, err := d.Stage(t.Context(), edits.Change{From: p, To: p, Base: before.Revision}, next)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("a person's text\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := s.Swap(t.Context()); !errors.Is(err, document.ErrConflict) {
			t.Errorf("links %v: %v", links, err)
		}
		s.Discard()
		if b, _ := os.ReadFile(name); string(b) != "a person's text\n" {
			t.Errorf("links %v: %q", links, b)
		}
		temporaries(t, root.Dir())
		d.Close()
	}
}

// TestCreateDoesNotOverwrite holds that a file made meanwhile is kept.
func TestCreateDoesNotOverwrite(t *testing.T) {
	root := openRoot(t)
	p := resolve(t, root, "f")
	d := New(Options{})
	defer d.Close()
	next, _ := document.Snapshot{Path: p}.WithText(newText, document.Origin{})
	s, err := d.Stage(t.Context(), edits.Change{To: p}, next)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Name(), []byte("theirs"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := s.Swap(t.Context()); !errors.Is(err, document.ErrConflict) {
		t.Errorf("%v", err)
	}
	s.Discard()
	if b, _ := os.ReadFile(p.Name()); string(b) != "theirs" {
		t.Errorf("%q", b)
	}
	temporaries(t, root.Dir())
}

// TestXattrs holds that extended attributes are kept.
func TestXattrs(t *testing.T) {
	root := openRoot(t)
	if err := os.WriteFile(filepath.Join(root.Dir(), "f"), []byte(oldText), 0o644); err != nil {
		t.Fatal(err)
	}
	p := resolve(t, root, "f")
	f, err := os.OpenFile(p.Name(), os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := (system{}).SetXattr(f, "user.coedit", []byte("kept")); err != nil {
		f.Close()
		t.Skipf("the file system has no user attributes: %v", err)
	}
	f.Close()
	d := New(Options{})
	defer d.Close()
	before, err := d.Snapshot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := change(d, edits.Change{From: p, To: p, Base: before.Revision}, before, newText); err != nil {
		t.Fatal(err)
	}
	f, err = os.Open(p.Name())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if got, err := (system{}).Xattrs(f); err != nil || string(got["user.coedit"]) != "kept" {
		t.Errorf("%v %v", got, err)
	}
}

// TestOwner holds that another user's file keeps its owner.
func TestOwner(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a file of another user")
	}
	root := openRoot(t)
	name := filepath.Join(root.Dir(), "f")
	if err := os.WriteFile(name, []byte(oldText), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(name, 1234, 2345); err != nil {
		t.Fatal(err)
	}
	p := resolve(t, root, "f")
	d := New(Options{})
	defer d.Close()
	before, err := d.Snapshot(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	if err := change(d, edits.Change{From: p, To: p, Base: before.Revision}, before, newText); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if st := info.Sys().(*syscall.Stat_t); st.Uid != 1234 || st.Gid != 2345 {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
}
