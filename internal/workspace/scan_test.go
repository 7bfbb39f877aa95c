package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"coedit/document"
	"coedit/internal/disk"
	"coedit/lsp"
)

// toldOf returns how often the servers were told of the file called name.
func (x *world) toldOf(name string) int {
	x.told.mu.Lock()
	defer x.told.mu.Unlock()
	n := 0
	for _, c := range x.told.list {
		p := c.After.Path
		if p.IsZero() {
			p = c.Before.Path
		}
		if p.Rel() == name && !p.IsZero() || c.Other == filepath.Join(x.root.Dir(), name) {
			n++
		}
	}
	return n
}

// lastOf returns what was told last of the other name called abs.
func (x *world) lastOf(abs string) (last lsp.Changed) {
	for _, c := range x.told.list {
		if c.Other == abs {
			last = c
		}
	}
	return last
}

func (x *world) scan() {
	x.t.Helper()
	if whole, err := x.w.Scan(x.t.Context(), document.Roots{x.root}); err != nil || !whole {
		x.t.Fatalf("%v %v", whole, err)
	}
}

// Looking at a document must not hide its change from the scan after it.
func TestScanAfterLook(t *testing.T) {
	x := newWorld(t, map[string]string{"a.go": "a", "b.go": "b"})
	x.scan()
	if err := os.Remove(filepath.Join(x.root.Dir(), "b.go")); err != nil {
		t.Fatal(err)
	}
	x.write("a.go", "changed!")
	for _, name := range []string{"a.go", "b.go"} {
		if _, err := x.w.Snapshot(t.Context(), x.path(name)); err != nil {
			t.Fatal(err)
		}
	}
	x.scan()
	if x.toldOf("a.go") != 1 || x.toldOf("b.go") != 1 {
		t.Errorf("told %d and %d times", x.toldOf("a.go"), x.toldOf("b.go"))
	}
	x.scan()
	x.write("a.go", "changed again!")
	if _, err := x.w.Snapshot(t.Context(), x.path("a.go")); err != nil {
		t.Fatal(err)
	}
	x.scan()
	if n := x.toldOf("a.go"); n != 2 {
		t.Errorf("told %d times of two changes", n)
	}
}

func TestScanCancelled(t *testing.T) {
	x := newWorld(t, map[string]string{"a.go": "a", "b.go": "b"})
	x.scan()
	if _, err := x.w.Snapshot(t.Context(), x.path("a.go")); err != nil {
		t.Fatal(err)
	}
	x.write("a.go", "changed!")
	x.write("b.go", "changed!")
	held, err := x.w.Hold(t.Context(), []document.Path{x.path("a.go")})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := x.w.Scan(ctx, document.Roots{x.root})
		done <- err
	}()
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	held.Release()
	x.scan()
	if x.toldOf("a.go") == 0 || x.toldOf("b.go") == 0 {
		t.Errorf("told %d and %d times", x.toldOf("a.go"), x.toldOf("b.go"))
	}
}

// A scan that another one is in the way of does not answer before that one
// has told what it found.
func TestScanConcurrent(t *testing.T) {
	x := newWorld(t, map[string]string{"a.go": "a", "b.go": "b"})
	x.scan()
	x.write("a.go", "changed!")
	x.write("b.go", "changed!")
	held, err := x.w.Hold(t.Context(), []document.Path{x.path("a.go")})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan int, 4)
	for range 4 {
		go func() {
			_, err := x.w.Scan(t.Context(), document.Roots{x.root})
			if err != nil {
				t.Error(err)
			}
			done <- x.toldOf("b.go")
		}()
	}
	held.Release()
	for range 4 {
		if n := <-done; n == 0 { // it is so young that it may be told twice
			t.Errorf("b.go was told %d times when a scan returned", n)
		}
	}
}

func TestScanFolderReplaced(t *testing.T) {
	for _, kind := range []string{"file", "link"} {
		x := newWorld(t, map[string]string{"pkg/x.go": "x"})
		x.scan()
		dir := filepath.Join(x.root.Dir(), "pkg")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if kind == "file" {
			x.write("pkg", "a file")
		} else if err := os.Symlink(t.TempDir(), dir); err != nil {
			t.Skip(err)
		}
		x.scan()
		if x.toldOf("pkg/x.go") != 1 {
			t.Errorf("%s: the deletion of pkg/x.go was told %d times", kind, x.toldOf("pkg/x.go"))
		}
	}
}

// The same bytes are another text in another charset.
func TestCharsetChanged(t *testing.T) {
	x := newWorld(t, map[string]string{"a.go": "// \xe9\n"})
	charset := "latin1"
	d := disk.New(disk.Options{Charset: func(document.Path) string { return charset }})
	t.Cleanup(func() { d.Close() })
	x.target.Disk = d
	before, err := x.w.Snapshot(t.Context(), x.path("a.go"))
	if err != nil {
		t.Fatal(err)
	}
	charset = "windows-1251"
	after, err := x.w.Snapshot(t.Context(), x.path("a.go"))
	if err != nil {
		t.Fatal(err)
	}
	if before.Text == after.Text || x.toldOf("a.go") != 1 {
		t.Errorf("%q, %q; told %d times", before.Text, after.Text, x.toldOf("a.go"))
	}
}

// Catch brings servers up to date that were given an older text.
func TestCatch(t *testing.T) {
	x := newWorld(t, map[string]string{"a.go": "1"})
	old, err := x.w.Snapshot(t.Context(), x.path("a.go"))
	if err != nil {
		t.Fatal(err)
	}
	x.w.Catch(old)
	if x.toldOf("a.go") != 0 {
		t.Error("told of a document that did not move on")
	}
	if _, err := x.w.Apply(t.Context(), "S", x.plan("own", "a.go")); err != nil {
		t.Fatal(err)
	}
	x.w.Catch(old)
	if last := x.told.list[len(x.told.list)-1]; x.toldOf("a.go") != 2 || last.Before.Text != "1" || last.After.Text == "1" {
		t.Errorf("%d: %+v", x.toldOf("a.go"), last)
	}
}

func TestPartialIsNoConflict(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1", "b": "2"})
	x.target.failSwap = map[int]error{2: &document.Error{Name: "b", Err: ErrConflict}, 3: errors.New("io")}
	_, err := x.w.Apply(t.Context(), "s", x.plan("new", "a", "b"))
	var partial *PartialError
	if !errors.As(err, &partial) || errors.Is(err, ErrConflict) {
		t.Errorf("%v", err)
	}
	if x.toldOf("a") != 1 {
		t.Errorf("the servers were told %d times of the file that is left changed", x.toldOf("a"))
	}
}

// A document that has a second name, by a link, changes under both.
func TestScanLinks(t *testing.T) {
	x := newWorld(t, map[string]string{"p/a.go": "1", "q/b.go": "1"})
	link := filepath.Join(x.root.Dir(), "q", "a.go")
	if err := os.Symlink(filepath.Join("..", "p", "a.go"), link); err != nil {
		t.Skip(err)
	}
	x.scan()
	if _, err := x.w.Apply(t.Context(), "S", x.plan("own", "p/a.go")); err != nil {
		t.Fatal(err)
	}
	if x.toldOf("p/a.go") != 1 || x.toldOf("q/a.go") != 1 {
		t.Errorf("told %d and %d times of an own change", x.toldOf("p/a.go"), x.toldOf("q/a.go"))
	}
	x.scan()
	n := x.toldOf("q/a.go")
	x.write("p/a.go", "outside")
	x.scan()
	if x.toldOf("p/a.go") != 2 || x.toldOf("q/a.go") <= n {
		t.Errorf("told %d and %d times of an outside change", x.toldOf("p/a.go"), x.toldOf("q/a.go")-n)
	}
	n = x.toldOf("q/a.go")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	x.scan()
	if x.toldOf("q/a.go") != n+1 || x.lastOf(link).After.Exists() {
		t.Errorf("the link is gone, and was told %d times: %+v", x.toldOf("q/a.go")-n, x.lastOf(link))
	}
}

// A file that was listed right after it changed is told of once more: a second
// change in the same tick would have left its times as they were. It is not
// counted as changed.
func TestScanYoung(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1"})
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(x.root.Dir(), "a"), later, later); err != nil {
		t.Fatal(err)
	}
	x.scan()
	x.scan()
	if x.toldOf("a") != 1 || x.w.Outside() != 0 {
		t.Errorf("told %d times, %d counted", x.toldOf("a"), x.w.Outside())
	}
}

// A document that was told as gone, when a link took its name, is told again
// when it is back, with whatever text.
func TestScanBackFromLink(t *testing.T) {
	x := newWorld(t, map[string]string{"a": "1"})
	name, away := filepath.Join(x.root.Dir(), "a"), filepath.Join(t.TempDir(), "a")
	if _, err := x.w.Snapshot(t.Context(), x.path("a")); err != nil {
		t.Fatal(err)
	}
	x.scan()
	x.write("a", "22")
	x.scan()
	n := x.toldOf("a")
	if err := errors.Join(os.Rename(name, away), os.Symlink(away, name)); err != nil {
		t.Skip(err)
	}
	x.scan()
	if x.toldOf("a") != n+1 || x.lastOf(name).After.Exists() {
		t.Errorf("told %d times of the link in its place: %+v", x.toldOf("a")-n, x.lastOf(name))
	}
	if err := errors.Join(os.Remove(name), os.Rename(away, name)); err != nil {
		t.Fatal(err)
	}
	x.scan()
	if x.toldOf("a") != n+2 {
		t.Errorf("told %d times of the document that is back", x.toldOf("a")-n-1)
	}
}
