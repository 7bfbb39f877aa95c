package provision

import (
	"context"
	"errors"
	"os/exec"
	"syscall"
	"time"
)

// lock waits until nobody else has the lock file open. The system closes it
// when its holder dies; it is never deleted.
func lock(ctx context.Context, name string) (unlock func(), err error) {
	const sharingViolation = syscall.Errno(32)
	p, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return nil, err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		h, err := syscall.CreateFile(p, syscall.GENERIC_READ|syscall.GENERIC_WRITE, 0, nil, syscall.OPEN_ALWAYS, syscall.FILE_ATTRIBUTE_NORMAL, 0)
		if err == nil {
			return func() { syscall.CloseHandle(h) }, nil
		}
		if !errors.Is(err, sharingViolation) {
			return nil, err
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-tick.C:
		}
	}
}

// group: the go command alone is ended; its compilers end by themselves.
func group(*exec.Cmd) {}
