//go:build unix

package daemon

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// CheckDir refuses a runtime folder that others could have put something into:
// a link, another owner, a mode that lets others in.
func CheckDir(dir string) error {
	f, err := os.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return fmt.Errorf("the runtime folder can't be used: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	st, ok := info.Sys().(*syscall.Stat_t)
	switch {
	case !ok || int(st.Uid) != os.Geteuid():
		return fmt.Errorf("the runtime folder %s belongs to another user; set COEDIT_RUNTIME_DIR to one of your own", dir)
	case info.Mode().Perm()&0o077 != 0:
		return fmt.Errorf("the runtime folder %s is open to others (mode %04o); chmod 700 it, or set COEDIT_RUNTIME_DIR", dir, info.Mode().Perm())
	}
	return nil
}

// A lock is a locked file. It ends with the process, however that ends.
type lock struct{ f *os.File }

// tryLock locks the file called name, or returns ErrRunning.
func tryLock(name string) (lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return lock{}, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			err = ErrRunning
		}
		return lock{}, errors.Join(err, f.Close())
	}
	return lock{f}, nil
}

func (k lock) unlock() error { return k.f.Close() }
