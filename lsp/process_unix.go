//go:build unix

package lsp

import (
	"os/exec"
	"syscall"
)

// ownGroup makes the child the head of a process group, so that what it
// starts can be ended with it.
func ownGroup(cmd *exec.Cmd) { cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} }

func killGroup(cmd *exec.Cmd) { syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
