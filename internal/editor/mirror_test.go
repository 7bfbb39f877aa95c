package editor

import (
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"coedit/document"
	"coedit/internal/wire"

	"go.lsp.dev/protocol"
)

func at(line, character uint32) protocol.Position {
	return protocol.Position{Line: line, Character: character}
}

func put(start, end protocol.Position, text string) Change {
	return Change{Range: &protocol.Range{Start: start, End: end}, Text: text}
}

// check compares a buffer with what is wanted of it.
func check(t *testing.T, m *Mirror, version int32, text string, want error) {
	t.Helper()
	b, err := m.Buffer("/a")
	if b.Version != version || b.Text != text || !errors.Is(err, want) {
		t.Errorf("version %d, %q, %v; want %d, %q, %v", b.Version, b.Text, err, version, text, want)
	}
}

func TestPositions(t *testing.T) {
	for _, test := range []struct {
		text string
		p    protocol.Position
		enc  wire.Encoding
		want int
		ok   bool
	}{
		{"", at(0, 0), "", 0, true},
		{"", at(1, 0), "", 0, false},
		{"ab\ncd", at(1, 1), "", 4, true},
		{"ab\ncd", at(1, 99), "", 5, true},
		{"ab\r\ncd", at(0, 99), "", 2, true},
		{"ab\r\ncd", at(1, 0), "", 4, true},
		{"ab\rcd\n", at(1, 1), "", 4, true},
		{"ab\r\rcd", at(2, 0), "", 4, true},
		{"ab\n", at(1, 0), "", 3, true},
		{"ab\n", at(2, 0), "", 0, false},
		{"🦊é", at(0, 2), wire.UTF16, 4, true},
		{"🦊é", at(0, 1), wire.UTF16, 0, true},
		{"🦊é", at(0, 3), wire.UTF16, 6, true},
		{"🦊é", at(0, 1), wire.UTF32, 4, true},
		{"🦊é", at(0, 4), wire.UTF8, 4, true},
		{"🦊é", at(0, 5), wire.UTF8, 4, true},
		{"\ufeffx", at(0, 1), wire.UTF16, 3, true},
	} {
		if _, got, ok := offset(test.text, test.p, test.enc, lineStart{}); got != test.want || ok != test.ok {
			t.Errorf("%q %v %s: %d, %v; want %d, %v", test.text, test.p, test.enc, got, ok, test.want, test.ok)
		}
	}
}

func TestChanges(t *testing.T) {
	m := NewMirror("")
	if _, err := m.Buffer("/a"); !errors.Is(err, ErrNotOpen) {
		t.Errorf("%v", err)
	}
	m.Open("/a", "go", 0, "one\ntwo\n")
	// Each change of a list is of the text that those before it made.
	if _, err := m.Change("/a", 1, []Change{put(at(0, 0), at(0, 3), "1\n1.5"), put(at(2, 0), at(2, 3), "2")}); err != nil {
		t.Fatal(err)
	}
	check(t, m, 1, "1\n1.5\n2\n", nil)
	if _, err := m.Change("/a", 2, []Change{{Text: "all"}, put(at(0, 3), at(0, 3), "!")}); err != nil {
		t.Fatal(err)
	}
	check(t, m, 2, "all!", nil)
	m.Open("/b", "go", 1, "b")
	if list := m.Buffers(); len(list) != 2 || list[0].Name != "/a" || list[1].Text != "b" {
		t.Errorf("%+v", list)
	}
	m.Close("/a")
	for _, err := range []error{
		func() error { _, err := m.Change("/a", 3, nil); return err }(),
		func() error { _, err := m.Flush("/a"); return err }(),
		func() error { _, _, err := m.Saved("/a", nil); return err }(),
	} {
		if !errors.Is(err, ErrNotOpen) {
			t.Errorf("%v", err)
		}
	}
}

// A change can make one line end of two.
func TestLineEndsMeet(t *testing.T) {
	for _, first := range []struct {
		text   string
		change Change
	}{
		{"a\rb", put(at(1, 0), at(1, 0), "\n")},
		{"a\rX\nb", put(at(1, 0), at(1, 1), "")},
	} {
		m := NewMirror("")
		m.Open("/a", "go", 1, first.text)
		_, _ = m.Change("/a", 2, []Change{first.change})
		_, _ = m.Change("/a", 3, []Change{put(at(1, 0), at(1, 1), "c")})
		check(t, m, 3, "a\r\nc", nil)
	}
}

// Changes that come out of order are applied in order.
func TestOutOfOrder(t *testing.T) {
	m := NewMirror("")
	m.Open("/a", "go", 1, "")
	key := func(version int32, text string) error {
		_, err := m.Change("/a", version, []Change{put(at(0, uint32(version-2)), at(0, uint32(version-2)), text)})
		return err
	}
	if err := key(4, "c"); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	if err := key(3, "b"); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	check(t, m, 1, "", nil)
	if err := key(2, "a"); err != nil {
		t.Errorf("%v", err)
	}
	check(t, m, 4, "abc", nil)
	// A version that never comes was left out.
	if err := key(6, "e"); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	if b, err := m.Flush("/a"); err != nil || b.Version != 6 || b.Text != "abce" {
		t.Errorf("%+v, %v", b, err)
	}
	// If it comes after all, what the text is now is anybody's guess.
	if err := key(5, "d"); !errors.Is(err, ErrDiverged) {
		t.Errorf("%v", err)
	}
	if err := key(7, "f"); !errors.Is(err, ErrDiverged) {
		t.Errorf("a change of a text that is not known: %v", err)
	}
	check(t, m, 7, "abce", ErrDiverged)
	if _, err := m.Change("/a", 9, []Change{{Text: "known"}}); err != nil {
		t.Errorf("%v", err)
	}
	check(t, m, 9, "known", nil)
}

// What is held when versions were left out is applied in its order.
func TestFlushInOrder(t *testing.T) {
	m := NewMirror("")
	m.Open("/a", "go", 1, "")
	for _, v := range []int32{7, 3, 5} {
		if _, err := m.Change("/a", v, []Change{put(at(0, uint32(v-3)/2), at(0, uint32(v-3)/2), string(rune('0'+v)))}); !errors.Is(err, ErrHeld) {
			t.Errorf("%d: %v", v, err)
		}
	}
	if b, err := m.Flush("/a"); err != nil || b.Version != 7 || b.Text != "357" {
		t.Errorf("%+v, %v", b, err)
	}
}

// Whole texts rest on nothing: those held for earlier versions are gone.
func TestWholeText(t *testing.T) {
	m := NewMirror("")
	m.Open("/a", "go", 1, "x")
	if _, err := m.Change("/a", 3, []Change{put(at(0, 0), at(0, 1), "y")}); !errors.Is(err, ErrHeld) {
		t.Errorf("%v", err)
	}
	if _, err := m.Change("/a", 5, []Change{{Text: "five"}}); err != nil {
		t.Errorf("%v", err)
	}
	if _, err := m.Flush("/a"); err != nil {
		t.Errorf("%v", err)
	}
	check(t, m, 5, "five", nil)
	if _, err := m.Change("/a", 4, []Change{{Text: "four"}}); !errors.Is(err, ErrDiverged) {
		t.Errorf("an older whole text: %v", err)
	}
}

// A range that is not in the text means that the mirror is not what the editor
// has; the last text that was known stays.
func TestRangeOutside(t *testing.T) {
	for _, c := range []Change{put(at(9, 0), at(9, 0), "x"), put(at(0, 2), at(0, 1), "x")} {
		m := NewMirror("")
		m.Open("/a", "go", 1, "abc")
		if _, err := m.Change("/a", 2, []Change{put(at(0, 0), at(0, 0), "!"), c}); !errors.Is(err, ErrDiverged) {
			t.Errorf("%v", err)
		}
		check(t, m, 2, "abc", ErrDiverged)
	}
}

func TestManyHeld(t *testing.T) {
	m := NewMirror("")
	m.Open("/a", "go", 1, "")
	for v := range int32(2 * maxHeld) {
		_, _ = m.Change("/a", v+3, []Change{put(at(0, 0), at(0, 0), "x")})
	}
	if n := len(m.buffers["/a"].held); n > maxHeld {
		t.Errorf("%d are held", n)
	}
}

func TestSaved(t *testing.T) {
	m := NewMirror("")
	m.Open("/a", "go", 1, "x")
	same, other := "x", "formatted"
	if _, changed, err := m.Saved("/a", &same); changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if _, changed, err := m.Saved("/a", nil); changed || err != nil {
		t.Errorf("%v, %v", changed, err)
	}
	if b, changed, err := m.Saved("/a", &other); !changed || err != nil || b.Text != other {
		t.Errorf("%+v, %v, %v", b, changed, err)
	}
	_, _ = m.Change("/a", 2, []Change{put(at(9, 0), at(9, 0), "x")})
	check(t, m, 2, other, ErrDiverged)
	if b, changed, err := m.Saved("/a", &other); !changed || err != nil || b.Text != other {
		t.Errorf("a save tells the text of a buffer that was not known: %+v, %v, %v", b, changed, err)
	}
	_, _ = m.Change("/a", 3, []Change{put(at(9, 0), at(9, 0), "x")})
	if b, err := m.Change("/a", 4, []Change{put(at(0, 0), at(0, 0), "x"), {Text: "whole"}}); err != nil || b.Text != "whole" {
		t.Errorf("a whole text after a range: %+v, %v", b, err)
	}
}

func snapshot(t testing.TB, bytes, charset string) document.Snapshot {
	t.Helper()
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := root.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	return document.NewSnapshot(p, []byte(bytes), charset, document.Origin{Kind: document.OriginDisk})
}

func TestOverlay(t *testing.T) {
	for _, test := range []struct {
		name, disk, charset, buffer string
		bytes                       string
		dirty                       bool
	}{
		{"the same", "a\nb\n", "", "a\nb\n", "a\nb\n", false},
		{"line ends and mark apart the same", "\ufeffa\r\nb\r\n", "", "a\nb\n", "\ufeffa\r\nb\r\n", false},
		{"changed", "a\n", "", "b\n", "b\n", true},
		{"told with other line ends", "a\r\nb\r\n", "", "a\nc\n", "a\r\nc\r\n", true},
		{"told with the file's line ends", "a\r\nb\r\n", "", "a\r\nc\r\n", "a\r\nc\r\n", true},
		{"a line of another end was put in", "a\r\nb\r\n", "", "a\r\nc\nb\r\n", "a\r\nc\nb\r\n", true},
		{"the mark told with the same", "\ufeffa\n", "", "\ufeffa\n", "\ufeffa\n", false},
		{"the mark is kept", "\ufeffa\n", "", "b\n", "\ufeffb\n", true},
		{"a mark in the buffer is the file's", "\ufeffa\n", "", "\ufeffb\n", "\ufeffb\n", true},
		{"the encoding is kept", "\xe9\n", "latin1", "éé\n", "\xe9\xe9\n", true},
		{"utf-16", "\xff\xfea\x00", "", "b", "\xff\xfeb\x00", true},
	} {
		s, dirty, err := Overlay(snapshot(t, test.disk, test.charset), Buffer{Text: test.buffer})
		if err != nil || string(s.Bytes) != test.bytes || dirty != test.dirty || dirty && s.Origin.Kind != document.OriginEditor {
			t.Errorf("%s: %q, dirty %v, %v; want %q, %v", test.name, s.Bytes, dirty, err, test.bytes, test.dirty)
		}
	}
	if _, _, err := Overlay(snapshot(t, "\xe9\n", "latin1"), Buffer{Text: "ж"}); err == nil {
		t.Error("a text that the encoding does not have")
	}
	// A file that is not there yet is a buffer that was never saved.
	s := snapshot(t, "", "")
	s.Revision = document.Revision{}
	if got, dirty, err := Overlay(s, Buffer{Text: "new\n"}); err != nil || !dirty || string(got.Bytes) != "new\n" {
		t.Errorf("%q, %v, %v", got.Bytes, dirty, err)
	}
}

// randomText has all that counts differently: line ends, wide characters.
func randomText(r *rand.Rand, n int) string {
	pieces := []string{"a", "b", " ", "\n", "\r\n", "é", "🦊", "漢", "\n\n"}
	var b strings.Builder
	for range r.IntN(n + 1) {
		b.WriteString(pieces[r.IntN(len(pieces))])
	}
	return b.String()
}

// Whatever is typed where, in any order of arrival and any encoding, the
// mirror holds what the editor does.
func FuzzMirror(f *testing.F) {
	for seed := range uint64(20) {
		f.Add(seed, uint8(seed))
	}
	f.Fuzz(func(t *testing.T, seed uint64, kind uint8) {
		r := rand.New(rand.NewPCG(seed, uint64(kind)))
		enc := []wire.Encoding{wire.UTF16, wire.UTF8, wire.UTF32}[int(kind)%3]
		m := NewMirror(enc)
		text := randomText(r, 40)
		m.Open("/a", "x", 1, text)
		type message struct {
			version int32
			changes []Change
		}
		var sent []message
		for v := range int32(1 + r.IntN(8)) {
			var changes []Change
			for range 1 + r.IntN(3) {
				mapper := wire.NewMapper(text, enc)
				a, b := mapper.Position(r.IntN(len(text)+1)), mapper.Position(r.IntN(len(text)+1))
				start, end := mapper.Offset(a), mapper.Offset(b)
				if end < start {
					a, b, start, end = b, a, end, start
				}
				if wire.LoneCR(text[:start]+"x"+text[end:]) || strings.HasSuffix(text[:start], "\r") {
					continue // it would part \r\n, which no editor does
				}
				new := randomText(r, 6)
				changes = append(changes, put(a, b, new))
				text = text[:start] + new + text[end:]
			}
			sent = append(sent, message{v + 2, changes})
		}
		r.Shuffle(len(sent), func(i, j int) { sent[i], sent[j] = sent[j], sent[i] })
		for _, s := range sent {
			if _, err := m.Change("/a", s.version, s.changes); err != nil && !errors.Is(err, ErrHeld) {
				t.Fatalf("%v", err)
			}
		}
		if b, err := m.Buffer("/a"); err != nil || b.Text != text {
			t.Fatalf("%q, %v; want %q", b.Text, err, text)
		}
	})
}

// A key in a buffer of 2 MB takes under 1 ms, with five times slack.
func TestTypingIsFast(t *testing.T) {
	m := NewMirror("")
	m.Open("/a", "go", 0, strings.Repeat("a line of fifty characters, more or less, in it\n", 2<<20/48))
	const keys = 50
	start := time.Now()
	for v := range int32(keys) {
		if _, err := m.Change("/a", v+1, []Change{put(at(40_000, uint32(v)), at(40_000, uint32(v)), "x")}); err != nil {
			t.Fatal(err)
		}
	}
	if d := time.Since(start) / keys; d > 5*time.Millisecond {
		t.Errorf("a key takes %v", d)
	}
}

func BenchmarkKey(b *testing.B) {
	m := NewMirror("")
	m.Open("/a", "go", 0, strings.Repeat("a line of fifty characters, more or less, in it\n", 2<<20/48))
	v := int32(0)
	for b.Loop() {
		v++
		if _, err := m.Change("/a", v, []Change{put(at(40_000, 0), at(40_000, 0), "x")}); err != nil {
			b.Fatal(err)
		}
	}
}
