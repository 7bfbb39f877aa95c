package disk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"
	"sync"
	"time"

	"coedit/document"
	"coedit/edits"
)

// Stage prepares the change c, whose result is next, beside the file. What it
// returns swaps it in after a last comparison with c.Base. Renames are not
// carried out yet: they are refused with errors.ErrUnsupported.
func (d *Disk) Stage(ctx context.Context, c edits.Change, next document.Snapshot) (document.Staged, error) {
	if err := ctx.Err(); err != nil {
		return document.Staged{}, err
	}
	p := c.Path()
	r, err := d.root(p)
	if err != nil {
		return document.Staged{}, err
	}
	switch c.Kind() {
	case edits.Create:
		return d.stageCreate(r, p, next)
	case edits.Modify:
		return d.stageModify(r, p, c.Base, next)
	case edits.Delete:
		return document.Staged{
			Swap:    func(context.Context) error { return d.remove(r, p, c.Base) },
			Discard: func() {},
		}, nil
	}
	return document.Staged{}, &document.Error{Name: p.Name(), Err: errors.ErrUnsupported, Detail: "rename"}
}

// A temporary is a staged file beside its target.
type temporary struct {
	name string
	info fs.FileInfo
}

func (d *Disk) stageModify(r *os.Root, p document.Path, base document.Revision, next document.Snapshot) (document.Staged, error) {
	f, err := d.fs.Open(r, p.Rel())
	if errors.Is(err, fs.ErrNotExist) {
		return document.Staged{}, &document.Error{Name: p.Name(), Err: document.ErrConflict, Detail: "it no longer exists"}
	}
	if err != nil {
		return document.Staged{}, wrap(p, err)
	}
	defer d.fs.Close(f)
	info, err := d.regular(f, p)
	if err != nil {
		return document.Staged{}, err
	}
	if info.Mode().Perm()&0o222 == 0 {
		return document.Staged{}, &document.Error{Name: p.Name(), Err: document.ErrReadOnly, Detail: fmt.Sprintf("mode %04o", info.Mode().Perm())}
	}
	if links(info) > 1 {
		return d.stageInPlace(r, p, base, next)
	}
	if w, err := d.fs.OpenWrite(r, p.Rel()); err != nil { // a file that can't be written must not be replaced either
		if errors.Is(err, fs.ErrPermission) {
			return document.Staged{}, &document.Error{Name: p.Name(), Err: document.ErrReadOnly, Detail: fmt.Sprintf("mode %04o, %s", info.Mode().Perm(), reason(err))}
		}
		return document.Staged{}, wrap(p, err)
	} else if err := d.fs.Close(w); err != nil {
		return document.Staged{}, wrap(p, err)
	}
	attrs, err := d.fs.Xattrs(f)
	if err != nil {
		return document.Staged{}, wrap(p, err)
	}
	t, err := d.temporary(r, folder(p.Rel()), next.Bytes, func(t *os.File) error {
		if err := d.fs.Chown(t, info); err != nil {
			return errKeep
		}
		for name, v := range attrs {
			if err := d.fs.SetXattr(t, name, v); err != nil {
				return errKeep
			}
		}
		return d.fs.Chmod(t, info.Mode())
	})
	switch {
	case errors.Is(err, errKeep), errors.Is(err, fs.ErrPermission):
		return d.stageInPlace(r, p, base, next)
	case err != nil:
		return document.Staged{}, wrap(p, err)
	}
	return document.Staged{
		Swap:    func(context.Context) error { return d.swap(r, p, t, base, next) },
		Discard: func() { d.discard(r, t) },
	}, nil
}

// errKeep says that a new file can't have what the old one has (owner,
// attributes), so the old one must be written in place.
var errKeep = errors.New("can't be kept by a new file")

// temporary makes a file in the folder that holds b, durable and finished.
func (d *Disk) temporary(r *os.Root, dir string, b []byte, finish func(*os.File) error) (t temporary, err error) {
	var id [8]byte
	rand.Read(id[:])
	t.name = path.Join(dir, TempPrefix+hex.EncodeToString(id[:])+TempSuffix)
	f, err := d.fs.Create(r, t.name)
	if err != nil {
		return t, err
	}
	closed := false
	defer func() {
		if err != nil {
			if !closed {
				f.Close()
			}
			d.discard(r, t)
		}
	}()
	if err := d.writeAll(f, b); err != nil {
		return t, err
	}
	if err := finish(f); err != nil {
		return t, err
	}
	if err := d.fs.Sync(f); err != nil {
		return t, err
	}
	if t.info, err = d.fs.Stat(f); err != nil {
		return t, err
	}
	closed = true
	return t, d.fs.Close(f)
}

func (d *Disk) writeAll(f *os.File, b []byte) error {
	n, err := d.fs.WriteAt(f, b, 0)
	if err == nil && n < len(b) {
		err = errors.New("short write")
	}
	return err
}

// discard removes what coedit staged: best effort, since the failure that led
// here is the one to tell.
func (d *Disk) discard(r *os.Root, t temporary) { _ = d.fs.Remove(r, t.name) }

// swap puts the staged file in the target's place, if the target is at base.
func (d *Disk) swap(r *os.Root, p document.Path, t temporary, base document.Revision, next document.Snapshot) error {
	unlock, err := d.lock(r, p)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.compare(p, base); err != nil {
		return err
	}
	if err := d.fs.Rename(r, t.name, p.Rel()); err != nil {
		return wrap(p, err)
	}
	unlock()
	d.forget(p)
	// The new text is visible; a folder that can't be synced may lose it in a
	// power cut only, so that failure does not undo the change.
	_ = d.fs.SyncDir(r, folder(p.Rel()))
	return nil
}

// lockWait is how long another coedit may be in the middle of a change.
const lockWait = 5 * time.Second

// lock keeps other coedit processes from changing files in p's folder between
// a comparison and the change that rests on it. A folder that can't be locked
// (some network file systems) goes without.
func (d *Disk) lock(r *os.Root, p document.Path) (unlock func(), err error) {
	for start := time.Now(); ; {
		l, err := d.fs.LockDir(r, folder(p.Rel()))
		switch {
		case err == nil:
			return sync.OnceFunc(func() { _ = l.Close() }), nil
		case !errors.Is(err, errLocked):
			return func() {}, nil
		case time.Since(start) > lockWait:
			return nil, &document.Error{Name: p.Name(), Err: err, Detail: "another program, maybe another coedit, has had its folder locked for " + lockWait.String() + "; nothing was changed, send the call again"}
		}
		time.Sleep(200 * time.Microsecond) // the holder is writing one file
	}
}

// errLocked says that another process has a folder locked.
var errLocked = errors.New("locked")

// compare reads the file anew and refuses unless it is at base.
func (d *Disk) compare(p document.Path, base document.Revision) error {
	now, err := d.snapshot(context.Background(), p, false)
	if err != nil {
		return err
	}
	if now.Revision != base {
		detail := "its text is not what the edit was computed from"
		if !now.Exists() {
			detail = "it no longer exists"
		}
		return &document.Error{Name: p.Name(), Err: document.ErrConflict, Detail: detail}
	}
	return nil
}

// stageInPlace prepares to write the file itself: for hard links, whose other
// names would keep the old text, and where no file can be made beside it.
func (d *Disk) stageInPlace(r *os.Root, p document.Path, base document.Revision, next document.Snapshot) (document.Staged, error) {
	f, err := d.fs.OpenWrite(r, p.Rel())
	if err != nil {
		if errors.Is(err, fs.ErrPermission) {
			return document.Staged{}, &document.Error{Name: p.Name(), Err: document.ErrReadOnly, Detail: reason(err)}
		}
		return document.Staged{}, wrap(p, err)
	}
	if _, err := d.regular(f, p); err != nil { // reading a FIFO would wait
		f.Close()
		return document.Staged{}, err
	}
	return document.Staged{
		Swap: func(context.Context) error {
			defer f.Close()
			return d.writeInPlace(r, f, p, base, next)
		},
		Discard: func() { f.Close() },
	}, nil
}

// writeInPlace never truncates first: the new bytes are laid over the old,
// then the rest is cut. A failure in the middle restores the old bytes.
func (d *Disk) writeInPlace(r *os.Root, f *os.File, p document.Path, base document.Revision, next document.Snapshot) error {
	unlock, err := d.lock(r, p)
	if err != nil {
		return err
	}
	defer unlock()
	old, err := d.read(f, int64(len(next.Bytes)))
	if err != nil {
		return wrap(p, err)
	}
	if document.RevisionOf(old) != base {
		return &document.Error{Name: p.Name(), Err: document.ErrConflict, Detail: "its text is not what the edit was computed from"}
	}
	if err := d.stillNamed(r, f, p); err != nil {
		return err
	}
	write := func(b []byte) error {
		if err := d.writeAll(f, b); err != nil {
			return err
		}
		if err := d.fs.Truncate(f, int64(len(b))); err != nil {
			return err
		}
		return d.fs.Sync(f)
	}
	d.forget(p)
	if err := write(next.Bytes); err != nil {
		if back := write(old); back != nil {
			return &document.Error{Name: p.Name(), Err: err, Detail: "and the old text could not be restored: " + reason(back)}
		}
		return wrap(p, err)
	}
	return nil
}

// stillNamed refuses when p is no longer the name of f: what is written to f
// would not be seen.
func (d *Disk) stillNamed(r *os.Root, f *os.File, p document.Path) error {
	opened, err := d.fs.Stat(f)
	if err != nil {
		return wrap(p, err)
	}
	named, err := d.fs.Lstat(r, p.Rel())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return wrap(p, err)
	}
	if err != nil || !os.SameFile(opened, named) {
		return wrap(p, errMoved)
	}
	return nil
}

// stageCreate prepares a file that must not exist yet, and its folders.
func (d *Disk) stageCreate(r *os.Root, p document.Path, next document.Snapshot) (document.Staged, error) {
	made, err := d.folders(r, folder(p.Rel()))
	if err != nil {
		d.removeFolders(r, made)
		return document.Staged{}, wrap(p, err)
	}
	t, err := d.temporary(r, folder(p.Rel()), next.Bytes, func(f *os.File) error {
		return d.fs.Chmod(f, 0o666&^d.umask)
	})
	if err != nil {
		d.removeFolders(r, made)
		return document.Staged{}, wrap(p, err)
	}
	return document.Staged{
		Swap:    func(context.Context) error { return d.place(r, p, t, next) },
		Discard: func() { d.discard(r, t); d.removeFolders(r, made) },
	}, nil
}

// place gives the staged file its name, which must be free. A link refuses a
// taken name; where links can't be made, a look does.
func (d *Disk) place(r *os.Root, p document.Path, t temporary, next document.Snapshot) error {
	err := d.fs.Link(r, t.name, p.Rel())
	switch {
	case err == nil:
		// Where neither name can be taken away, the file stands: saying that
		// it was not created would be the worse half.
		if err := d.fs.Remove(r, t.name); err != nil && d.fs.Remove(r, p.Rel()) == nil {
			return wrap(p, err)
		}
	case errors.Is(err, fs.ErrExist):
		return &document.Error{Name: p.Name(), Err: document.ErrConflict, Detail: "it was created meanwhile"}
	default:
		if _, err := d.fs.Lstat(r, p.Rel()); err == nil {
			return &document.Error{Name: p.Name(), Err: document.ErrConflict, Detail: "it was created meanwhile"}
		} else if !errors.Is(err, fs.ErrNotExist) {
			return wrap(p, err)
		}
		if err := d.fs.Rename(r, t.name, p.Rel()); err != nil {
			return wrap(p, err)
		}
	}
	_ = d.fs.SyncDir(r, folder(p.Rel()))
	d.forget(p)
	return nil
}

// folders makes the missing folders of dir and returns those it made, outermost
// first.
func (d *Disk) folders(r *os.Root, dir string) (made []string, err error) {
	if dir == "." {
		return nil, nil
	}
	parts := strings.Split(dir, "/")
	for i := range parts {
		name := strings.Join(parts[:i+1], "/")
		info, err := d.fs.Lstat(r, name)
		if err == nil {
			if !info.IsDir() {
				return made, &document.Error{Name: name, Err: document.ErrNotDirectory}
			}
			continue
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return made, err
		}
		if err := d.fs.Mkdir(r, name, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
			return made, err
		} else if err == nil {
			made = append(made, name)
		}
	}
	return made, nil
}

// removeFolders takes back folders that are still empty.
func (d *Disk) removeFolders(r *os.Root, made []string) {
	for i := len(made) - 1; i >= 0; i-- {
		_ = d.fs.Remove(r, made[i])
	}
}

// remove deletes the file, if it is at base.
func (d *Disk) remove(r *os.Root, p document.Path, base document.Revision) error {
	unlock, err := d.lock(r, p)
	if err != nil {
		return err
	}
	defer unlock()
	if err := d.compare(p, base); err != nil {
		return err
	}
	d.forget(p)
	if err := d.fs.Remove(r, p.Rel()); err != nil {
		return wrap(p, err)
	}
	_ = d.fs.SyncDir(r, folder(p.Rel()))
	return nil
}
