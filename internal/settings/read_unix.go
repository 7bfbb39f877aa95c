//go:build unix

package settings

import (
	"os"
	"syscall"
)

// openPlain opens a file without waiting: a pipe of that name must not hold
// its reader (security rule R4).
func openPlain(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOCTTY, 0)
}
