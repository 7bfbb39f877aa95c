//go:build unix

package lsp_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// alive reports whether a process exists and is no zombie.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	b, err := os.ReadFile(filepath.Join("/proc", itoa(pid), "stat"))
	return err != nil || !strings.Contains(string(b), ") Z ") // no /proc: the signal's word
}
