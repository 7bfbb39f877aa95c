package disk

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"syscall"

	"github.com/pkg/xattr"
)

// An FS is the seam for faults: one method a system call, so that a test can
// fail or stop at the k-th. Names are relative to a root and hold no links.
type FS interface {
	// Open opens a file for reading without waiting for a FIFO's writer and
	// without following a link.
	Open(r *os.Root, name string) (*os.File, error)
	// OpenWrite opens an existing file for reading and writing in place.
	OpenWrite(r *os.Root, name string) (*os.File, error)
	// Create makes a file that must not exist, readable by its owner alone.
	Create(r *os.Root, name string) (*os.File, error)
	Stat(f *os.File) (fs.FileInfo, error)
	Lstat(r *os.Root, name string) (fs.FileInfo, error)
	Read(f *os.File, b []byte) (int, error)
	WriteAt(f *os.File, b []byte, off int64) (int, error)
	Truncate(f *os.File, size int64) error
	Sync(f *os.File) error
	SyncDir(r *os.Root, name string) error
	Close(f *os.File) error
	Chmod(f *os.File, mode fs.FileMode) error
	Chown(f *os.File, like fs.FileInfo) error
	Xattrs(f *os.File) (map[string][]byte, error)
	SetXattr(f *os.File, name string, value []byte) error
	Rename(r *os.Root, from, to string) error
	Link(r *os.Root, from, to string) error
	Remove(r *os.Root, name string) error
	Mkdir(r *os.Root, name string, mode fs.FileMode) error
	// LockDir locks a folder against other processes that do the same, until
	// what it returns is closed. It does not wait: errLocked says that
	// somebody has it.
	LockDir(r *os.Root, name string) (io.Closer, error)
}

// system is the real FS.
type system struct{}

func (system) Open(r *os.Root, name string) (*os.File, error) {
	return openItself(r, name, os.O_RDONLY)
}

func (system) OpenWrite(r *os.Root, name string) (*os.File, error) {
	return openItself(r, name, os.O_RDWR)
}

// errMoved says that a name does not stand for one file: a symbolic link took
// its place after it was resolved, or it is replaced again and again.
var errMoved = errors.New("the name stands for another file now")

// openItself opens the file called name. An os.Root follows a link inside the
// root whatever the flags say, so what was opened is compared with the name.
func openItself(r *os.Root, name string, flag int) (*os.File, error) {
	for range 3 { // an editor may put a new file in place just now
		f, err := r.OpenFile(name, flag|openFlags, 0)
		if err != nil {
			return nil, err
		}
		opened, err := f.Stat()
		if err == nil {
			var named fs.FileInfo
			if named, err = r.Lstat(name); err == nil && os.SameFile(opened, named) {
				return f, nil
			}
		}
		f.Close()
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return nil, errMoved
}

func (system) Create(r *os.Root, name string) (*os.File, error) {
	return r.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL|openFlags, 0o600)
}

func (system) Stat(f *os.File) (fs.FileInfo, error)               { return f.Stat() }
func (system) Lstat(r *os.Root, name string) (fs.FileInfo, error) { return r.Lstat(name) }
func (system) Read(f *os.File, b []byte) (int, error)             { return f.Read(b) }
func (system) WriteAt(f *os.File, b []byte, off int64) (int, error) {
	return f.WriteAt(b, off)
}
func (system) Truncate(f *os.File, size int64) error { return f.Truncate(size) }
func (system) Sync(f *os.File) error                 { return f.Sync() }
func (system) SyncDir(r *os.Root, name string) error { return syncDir(r, name) }
func (system) Close(f *os.File) error                { return f.Close() }
func (system) Chmod(f *os.File, mode fs.FileMode) error {
	return chmod(f, mode)
}
func (system) Chown(f *os.File, like fs.FileInfo) error { return chown(f, like) }

func (system) Xattrs(f *os.File) (map[string][]byte, error) {
	if !xattr.XATTR_SUPPORTED {
		return nil, nil
	}
	names, err := xattr.FList(f)
	if unsupported(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{}
	for _, n := range names {
		v, err := xattr.FGet(f, n)
		if err != nil {
			return nil, err
		}
		out[n] = v
	}
	return out, nil
}

func (system) SetXattr(f *os.File, name string, value []byte) error {
	return xattr.FSet(f, name, value)
}
func (system) Rename(r *os.Root, from, to string) error { return r.Rename(from, to) }
func (system) Link(r *os.Root, from, to string) error   { return r.Link(from, to) }
func (system) Remove(r *os.Root, name string) error     { return r.Remove(name) }
func (system) Mkdir(r *os.Root, name string, mode fs.FileMode) error {
	return r.Mkdir(name, mode)
}

func (system) LockDir(r *os.Root, name string) (io.Closer, error) {
	f, err := r.Open(name)
	if err != nil {
		return nil, err
	}
	if err := flock(f); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// unsupported reports whether err says that a file system has no extended
// attributes.
func unsupported(err error) bool {
	for _, e := range []syscall.Errno{syscall.ENOTSUP, syscall.EOPNOTSUPP, syscall.ENOSYS} {
		if asErrno(err) == e {
			return true
		}
	}
	return false
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeSymlink != 0:
		return "a symbolic link"
	case m&fs.ModeNamedPipe != 0:
		return "a FIFO"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "not a regular file"
}

func sizes(n int64) string {
	const mib = 1 << 20
	if n >= 1<<30 {
		return fmt.Sprintf("%.1f GiB, the limit is %d MiB", float64(n)/(1<<30), 64)
	}
	return fmt.Sprintf("%.1f MiB, the limit is %d MiB", float64(n)/mib, 64)
}
