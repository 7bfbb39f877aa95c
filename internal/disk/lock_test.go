package disk

import (
	"errors"
	"os"
	"sync"
	"testing"

	"coedit/document"
	"coedit/edits"
)

// Two coedit processes (two Disks: a lock belongs to an open folder) lose
// nothing of each other's.
func TestTwoProcesses(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := root.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(p.Name(), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	const each = 150
	var wg sync.WaitGroup
	for range 2 {
		d := New(Options{})
		defer d.Close()
		wg.Go(func() {
			for n := 0; n < each; {
				s, err := d.Snapshot(t.Context(), p)
				if err != nil {
					t.Error(err)
					return
				}
				next, err := s.WithText(s.Text+"x", document.Origin{})
				if err != nil {
					t.Error(err)
					return
				}
				c := edits.Change{From: p, To: p, Base: s.Revision, Edits: []edits.Edit{{Start: len(s.Text), End: len(s.Text), New: "x"}}}
				staged, err := d.Stage(t.Context(), c, next)
				if err == nil {
					if err = staged.Swap(t.Context()); err != nil {
						staged.Discard()
					}
				}
				switch {
				case err == nil:
					n++
				case !errors.Is(err, document.ErrConflict):
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	if b, err := os.ReadFile(p.Name()); err != nil || len(b) != 2*each {
		t.Errorf("%d of %d changes are in the file; %v", len(b), 2*each, err)
	}
}

func TestLockedFolder(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r, err := os.OpenRoot(root.Dir())
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	held, err := system{}.LockDir(r, ".")
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	} else if err != nil {
		t.Fatal(err)
	}
	if _, err := (system{}).LockDir(r, "."); !errors.Is(err, errLocked) {
		t.Errorf("locked twice: %v", err)
	}
	if err := held.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := system{}.LockDir(r, ".")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}
