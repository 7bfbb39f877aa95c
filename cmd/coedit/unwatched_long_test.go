//go:build long && unix

package main

import "testing"

// Losing every event of the watcher may make coedit late, never wrong.
func TestScenarioWithoutWatcher(t *testing.T) { scenarios(t, "scenario", false) }
