//go:build unix

package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const openFlags = syscall.O_NONBLOCK | syscall.O_NOCTTY | syscall.O_NOFOLLOW

// A stamp is what a file system tells of a file's state.
type stamp struct {
	size         int64
	mtime, ctime time.Time
	ino, dev     uint64
}

func asErrno(err error) syscall.Errno {
	var e syscall.Errno
	errors.As(err, &e)
	return e
}

func flock(f *os.File) error {
	err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if errors.Is(err, syscall.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

func isQuota(err error) bool { return errors.Is(err, syscall.EDQUOT) }

// umask reads the process's mask. It runs while a Disk is made, before the
// process has anything else to create.
func umask() fs.FileMode {
	m := syscall.Umask(0o077)
	syscall.Umask(m)
	return fs.FileMode(m)
}

func links(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Nlink)
	}
	return 1
}

func chmod(f *os.File, mode fs.FileMode) error { return f.Chmod(mode) }

func chown(f *os.File, like fs.FileInfo) error {
	want, ok := like.Sys().(*syscall.Stat_t)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if have, ok := info.Sys().(*syscall.Stat_t); ok && have.Uid == want.Uid && have.Gid == want.Gid {
		return nil
	}
	return f.Chown(int(want.Uid), int(want.Gid))
}

func syncDir(r *os.Root, name string) error {
	d, err := r.Open(name)
	if err != nil {
		return err
	}
	err = d.Sync()
	if errors.Is(err, syscall.EINVAL) { // file systems without it
		err = nil
	}
	return errors.Join(err, d.Close())
}
