//go:build !linux

package watcher

import "fmt"

// ordered is false: the order of events of several folders is not known here,
// so a cookie proves nothing and events only say when to look.
const ordered = false

// allowed returns a number of watches that costs other programs nothing.
func allowed() int { return 16_384 }

func reason(dir string, err error) string { return fmt.Sprintf("%s can't be watched: %v", dir, err) }
