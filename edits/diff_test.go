package edits

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"coedit/document"
)

func TestDiffApplies(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	for range 50000 {
		a := randomText(r)
		b := mustApply(t, a, randomEdits(r, len(a)))
		if r.IntN(3) == 0 {
			b = randomText(r)
		}
		if got := mustApply(t, a, Diff(a, b)); got != b {
			t.Fatalf("Diff(%q, %q) = %v gives %q", a, b, Diff(a, b), got)
		}
	}
}

// TestDiffManyLines holds that more kinds of lines than there are code points
// below the surrogates are told apart.
func TestDiffManyLines(t *testing.T) {
	d := differ{}
	for i := range 60_000 {
		d.a, d.b = append(d.a, i), append(d.b, i)
	}
	d.b[58_000] = 60_000
	d.b[57_000] = 56_500 // both would be surrogates
	d.myers(0, len(d.a), 0, len(d.b))
	want := []span{{57_000, 57_001, 57_000, 57_001}, {58_000, 58_001, 58_000, 58_001}}
	if !slices.Equal(d.out, want) {
		t.Fatalf("%d spans", len(d.out))
	}
}

func FuzzDiff(f *testing.F) {
	f.Add("a\nb\n", "a\r\nc")
	f.Add("a\xffb", "a\xfeb")
	f.Fuzz(func(t *testing.T, a, b string) {
		list := Diff(a, b)
		if got := mustApply(t, a, list); got != b {
			t.Fatalf("%v gives %q", list, got)
		}
		if got := mustApply(t, b, Invert(a, list)); got != a {
			t.Fatalf("inverse gives %q", got)
		}
		Hunks(a, list, 3)
	})
}

// TestLineMap compares with lines made unique: a line that no edit touched
// stands where the map says.
func TestLineMap(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for range 30000 {
		var b strings.Builder
		for i := range r.IntN(12) {
			fmt.Fprintf(&b, "line%d\n", i)
		}
		src := b.String()
		if r.IntN(2) == 0 {
			src = strings.TrimSuffix(src, "\n")
		}
		list := randomEdits(r, len(src))
		dst := mustApply(t, src, list)
		m, x, y := NewLineMap(src, list), document.Lines(src), document.Lines(dst)
		for n := 1; n <= x.Count(); n++ {
			got, ok := m.Line(n)
			if !ok {
				continue
			}
			if a, b := strings.TrimSuffix(x.Line(n), "\n"), strings.TrimSuffix(y.Line(got), "\n"); a != b {
				t.Fatalf("src %q list %v dst %q: line %d %q mapped to %d %q", src, list, dst, n, a, got, b)
			}
			if alone, ok := MapLine(src, list, n); !ok || alone != got {
				t.Fatalf("src %q list %v: line %d is mapped to %d, and alone to %d %v", src, list, n, got, alone, ok)
			}
			if back, ok := m.Old(got); !ok || back != n {
				t.Fatalf("src %q list %v: line %d goes to %d, and back to %d %v", src, list, n, got, back, ok)
			}
		}
	}
}

// TestHunksApply holds that git and patch take what is shown.
func TestHunksApply(t *testing.T) {
	programs := map[string][]string{
		"git":   {"apply", "--whitespace=nowarn", "p"},
		"patch": {"-p1", "--binary", "-s", "-i", "p"},
	}
	for name, args := range programs {
		t.Run(name, func(t *testing.T) {
			program, err := exec.LookPath(name)
			if err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(name + " is not installed")
			}
			r := rand.New(rand.NewPCG(11, 12))
			for i := range 80 {
				src, list := hunkCase(r)
				dst := mustApply(t, src, list)
				patch := Unified("f", "f", Hunks(src, list, 3))
				if src == dst {
					if h := Hunks(src, list, 3); len(h) > 0 {
						t.Fatalf("%v for texts that are the same", h)
					}
					continue
				}
				dir := t.TempDir()
				for name, text := range map[string]string{"f": src, "p": patch} {
					if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				cmd := exec.Command(program, args...)
				cmd.Dir = dir
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Fatalf("%d: %v %s\nsrc %q\ndst %q\n%s", i, err, out, src, dst, patch)
				}
				if got, _ := os.ReadFile(filepath.Join(dir, "f")); string(got) != dst {
					t.Fatalf("made %q, want %q of %q\n%s", got, dst, src, patch)
				}
			}
		})
	}
}

// TestUnifiedNames holds that both programs find the file whatever its name.
// Many replacements that touch each other's lines are one block.
func TestHunksOfTouchingLines(t *testing.T) {
	src := strings.Repeat("e\n", 5)
	var list []Edit
	for i := range 5 {
		list = append(list, Edit{Start: 2*i + 1, End: 2*i + 2, New: "\nf\n"})
	}
	hunks := Hunks(src, list, 1)
	want := Hunks(src, Diff(src, mustApply(t, src, list)), 1)
	if !reflect.DeepEqual(hunks, want) {
		t.Errorf("%+v\nwant %+v", hunks, want)
	}
	// In proportion to their number: 50,000 took minutes when each counted all lines before it.
	const n = 50_000
	src, list = strings.Repeat("e\n", n), nil
	for i := range n {
		list = append(list, Edit{Start: 2*i + 1, End: 2*i + 2, New: "\n\n"})
	}
	start := time.Now()
	Hunks(src, list, 1)
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("%d replacements took %v", n, d)
	}
}

func TestUnifiedNames(t *testing.T) {
	names := []string{"a b.txt", "ü.txt", " lead", "b/c d"}
	if runtime.GOOS != "windows" {
		names = append(names, "trail ", "q\"x", "t\ty", `b\s`, "nl\nx", "\x7f\"ü é")
	}
	for _, program := range [][]string{{"git", "apply", "p"}, {"patch", "-p1", "--binary", "-s", "-i", "p"}} {
		t.Run(program[0], func(t *testing.T) {
			path, err := exec.LookPath(program[0])
			if err != nil {
				if os.Getenv("CI") == "true" {
					t.Fatal(err)
				}
				t.Skip(program[0] + " is not installed")
			}
			for _, name := range names {
				for _, c := range []struct{ old, now, before, after string }{
					{name, name, "a\nb\n", "a\nc\n"}, {"", name, "", "a\n"}, {name, "", "a\n", ""},
				} {
					dir := t.TempDir()
					patch := Unified(c.old, c.now, Hunks(c.before, Diff(c.before, c.after), 3))
					file := filepath.Join(dir, filepath.FromSlash(name))
					if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
						t.Fatal(err)
					}
					if c.old != "" {
						if err := os.WriteFile(file, []byte(c.before), 0o644); err != nil {
							t.Fatal(err)
						}
					}
					if err := os.WriteFile(filepath.Join(dir, "p"), []byte(patch), 0o644); err != nil {
						t.Fatal(err)
					}
					cmd := exec.Command(path, program[1:]...)
					cmd.Dir = dir
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Fatalf("%q to %q: %v %s\n%s", c.old, c.now, err, out, patch)
					}
					got, err := os.ReadFile(file)
					if string(got) != c.after || (err == nil) != (c.now != "") {
						t.Fatalf("%q to %q: made %q (%v), want %q", c.old, c.now, got, err, c.after)
					}
				}
			}
		})
	}
	if p := Unified("a", "a", nil); p != "" {
		t.Errorf("no hunks are %q", p)
	}
}

// hunkCase makes a text with mixed line ends, empty or without the last one at
// times, and edits of it.
func hunkCase(r *rand.Rand) (string, []Edit) {
	var sb strings.Builder
	for k := range r.IntN(30) {
		fmt.Fprintf(&sb, "l%d%s", r.IntN(6), []string{"\n", "\r\n", "\n"}[k%3])
	}
	if r.IntN(3) == 0 {
		sb.WriteString("end")
	}
	src := sb.String()
	switch r.IntN(8) {
	case 0:
		return "", []Edit{{0, 0, src}}
	case 1:
		return src, []Edit{{0, len(src), ""}}
	}
	return src, randomEdits(r, len(src))
}

// FuzzHunks reads the hunks back: their lines are those of both texts at the
// places they name.
func FuzzHunks(f *testing.F) {
	f.Add(uint64(1), uint64(2), 3)
	f.Add(uint64(3), uint64(4), 0)
	f.Fuzz(func(t *testing.T, a, b uint64, context int) {
		if context < 0 || context > 50 {
			return
		}
		src, list := hunkCase(rand.New(rand.NewPCG(a, b)))
		dst := mustApply(t, src, list)
		old, now := splitLines(src), splitLines(dst)
		var out []string
		at := 0 // lines of old passed
		for _, h := range Hunks(src, list, context) {
			start := h.OldStart - 1
			if h.OldLines == 0 {
				start++
			}
			if start < at {
				t.Fatalf("hunks overlap: %q %v", src, list)
			}
			out = append(out, old[at:start]...)
			newStart := h.NewStart - 1
			if h.NewLines == 0 {
				newStart++
			}
			if newStart != len(out) {
				t.Fatalf("%q %v: hunk %+v begins at new line %d", src, list, h, len(out)+1)
			}
			at = start + h.OldLines
			for i, l := range h.Lines {
				if l == noNewline || l[0] == '-' {
					continue
				}
				if l = l[1:]; i+1 == len(h.Lines) || h.Lines[i+1] != noNewline {
					l += "\n"
				}
				out = append(out, l)
			}
			if len(out)-newStart != h.NewLines {
				t.Fatalf("%q %v: hunk %+v counts wrong", src, list, h)
			}
		}
		if out = append(out, old[at:]...); strings.Join(out, "") != strings.Join(now, "") {
			t.Fatalf("%q %v: hunks make %q, want %q", src, list, out, dst)
		}
	})
}

func TestDisjoint(t *testing.T) {
	src := "one\ntwo\nthree\n"
	two := []Edit{{Start: 4, End: 7, New: "TWO"}}
	for _, c := range []struct {
		name string
		list []Edit
		want bool
	}{
		{"same line", []Edit{{Start: 5, End: 6, New: "W"}}, false},
		{"line before", []Edit{{Start: 0, End: 3, New: "ONE"}}, true},
		{"line after", []Edit{{Start: 8, End: 9, New: "T"}}, true},
		{"whole line before", []Edit{{Start: 0, End: 4, New: ""}}, true},
		{"joins with the line", []Edit{{Start: 3, End: 4, New: ""}}, false},
		{"put in before", []Edit{{Start: 4, End: 4, New: "x\n"}}, true},
		{"everything", []Edit{{Start: 0, End: len(src), New: "z"}}, false},
	} {
		if got := Disjoint(src, c.list, two); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
		if got := Disjoint(src, two, c.list); got != c.want {
			t.Errorf("%s, the other way: %v", c.name, got)
		}
	}
	ins := []Edit{{Start: 4, End: 4, New: "x\n"}}
	if Disjoint(src, ins, ins) {
		t.Error("two insertions at one place are not disjoint")
	}
}
