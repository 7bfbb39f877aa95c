//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// ignoreSizeSignal makes a write past a file size limit fail with an error
// instead of ending the process.
func ignoreSizeSignal() { signal.Ignore(syscall.SIGXFSZ) }
