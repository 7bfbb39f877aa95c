//go:build unix && long

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// goModule writes a module with a package and one that depends on it.
func goModule(t testing.TB, work string) (lib, use string) {
	t.Helper()
	put(t, filepath.Join(work, "go.mod"), "module example.test/m\n\ngo 1.22\n")
	lib = put(t, filepath.Join(work, "lib", "lib.go"), "package lib\n\nfunc F(a int) int { return a }\n")
	use = put(t, filepath.Join(work, "use", "use.go"), "package use\n\nimport \"example.test/m/lib\"\n\nvar X = lib.F(1)\n")
	return lib, use
}

func needGopls(t testing.TB) {
	t.Helper()
	dir := findGopls()
	if dir == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("gopls is neither on PATH nor in coedit's cache")
		}
		t.Skip("gopls is neither on PATH nor in coedit's cache")
	}
	t.Setenv("PATH", dir+string(filepath.ListSeparator)+os.Getenv("PATH"))
}

// TestFeedbackIsRight breaks and fixes a caller in another package, which
// nobody opened, 100 times: the error must be told 100 times, and resolved 100.
func TestFeedbackIsRight(t *testing.T) {
	needGopls(t)
	work := own(t)
	lib, _ := goModule(t, work)
	s := connect(t, nil, "--root", work)
	mustCall(t, s, "Read", map[string]any{"file_path": lib})
	mustCall(t, s, "Diagnostics", map[string]any{}) // loaded: what holds before the first edit is known
	right := 0
	for i := range 100 {
		text, _ := mustCall(t, s, "Edit", map[string]any{"file_path": lib, "old_string": "F(a int)", "new_string": "F(a, b int)"})
		if strings.Contains(text, "This edit caused:\n  use/use.go:5:") && strings.Contains(text, "not enough arguments") {
			right++
		} else {
			t.Errorf("round %d, breaking: %s", i, text)
		}
		text, _ = mustCall(t, s, "Edit", map[string]any{"file_path": lib, "old_string": "F(a, b int)", "new_string": "F(a int)"})
		if strings.Contains(text, "Resolved: 1") && strings.Contains(text, "Diagnostics: clean") {
			right++
		} else {
			t.Errorf("round %d, fixing: %s", i, text)
		}
	}
	t.Logf("right in %d of 200", right)
}

// TestColdStartIsTrue edits at once after the start, 20 times: the error, or
// that the server is not ready, but never "clean".
func TestColdStartIsTrue(t *testing.T) {
	needGopls(t)
	told := 0
	for i := range 20 {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			work := own(t)
			lib, _ := goModule(t, work)
			s := connect(t, nil, "--root", work)
			mustCall(t, s, "Read", map[string]any{"file_path": lib})
			text, _ := mustCall(t, s, "Edit", map[string]any{"file_path": lib, "old_string": "F(a int)", "new_string": "F(a, b int)"})
			switch {
			case strings.Contains(text, "use/use.go:5:") && strings.Contains(text, "not enough arguments"):
				told++
			case strings.Contains(text, "still loading"), strings.Contains(text, "timed out"), strings.Contains(text, "being installed"):
			default:
				t.Errorf("%s", text)
			}
		})
	}
	t.Logf("told the error in %d of 20, said that it is not known yet in the others", told)
}
