package edits

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// randomEdits makes a valid list for a text of n bytes.
func randomEdits(r *rand.Rand, n int) []Edit {
	var out []Edit
	at := 0
	for range r.IntN(5) {
		if at > n {
			break
		}
		start := at + r.IntN(n-at+1)
		end := start + r.IntN(min(4, n-start)+1)
		e := Edit{Start: start, End: end, New: strings.Repeat(string(rune('A'+r.IntN(26))), r.IntN(4))}
		if r.IntN(4) == 0 {
			e.New += "\n"
		}
		if e.Start == e.End && e.New == "" {
			continue
		}
		out = append(out, e)
		at = end + 1
	}
	return out
}

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(40) {
		b.WriteByte("abc\n\r"[r.IntN(5)])
	}
	return b.String()
}

func mustApply(t *testing.T, src string, list []Edit) string {
	t.Helper()
	out, err := Apply(src, list)
	if err != nil {
		t.Fatalf("Apply(%q, %v): %v", src, list, err)
	}
	return out
}

func TestInvert(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 20000 {
		src := randomText(r)
		list := randomEdits(r, len(src))
		dst := mustApply(t, src, list)
		if back := mustApply(t, dst, Invert(src, list)); back != src {
			t.Fatalf("%q %v: inverse gives %q", src, list, back)
		}
	}
}

func TestCompose(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200000 {
		src := randomText(r)
		first := randomEdits(r, len(src))
		mid := mustApply(t, src, first)
		second := randomEdits(r, len(mid))
		want := mustApply(t, mid, second)
		got, err := Apply(src, Compose(first, second))
		if err != nil || got != want {
			t.Fatalf("src %q first %v second %v: compose %v gives %q (%v), want %q", src, first, second, Compose(first, second), got, err, want)
		}
	}
}

func TestRebaseAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	n := 0
	for range 50000 {
		src := randomText(r)
		a, b := randomEdits(r, len(src)), randomEdits(r, len(src))
		ab, ok1 := Rebase(b, a)
		ba, ok2 := Rebase(a, b)
		if ok1 != ok2 {
			t.Fatalf("%q %v %v: rebase one way only", src, a, b)
		}
		if !ok1 {
			continue
		}
		n++
		x, y := mustApply(t, mustApply(t, src, a), ab), mustApply(t, mustApply(t, src, b), ba)
		if x != y {
			t.Fatalf("%q %v %v: %q and %q", src, a, b, x, y)
		}
	}
	if n < 1000 {
		t.Fatalf("only %d disjoint pairs", n)
	}
}

func TestApplyRefuses(t *testing.T) {
	for _, list := range [][]Edit{
		{{Start: -1, End: 0}}, {{Start: 2, End: 1}}, {{Start: 0, End: 9}},
		{{Start: 0, End: 2}, {Start: 1, End: 3}}, {{Start: 2, End: 2}, {Start: 0, End: 1}},
	} {
		if _, err := Apply("abc", list); err == nil {
			t.Errorf("%v was applied", list)
		}
	}
}

// FuzzEdits drives the random tests above from other seeds and texts.
func FuzzEdits(f *testing.F) {
	f.Add(uint64(1), uint64(2), "a\r\nb\nc")
	f.Fuzz(func(t *testing.T, a, b uint64, src string) {
		r := rand.New(rand.NewPCG(a, b))
		first := randomEdits(r, len(src))
		mid := mustApply(t, src, first)
		if back := mustApply(t, mid, Invert(src, first)); back != src {
			t.Fatalf("%v: inverse gives %q", first, back)
		}
		second := randomEdits(r, len(mid))
		dst := mustApply(t, mid, second)
		if got := mustApply(t, src, Compose(first, second)); got != dst {
			t.Fatalf("%v then %v: composed gives %q, want %q", first, second, got, dst)
		}
		other := randomEdits(r, len(src))
		x, ok := Rebase(first, other)
		y, also := Rebase(other, first)
		if ok != also {
			t.Fatalf("%v and %v: rebased one way only", first, other)
		}
		if ok {
			if got, want := mustApply(t, mustApply(t, src, other), x), mustApply(t, mid, y); got != want {
				t.Fatalf("%v and %v: %q and %q", first, other, got, want)
			}
		}
		if Disjoint(src, first, other) != Disjoint(src, other, first) {
			t.Fatalf("%q %v and %v: disjoint one way only", src, first, other)
		}
		if Disjoint(src, first, other) {
			checkDisjoint(t, src, first, other)
		}
	})
}

// checkDisjoint holds that lines that one list touches stand after it as they
// do after both, as lines.
func checkDisjoint(t *testing.T, src string, first, other []Edit) {
	t.Helper()
	m := NewLineMap(src, first)
	for _, r := range Lines(src, other) {
		for n := r.First; n <= r.Last; n++ {
			if _, ok := m.Line(n); !ok {
				t.Fatalf("%q %v and %v: line %d is touched by both", src, first, other, n)
			}
		}
	}
}
