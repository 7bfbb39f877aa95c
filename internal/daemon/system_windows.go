package daemon

import (
	"errors"
	"net"
	"os"

	"golang.org/x/sys/windows"
)

// CheckDir looks only whether the folder is there: the user's profile is
// closed to others by its access list.
func CheckDir(dir string) error {
	_, err := os.Stat(dir)
	return err
}

// checkPeer lets everybody pass who can open the socket in the user's profile.
func checkPeer(*net.UnixConn) error { return nil }

// A lock is a locked file. It ends with the process, however that ends.
type lock struct{ f *os.File }

// tryLock locks the file called name, or returns ErrRunning.
func tryLock(name string) (lock, error) {
	f, err := os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return lock{}, err
	}
	err = windows.LockFileEx(windows.Handle(f.Fd()), windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, &windows.Overlapped{})
	if err != nil {
		if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
			err = ErrRunning
		}
		return lock{}, errors.Join(err, f.Close())
	}
	return lock{f}, nil
}

func (k lock) unlock() error { return k.f.Close() }
