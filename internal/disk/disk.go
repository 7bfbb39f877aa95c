// Package disk replaces files without losing anyone's bytes.
package disk

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"sync"
	"syscall"
	"time"

	"coedit/document"
)

// TempPrefix and TempSuffix surround the 16 hex digits of a temporary file's
// name, so that scans, watchers and people can tell one.
const (
	TempPrefix = ".coedit-"
	TempSuffix = ".tmp"
)

// young is how old a file must be when it is read for its times to prove later
// that it is unchanged: file systems with coarse times give two writes the
// same one.
const young = 2 * time.Second

// cacheBytes bounds the snapshots kept to save a second read.
const cacheBytes = 64 << 20

// Options say how a Disk behaves. The zero value is ready.
type Options struct {
	FS FS // the system calls; nil for the real ones
	// Charset returns the configured charset of a file, "" for none; nil for
	// none at all.
	Charset func(document.Path) string
}

// A Disk reads and replaces files under the roots. It is safe for concurrent
// use; two changes of one document must not overlap in time (the workspace's
// lanes see to that).
type Disk struct {
	fs      FS
	charset func(document.Path) string
	umask   fs.FileMode

	mu    sync.Mutex
	roots map[string]*os.Root
	known map[document.Path]*entry
	bytes int
	clock uint64
}

type entry struct {
	stamp   stamp
	charset string // the text depends on it
	snap    document.Snapshot
	used    uint64
}

// New returns a Disk.
func New(o Options) *Disk {
	d := &Disk{fs: o.FS, charset: o.Charset, umask: umask(), roots: map[string]*os.Root{}, known: map[document.Path]*entry{}}
	if d.fs == nil {
		d.fs = system{}
	}
	if d.charset == nil {
		d.charset = func(document.Path) string { return "" }
	}
	return d
}

// Close lets the roots go.
func (d *Disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, r := range d.roots {
		errs = append(errs, r.Close())
	}
	clear(d.roots)
	return errors.Join(errs...)
}

func (d *Disk) root(p document.Path) (*os.Root, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if r := d.roots[p.Root()]; r != nil {
		if sameRoot(r, p.Root()) {
			return r, nil
		}
		_ = r.Close() // another folder has the name now
		delete(d.roots, p.Root())
	}
	r, err := os.OpenRoot(p.Root())
	if err != nil {
		return nil, wrap(p, err)
	}
	d.roots[p.Root()] = r
	return r, nil
}

// Snapshot reads the file at p, or answers from what it read before where
// size, times and inode say that nothing changed. A missing file is no error;
// a directory, a device or a file over document.MaxSize is.
func (d *Disk) Snapshot(ctx context.Context, p document.Path) (document.Snapshot, error) {
	return d.snapshot(ctx, p, true)
}

func (d *Disk) snapshot(ctx context.Context, p document.Path, cached bool) (document.Snapshot, error) {
	if err := ctx.Err(); err != nil {
		return document.Snapshot{}, err
	}
	r, err := d.root(p)
	if err != nil {
		return document.Snapshot{}, err
	}
	f, err := d.fs.Open(r, p.Rel())
	if errors.Is(err, fs.ErrNotExist) {
		d.forget(p)
		return d.missing(p), nil
	}
	if err != nil {
		return document.Snapshot{}, wrap(p, err)
	}
	defer d.fs.Close(f)
	before, err := d.regular(f, p)
	if err != nil {
		return document.Snapshot{}, err
	}
	if before.Size() > document.MaxSize {
		return document.Snapshot{}, &document.Error{Name: p.Name(), Err: document.ErrTooLarge, Detail: sizes(before.Size())}
	}
	charset := d.charset(p)
	if cached {
		if s, ok := d.recall(p, stampOf(before), charset); ok {
			return s, nil
		}
	}
	read := time.Now()
	b, err := d.read(f, before.Size())
	if err != nil {
		return document.Snapshot{}, wrap(p, err)
	}
	if len(b) > document.MaxSize {
		return document.Snapshot{}, &document.Error{Name: p.Name(), Err: document.ErrTooLarge, Detail: sizes(int64(len(b)))}
	}
	s := document.NewSnapshot(p, b, charset, document.Origin{Kind: document.OriginDisk})
	after, err := d.fs.Stat(f)
	if err == nil && stampOf(after) == stampOf(before) && after.Size() == int64(len(b)) && !stampOf(after).young(read, young) {
		d.remember(p, stampOf(after), charset, s)
	}
	return s, nil
}

// missing is the snapshot of a file that is not there, in the encoding that it
// is to be made in.
func (d *Disk) missing(p document.Path) document.Snapshot {
	s := document.Snapshot{Path: p, Origin: document.Origin{Kind: document.OriginDisk}}
	charset := d.charset(p)
	if enc, ok := document.CharsetName(charset); ok {
		s.Encoding = enc
		s.BOM = enc == document.UTF16LE || enc == document.UTF16BE || charset == "utf-8-bom"
	}
	return s
}

func sameRoot(r *os.Root, dir string) bool {
	now, err := os.Stat(dir)
	if err != nil {
		return false
	}
	held, err := r.Stat(".")
	return err == nil && os.SameFile(now, held)
}

// Open opens the file at p for reading in part, whatever its size.
func (d *Disk) Open(_ context.Context, p document.Path) (io.ReadCloser, int64, error) {
	r, err := d.root(p)
	if err != nil {
		return nil, 0, err
	}
	f, err := d.fs.Open(r, p.Rel())
	if err != nil {
		return nil, 0, wrap(p, err)
	}
	info, err := d.regular(f, p)
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

func (d *Disk) regular(f *os.File, p document.Path) (fs.FileInfo, error) {
	info, err := d.fs.Stat(f)
	switch {
	case err != nil:
		return nil, wrap(p, err)
	case info.IsDir():
		return nil, &document.Error{Name: p.Name(), Err: document.ErrIsDirectory}
	case !info.Mode().IsRegular():
		return nil, &document.Error{Name: p.Name(), Err: document.ErrNotRegular, Detail: kind(info.Mode())}
	}
	return info, nil
}

// read returns the file's bytes, at most one more than document.MaxSize.
func (d *Disk) read(f *os.File, size int64) ([]byte, error) {
	b := make([]byte, 0, size+1)
	for {
		if len(b) > document.MaxSize {
			return b, nil
		}
		if len(b) == cap(b) {
			b = append(b, 0)[:len(b)]
		}
		n, err := d.fs.Read(f, b[len(b):cap(b)])
		b = b[:len(b)+n]
		if err == io.EOF {
			return b, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (d *Disk) recall(p document.Path, s stamp, charset string) (document.Snapshot, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	e := d.known[p]
	if e == nil || e.stamp != s || e.charset != charset {
		return document.Snapshot{}, false
	}
	d.clock++
	e.used = d.clock
	return e.snap, true
}

func (d *Disk) remember(p document.Path, st stamp, charset string, s document.Snapshot) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[p]; e != nil {
		d.bytes -= 2 * len(e.snap.Bytes)
	}
	d.clock++
	d.known[p] = &entry{stamp: st, charset: charset, snap: s, used: d.clock}
	d.bytes += 2 * len(s.Bytes)
	for d.bytes > cacheBytes && len(d.known) > 1 {
		var oldest document.Path
		for q, e := range d.known {
			if q != p && (oldest.IsZero() || e.used < d.known[oldest].used) {
				oldest = q
			}
		}
		d.bytes -= 2 * len(d.known[oldest].snap.Bytes)
		delete(d.known, oldest)
	}
}

func (d *Disk) forget(p document.Path) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if e := d.known[p]; e != nil {
		d.bytes -= 2 * len(e.snap.Bytes)
		delete(d.known, p)
	}
}

// wrap turns a system error into the one that document declares for it.
func wrap(p document.Path, err error) error {
	var de *document.Error
	if err == nil || errors.As(err, &de) {
		return err
	}
	e := &document.Error{Name: p.Name(), Err: err}
	switch {
	case errors.Is(err, errMoved):
		e.Err, e.Detail = document.ErrConflict, errMoved.Error()
	case errors.Is(err, fs.ErrNotExist):
		e.Err = document.ErrNotFound
	case errors.Is(err, syscall.ENOTDIR):
		e.Err = document.ErrNotDirectory
	case errors.Is(err, syscall.EISDIR):
		e.Err = document.ErrIsDirectory
	case errors.Is(err, syscall.ENAMETOOLONG), errors.Is(err, syscall.ELOOP):
		e.Err, e.Detail = document.ErrBadPath, err.Error()
	case errors.Is(err, syscall.ENOSPC), isQuota(err), errors.Is(err, syscall.EFBIG):
		e.Err, e.Detail = document.ErrNoSpace, reason(err)
	case errors.Is(err, syscall.EROFS):
		e.Err, e.Detail = document.ErrReadOnly, "read-only file system"
	case errors.Is(err, syscall.ENXIO):
		e.Err = document.ErrNotRegular
	case errors.Is(err, fs.ErrPermission):
		e.Err, e.Detail = document.ErrPermission, reason(err)
	}
	return e
}

// reason is the innermost text of a system error, without names.
func reason(err error) string {
	var errno syscall.Errno
	if errors.As(err, &errno) {
		return errno.Error()
	}
	return err.Error()
}

func folder(rel string) string { return path.Dir(rel) }
