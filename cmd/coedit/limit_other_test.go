//go:build unix && !linux

package main

import "github.com/rogpeppe/go-internal/testscript"

func cmdLimit(ts *testscript.TestScript, neg bool, args []string) {
	ts.Fatalf("limits are set on Linux only")
}
