//go:build long && !race

package edits

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// editedText makes a text of n lines and one with about k of its lines
// changed, in runs. A share of the lines is common ones ("}", ""), and the
// changes reuse them.
func editedText(r *rand.Rand, n, k int) (before, after string) {
	line := func() string {
		switch r.IntN(10) {
		case 0, 1:
			return "\t}\n"
		case 2:
			return "\n"
		case 3:
			return fmt.Sprintf("\treturn x%d\n", r.IntN(50))
		}
		return fmt.Sprintf("\tvalue%d := compute(%d)\n", r.IntN(100_000), r.IntN(100_000))
	}
	lines := make([]string, n)
	for i := range lines {
		lines[i] = line()
	}
	var out []string
	changed := 0
	for i := 0; i < n; i++ {
		if changed >= k || r.IntN(n) >= k/4 {
			out = append(out, lines[i])
			continue
		}
		run := 1 + r.IntN(8)
		switch r.IntN(4) {
		case 0: // removed
			i += run - 1
		case 1: // added
			for range run {
				out = append(out, line())
			}
			out = append(out, lines[i])
		case 2: // written anew
			for range run {
				out = append(out, line())
			}
			i += run - 1
		default: // one line changed
			out = append(out, strings.TrimSuffix(lines[i], "\n")+" // seen\n")
		}
		changed += run
	}
	return strings.Join(lines, ""), strings.Join(out, "")
}

// changedLines counts the lines a list removes and adds.
func changedLines(before string, list []Edit) int {
	n := 0
	for _, e := range list {
		n += len(splitLines(before[e.Start:e.End])) + len(splitLines(e.New))
	}
	return n
}

// TestDiffAgainstGit holds that a difference is as small as git's, and takes
// no longer.
func TestDiffAgainstGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip("git is not installed")
	}
	dir := t.TempDir()
	texts := map[string][2]string{}
	for seed := range 3 {
		a, b := editedText(rand.New(rand.NewPCG(31, uint64(seed))), 50_000, 20_000)
		texts[fmt.Sprintf("edited %d", seed)] = [2]string{a, b}
	}
	var a, b strings.Builder
	r := rand.New(rand.NewPCG(33, 34))
	for range 50_000 {
		s := fmt.Sprintf("line %d\n", r.IntN(300))
		a.WriteString(s)
		if r.IntN(5) < 2 {
			s = fmt.Sprintf("line %d\n", r.IntN(300))
		}
		b.WriteString(s)
	}
	texts["no line is unique"] = [2]string{a.String(), b.String()}
	for name, pair := range texts {
		t.Run(name, func(t *testing.T) {
			for i, f := range []string{"a", "b"} {
				if err := os.WriteFile(filepath.Join(dir, f), []byte(pair[i]), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			// the best of several, as other programs run too
			var out []byte
			theirs, ours := time.Hour, time.Hour
			var list []Edit
			for range 3 {
				start := time.Now()
				cmd := exec.Command(git, "diff", "--no-index", "--numstat", "a", "b")
				cmd.Dir = dir
				out, _ = cmd.Output() // exits 1 where the files differ
				theirs = min(theirs, time.Since(start))
				start = time.Now()
				list = Diff(pair[0], pair[1])
				ours = min(ours, time.Since(start))
			}
			var added, removed int
			if _, err := fmt.Sscan(string(out), &added, &removed); err != nil {
				t.Fatalf("git says %q: %v", out, err)
			}
			if got := mustApply(t, pair[0], list); got != pair[1] {
				t.Fatal("the difference is wrong")
			}
			n := changedLines(pair[0], list)
			t.Logf("git %d lines in %v, ours %d in %v", added+removed, theirs, n, ours)
			if limit := (added + removed) * 101 / 100; n > limit {
				t.Errorf("%d changed lines, git has %d", n, added+removed)
			}
			if ours > theirs {
				t.Errorf("took %v, git %v", ours, theirs)
			}
		})
	}
}
