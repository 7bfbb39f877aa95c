package edits

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coedit/document"
)

// checkSequence holds that a Sequence does what Replace and Apply do one after
// the other, and returns how many steps went through.
func checkSequence(t *testing.T, src string, steps [][2]string, all bool) (done int) {
	t.Helper()
	s := NewSequence(src)
	text := src
	for i, st := range steps {
		want, wantErr := Replace(text, st[0], st[1], all)
		got, err := s.Replace(st[0], st[1], all)
		if !reflect.DeepEqual(got, want) || !reflect.DeepEqual(err, wantErr) {
			t.Fatalf("step %d, %q to %q: got %v %v, want %v %v", i, st[0], st[1], got, err, want, wantErr)
		}
		if err != nil {
			continue
		}
		done++
		text = mustApply(t, text, want.Edits)
		for _, off := range []int{0, len(text) / 3, len(text)} {
			if n := document.Lines(text).At(off); s.line(off) != n {
				t.Fatalf("step %d: offset %d is on line %d, want %d", i, off, s.line(off), n)
			}
		}
	}
	if got := mustApply(t, src, s.Edits()); got != text || s.Text() != text {
		t.Fatalf("the sequence ends at another text\nedits %v", s.Edits())
	}
	m := NewLineMap(src, s.Edits())
	for n := 1; n <= 5; n++ {
		a, aok := m.Old(n)
		if b, bok := s.Origin(n); a != b || aok != bok {
			t.Fatalf("origin of line %d: %d %v, want %d %v", n, b, bok, a, aok)
		}
	}
	return done
}

// sequenceCase makes a text that is searched through the index, and
// replacements of which later ones meet what earlier ones wrote.
func sequenceCase(r *rand.Rand) (string, [][2]string) {
	var lines []string
	end := []string{"\n", "\r\n"}
	mixed := r.IntN(3)
	for i := range 1200 {
		e := end[0]
		if mixed == 1 || mixed == 2 && r.IntN(2) == 0 {
			e = end[1]
		}
		lines = append(lines, fmt.Sprintf("line %d holds some value %d%s", i, r.IntN(40), e))
	}
	text := strings.Join(lines, "")
	src := text
	var steps [][2]string
	for range 25 {
		n := r.IntN(len(text) - 200)
		if len(steps) > 0 && r.IntN(2) == 0 { // near the last
			n = max(0, strings.Index(text, steps[len(steps)-1][1])-r.IntN(30))
		}
		old := text[n:min(len(text), n+12+r.IntN(80))]
		if r.IntN(3) > 0 {
			old = strings.ReplaceAll(old, "\r\n", "\n")
		}
		to := []string{"", "x", "two\nlines of new text\n", old + " and more", "\r", "line 7 holds some value 7\n"}[r.IntN(6)]
		steps = append(steps, [2]string{old, to})
		if m, err := Replace(text, old, to, false); err == nil {
			text, _ = Apply(text, m.Edits)
		}
	}
	return src, steps
}

func TestSequenceAgrees(t *testing.T) {
	r := rand.New(rand.NewPCG(41, 42))
	done := 0
	for range 60 {
		src, steps := sequenceCase(r)
		done += checkSequence(t, src, steps, r.IntN(4) == 0)
	}
	if done < 500 {
		t.Fatalf("only %d steps went through", done)
	}
}

func FuzzSequence(f *testing.F) {
	f.Add(uint64(1), uint64(2), "value", "x\n", true)
	f.Fuzz(func(t *testing.T, a, b uint64, old, new string, all bool) {
		src, steps := sequenceCase(rand.New(rand.NewPCG(a, b)))
		steps = slices.Insert(steps, 4, [2]string{old, new})
		checkSequence(t, src, append(steps, [2]string{new, old}), all)
	})
}

func TestSequenceRefuses(t *testing.T) {
	s := NewSequence("abc")
	if err := s.Apply([]Edit{{2, 9, ""}}); !errors.Is(err, ErrRange) {
		t.Fatalf("error %v", err)
	}
	if s.Text() != "abc" || len(s.Edits()) != 0 {
		t.Fatal("what was refused has changed the text")
	}
}

func largeText() string {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "\tvalue%d := compute(ctx, %d) // of the run %d\n", i, i*7%1000, i%13)
	}
	return b.String()
}

// BenchmarkSequence makes 300 replacements in 100,000 lines (5 MB).
func BenchmarkSequence(b *testing.B) {
	src := largeText()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		s := NewSequence(src)
		for i := range 300 {
			n := i * 331
			if _, err := s.Replace(fmt.Sprintf("\tvalue%d := compute(ctx, %d)", n, n*7%1000), "\tdone()", false); err != nil {
				b.Fatal(err)
			}
		}
		_ = s.Text()
	}
}

// BenchmarkReplace makes one of them.
func BenchmarkReplace(b *testing.B) {
	src := largeText()
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		m, err := Replace(src, "\tvalue50000 := compute(ctx, 0)", "\tdone()", false)
		if err != nil {
			b.Fatal(err)
		}
		_, _ = Apply(src, m.Edits)
	}
}

// BenchmarkNoMatch words an error in 5 MB, for a line that is like one there
// and for many that are not.
func BenchmarkNoMatch(b *testing.B) {
	src := largeText()
	for name, old := range map[string]string{
		"like":    "value50000 := compute(ctx, 1)",
		"unlike":  "no such words\nare anywhere in this\ntext of many lines",
		"indent":  "    value99999 := compute(ctx, 993)",
		"aligned": src[2_500_000:2_600_000] + "other",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Replace(src, old, "x", false); err == nil {
					b.Fatal("found")
				}
			}
		})
	}
}
