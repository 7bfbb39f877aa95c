//go:build unix

package disk

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"coedit/document"
	"coedit/edits"
)

// quickly fails the test when do waits for somebody who never comes.
func quickly(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(20 * time.Second):
		t.Fatalf("%s waits", what)
	}
}

func write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(name, mode); err != nil {
		t.Fatal(err)
	}
}

func holds(t *testing.T, name, want string) {
	t.Helper()
	b, err := os.ReadFile(name)
	if err != nil || string(b) != want {
		t.Errorf("%s holds %q, want %q (%v)", filepath.Base(name), b, want, err)
	}
}

// TestReplacedBeforeSwap puts something else under the name between stage and
// swap: it stays, and the swap is refused without waiting.
func TestReplacedBeforeSwap(t *testing.T) {
	others := []struct {
		name string
		make func(name string) error
		kept func(t *testing.T, name string)
	}{
		{"a new file with the same text", func(name string) error { return os.WriteFile(name, []byte(oldText), 0o600) }, nil},
		{"another text", func(name string) error { return os.WriteFile(name, []byte("theirs"), 0o600) },
			func(t *testing.T, name string) { holds(t, name, "theirs") }},
		{"a link to the same text", func(name string) error { return os.Symlink("g", name) }, func(t *testing.T, name string) {
			if to, err := os.Readlink(name); err != nil || to != "g" {
				t.Errorf("the link is gone: %v", err)
			}
			holds(t, filepath.Join(filepath.Dir(name), "g"), oldText)
		}},
		{"a FIFO", func(name string) error { return syscall.Mkfifo(name, 0o600) }, func(t *testing.T, name string) {
			if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				t.Errorf("the FIFO is gone: %v", err)
			}
		}},
		{"a folder", func(name string) error { return os.Mkdir(name, 0o700) }, nil},
		{"nothing", func(string) error { return nil }, nil},
	}
	for _, linked := range []bool{false, true} {
		for _, o := range others {
			t.Run(map[bool]string{false: "swap: ", true: "in place: "}[linked]+o.name, func(t *testing.T) {
				root := openRoot(t)
				name := filepath.Join(root.Dir(), "f")
				write(t, name, oldText, 0o644)
				write(t, filepath.Join(root.Dir(), "g"), oldText, 0o644)
				if linked {
					if err := os.Link(name, filepath.Join(root.Dir(), "twin")); err != nil {
						t.Fatal(err)
					}
				}
				p := resolve(t, root, "f")
				d := New(Options{})
				defer d.Close()
				before, err := d.Snapshot(t.Context(), p)
				if err != nil {
					t.Fatal(err)
				}
				next, err := before.WithText(newText, document.Origin{})
				if err != nil {
					t.Fatal(err)
				}
				s, err := d.Stage(t.Context(), edits.Change{From: p, To: p, Base: before.Revision}, next)
				if err != nil {
					t.Fatal(err)
				}
				if err := os.Rename(name, filepath.Join(root.Dir(), "moved")); err != nil {
					t.Fatal(err)
				}
				if err := o.make(name); err != nil {
					t.Fatal(err)
				}
				quickly(t, "the swap", func() { err = s.Swap(t.Context()) })
				same := o.name == "a new file with the same text"
				switch {
				case err == nil && same:
					holds(t, name, newText) // what counts is the text under the name
				case err == nil:
					t.Error("the swap was carried out")
				case o.kept != nil && o.name != "a FIFO" && !errors.Is(err, document.ErrConflict):
					t.Errorf("%v, want a conflict", err) // a folder and a FIFO have errors of their own
				}
				if err != nil {
					s.Discard()
					if o.kept != nil {
						o.kept(t, name)
					}
				}
				holds(t, filepath.Join(root.Dir(), "moved"), oldText)
				temporaries(t, root.Dir())
			})
		}
	}
}

// changing is an FS under which the file becomes another thing right before
// the k-th opening of it.
type changing struct {
	FS
	k    int
	n    int
	swap func()
}

func (c *changing) before() {
	if c.n++; c.n == c.k {
		c.swap()
	}
}

func (c *changing) Open(r *os.Root, name string) (*os.File, error) {
	c.before()
	return c.FS.Open(r, name)
}

func (c *changing) OpenWrite(r *os.Root, name string) (*os.File, error) {
	c.before()
	return c.FS.OpenWrite(r, name)
}

// TestKindChanges makes a FIFO, a socket's or device's stand-in, of the file
// before each opening: nothing waits, nothing is written, the FIFO stays.
func TestKindChanges(t *testing.T) {
	for _, linked := range []bool{false, true} {
		for k := 1; ; k++ {
			root := openRoot(t)
			name := filepath.Join(root.Dir(), "f")
			write(t, name, oldText, 0o644)
			if linked {
				if err := os.Link(name, filepath.Join(root.Dir(), "twin")); err != nil {
					t.Fatal(err)
				}
			}
			p := resolve(t, root, "f")
			plain := New(Options{})
			before, err := plain.Snapshot(t.Context(), p)
			plain.Close()
			if err != nil {
				t.Fatal(err)
			}
			c := &changing{FS: system{}, k: k}
			c.swap = func() {
				if err := errors.Join(os.Remove(name), syscall.Mkfifo(name, 0o600)); err != nil {
					t.Error(err)
				}
			}
			d := New(Options{FS: c})
			quickly(t, "a change", func() { err = change(d, edits.Change{From: p, To: p, Base: before.Revision}, before, newText) })
			d.Close()
			if c.n < k {
				if err != nil {
					t.Errorf("without a change of kind: %v", err)
				}
				break
			}
			if err == nil {
				t.Errorf("linked %v, before opening %d: a FIFO was written", linked, k)
			}
			if info, err := os.Lstat(name); err != nil || info.Mode()&os.ModeNamedPipe == 0 {
				t.Errorf("linked %v, before opening %d: the FIFO is gone", linked, k)
			}
			temporaries(t, root.Dir())
		}
	}
}

// TestNotRegular holds that devices, FIFOs and folders are told apart, not
// read.
func TestNotRegular(t *testing.T) {
	root := openRoot(t)
	if err := syscall.Mkfifo(filepath.Join(root.Dir(), "fifo"), 0o600); err != nil {
		t.Fatal(err)
	}
	d := New(Options{})
	defer d.Close()
	for name, want := range map[string]error{"fifo": document.ErrNotRegular, ".": document.ErrIsDirectory} {
		var err, openErr error
		quickly(t, name, func() {
			_, err = d.Snapshot(t.Context(), resolve(t, root, name))
			_, _, openErr = d.Open(t.Context(), resolve(t, root, name))
		})
		if !errors.Is(err, want) || !errors.Is(openErr, want) {
			t.Errorf("%s: %v, %v", name, err, openErr)
		}
	}
	dev, err := document.OpenRoot("/dev")
	if err != nil {
		t.Skip(err)
	}
	quickly(t, "/dev/zero", func() { _, err = d.Snapshot(t.Context(), resolve(t, dev, "zero")) })
	if !errors.Is(err, document.ErrNotRegular) {
		t.Errorf("/dev/zero: %v", err)
	}
}

// TestDeleteCompares holds that a file that was changed is not deleted.
func TestDeleteCompares(t *testing.T) {
	root := openRoot(t)
	name := filepath.Join(root.Dir(), "f")
	write(t, name, oldText, 0o644)
	p := resolve(t, root, "f")
	d := New(Options{})
	defer d.Close()
	c := edits.Change{From: p, Base: document.RevisionOf([]byte(oldText))}
	s, err := d.Stage(t.Context(), c, document.Snapshot{Path: p})
	if err != nil {
		t.Fatal(err)
	}
	write(t, name, "theirs", 0o644)
	if err := s.Swap(t.Context()); !errors.Is(err, document.ErrConflict) {
		t.Errorf("%v", err)
	}
	s.Discard()
	holds(t, name, "theirs")
}
