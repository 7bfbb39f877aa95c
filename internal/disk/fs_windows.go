package disk

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"
)

const openFlags = 0

type stamp struct {
	size         int64
	mtime, ctime time.Time
}

func asErrno(err error) syscall.Errno {
	var e syscall.Errno
	errors.As(err, &e)
	return e
}

// flock does nothing: folders can't be locked here.
func flock(*os.File) error { return errors.ErrUnsupported }

func isQuota(error) bool { return false }

func umask() fs.FileMode { return 0 }

func links(fs.FileInfo) uint64 { return 1 }

func chmod(*os.File, fs.FileMode) error { return nil }

func chown(*os.File, fs.FileInfo) error { return nil }

func syncDir(*os.Root, string) error { return nil }
