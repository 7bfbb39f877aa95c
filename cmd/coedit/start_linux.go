package main

import (
	"fmt"
	"os"
	"strings"
)

// startOf tells when the process began, as it is told for no other process of
// the same number: in clock ticks since the boot of that name (proc(5)).
func startOf(pid int) string {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	boot, err2 := os.ReadFile("/proc/sys/kernel/random/boot_id")
	_, rest, ok := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
	if fields := strings.Fields(rest); err == nil && err2 == nil && ok && len(fields) > 19 {
		return fields[19] + "@" + strings.TrimSpace(string(boot))
	}
	return ""
}
