//go:build unix

package settings

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// identity is what tells one folder from another of the same name.
func identity(_ string, info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}

func private(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	switch {
	case errors.Is(err, syscall.ENOTDIR), errors.Is(err, syscall.ELOOP):
		return &FolderError{dir, "is not a folder, or is a link, which is not followed", "remove it"}
	case errors.Is(err, fs.ErrPermission):
		return &FolderError{dir, "can't be opened", "see who owns it, and remove it or run: chmod 700 " + dir}
	case err != nil:
		return err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return &FolderError{dir, fmt.Sprintf("belongs to user %d", st.Uid), "remove it, or name a folder of your own in the environment (COEDIT_STATE_DIR, COEDIT_CACHE_DIR, COEDIT_RUNTIME_DIR)"}
	}
	if info.Mode().Perm()&0o077 != 0 {
		return &FolderError{dir, fmt.Sprintf("has mode %04o, so others can reach it", info.Mode().Perm()), "run: chmod 700 " + dir}
	}
	return nil
}

// lockFile waits for a lock that the system gives back when its holder dies.
// The file is never deleted.
func lockFile(name string) (unlock func(), err error) {
	f, err := os.OpenFile(name, os.O_CREATE|os.O_RDWR|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	for {
		if err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err == nil {
			return func() { f.Close() }, nil
		}
		if !errors.Is(err, syscall.EINTR) {
			f.Close()
			return nil, err
		}
	}
}

func ownedByUs(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o022 == 0
}
