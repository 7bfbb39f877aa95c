package edits

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

func TestRefine(t *testing.T) {
	for _, c := range []struct {
		name, before, after string
		want                []Edit
	}{
		{"a word", "a\nthe old word\nb\n", "a\nthe new word\nb\n", []Edit{{6, 9, "new"}}},
		{"two places", "alpha = 1; beta = 2\n", "alpha = 3; beta = 4\n", []Edit{{8, 9, "3"}, {18, 19, "4"}}},
		{"put in", "f(a)\n", "f(a, b)\n", []Edit{{3, 3, ", b"}}},
		{"a character whole", "é\n", "è\n", []Edit{{0, 2, "è"}}},
		{"one byte in common", "日\n", "旦\n", []Edit{{0, 3, "旦"}}},
		{"line end gains \\r", "a\n", "a\r\n", []Edit{{1, 2, "\r\n"}}},
		{"line end loses \\r", "a\r\n", "a\n", []Edit{{1, 3, "\n"}}},
		{"not UTF-8", "a\xffb\n", "a\xfeb\n", []Edit{{1, 2, "\xfe"}}},
		{"nothing", "a\n", "a\n", []Edit{}},
	} {
		got := Refine(c.before, Diff(c.before, c.after))
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

// checkRefine holds that refined edits do what the edits did and divide nothing.
func checkRefine(t *testing.T, before, after string) {
	t.Helper()
	list := Diff(before, after)
	got := Refine(before, list)
	if dst := mustApply(t, before, got); dst != after {
		t.Fatalf("before %q after %q: %v refined to %v gives %q", before, after, list, got, dst)
	}
	shift := 0
	for _, e := range got {
		for _, at := range []int{e.Start, e.End} {
			if inside(before, at) {
				t.Fatalf("before %q after %q: %v divides the old text at %d", before, after, got, at)
			}
		}
		start := e.Start + shift
		if inside(after, start) || inside(after, start+len(e.New)) {
			t.Fatalf("before %q after %q: %v divides the new text", before, after, got)
		}
		shift += len(e.New) - (e.End - e.Start)
	}
}

func TestRefineApplies(t *testing.T) {
	r := rand.New(rand.NewPCG(21, 22))
	word := func() string {
		var b strings.Builder
		for range r.IntN(12) {
			b.WriteString([]string{"a", "b", "é", "è", "日", "旦", "\n", "\r\n", "\r", "\xff"}[r.IntN(10)])
		}
		return b.String()
	}
	for range 50000 {
		checkRefine(t, word(), word())
	}
}

func FuzzRefine(f *testing.F) {
	f.Add("the old é\r\n", "the new è\n")
	f.Add("a\xffb", "a\xfeb")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 4096 {
			return
		}
		checkRefine(t, before, after)
	})
}

// TestRefineIsBounded holds that large regions that have nothing in common
// cost little.
func TestRefineIsBounded(t *testing.T) {
	a, b := strings.Repeat("abc\n", 300_000), strings.Repeat("xyz\n", 300_000)
	got := Refine(a, []Edit{{0, len(a), b}})
	if len(got) != 1 || got[0].End-got[0].Start != len(a)-1 {
		t.Fatalf("%d edits", len(got))
	}
}
