//go:build unix

package settings

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// identity is what tells one folder from another of the same name.
func identity(info fs.FileInfo) (dev, ino uint64) {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev), st.Ino
	}
	return 0, 0
}

func private(dir string, info fs.FileInfo) error {
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d; remove it, or set COEDIT_STATE_DIR to a folder of your own", dir, st.Uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o, so others can reach it; run: chmod 700 %s", dir, info.Mode().Perm(), dir)
	}
	return nil
}
