package main

import (
	"strconv"

	"github.com/rogpeppe/go-internal/testscript"
	"golang.org/x/sys/unix"
)

// cmdLimit bounds the size of files that the agent's process may write.
func cmdLimit(ts *testscript.TestScript, neg bool, args []string) {
	lim := unix.Rlimit{Cur: unix.RLIM_INFINITY, Max: unix.RLIM_INFINITY}
	if args[0] != "unlimited" {
		n, err := strconv.ParseUint(args[0], 10, 64)
		ts.Check(err)
		lim.Cur = n
	}
	ts.Check(unix.Prlimit(agentOf(ts).cmd.Process.Pid, unix.RLIMIT_FSIZE, &lim, nil))
}
