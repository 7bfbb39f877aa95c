package document

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestDecode(t *testing.T) {
	for _, c := range []struct {
		name, bytes, charset string
		text                 string
		enc                  Encoding
		bom                  bool
		bad                  int // offset of the error, -1 for none, -2 for binary
	}{
		{"ascii", "ab\n", "", "ab\n", UTF8, false, -1},
		{"empty", "", "", "", UTF8, false, -1},
		{"utf-8", "caf\xc3\xa9", "", "café", UTF8, false, -1},
		{"utf-8 with bom", "\xef\xbb\xbfa", "", "a", UTF8, true, -1},
		{"bom inside stays", "\xef\xbb\xbf\xef\xbb\xbfa", "", "\ufeffa", UTF8, true, -1},
		{"utf-16le", "\xff\xfea\x00\xeb\x00", "", "aë", UTF16LE, true, -1},
		{"utf-16be", "\xfe\xff\x00a\xd8\x3e\xdd\x8a", "", "a🦊", UTF16BE, true, -1},
		{"utf-16 odd", "\xff\xfea\x00b", "", "", UTF16LE, true, 4},
		{"utf-16 lone surrogate", "\xff\xfe\x00\xd8a\x00", "", "", UTF16LE, true, 2},
		{"utf-16 without bom by charset", "a\x00", "utf-16le", "a", UTF16LE, false, -1},
		{"nul", "a\x00b", "", "", "", false, -2},
		{"nul with charset", "a\x00b", "latin1", "", "", false, -2},
		{"latin1", "caf\xe9", "latin1", "café", "iso-8859-1", false, -1},
		{"valid utf-8 beats charset", "caf\xc3\xa9", "latin1", "café", UTF8, false, -1},
		{"no charset", "caf\xe9 x", "", "", UTF8, false, 3},
		{"bad after bom", "\xef\xbb\xbfa\xff", "", "", UTF8, true, 4},
		{"unknown charset", "\xe9", "klingon", "", UTF8, false, 0},
		{"big5", "\xa5\x5c\xaf\xe0", "big5", "功能", "big5", false, -1},
		{"big5 that is none", "\xa5", "big5", "", "big5", false, 0},
		{"windows-1252", "5\x80", "windows-1252", "5€", "windows-1252", false, -1},
	} {
		t.Run(c.name, func(t *testing.T) {
			text, enc, bom, err := Decode([]byte(c.bytes), c.charset)
			var ee *EncodingError
			switch {
			case c.bad == -2:
				if !errors.Is(err, ErrBinary) {
					t.Fatalf("%v", err)
				}
				return
			case c.bad >= 0:
				if !errors.As(err, &ee) || !errors.Is(err, ErrEncoding) || ee.Offset != c.bad {
					t.Fatalf("%v, want one at %d", err, c.bad)
				}
			case err != nil:
				t.Fatal(err)
			}
			if text != c.text || enc != c.enc || bom != c.bom {
				t.Errorf("%q %s %v", text, enc, bom)
			}
		})
	}
}

func TestEncodeRefuses(t *testing.T) {
	for _, c := range []struct {
		text string
		enc  Encoding
		at   int
	}{
		{"caf日", "iso-8859-1", 3}, {"a\xffb", UTF8, 1}, {"a\xff", UTF16LE, 1}, {"€日", "windows-1252", 3}, {"x", "nonsense", 0},
	} {
		_, err := Encode(c.text, c.enc, false)
		var ee *EncodingError
		if !errors.As(err, &ee) || !ee.Writing || ee.Offset != c.at {
			t.Errorf("%q in %s: %v", c.text, c.enc, err)
		}
	}
}

// FuzzRoundTrip holds that what can be decoded gives the same bytes again.
func FuzzRoundTrip(f *testing.F) {
	for _, s := range []string{"a", "\xff\xfea\x00", "\xfe\xff\x00a", "\xef\xbb\xbfx", "\xe9", "\xa5\x5c", "\xff\xfe\x00\xd8\x00\xdc"} {
		for _, c := range []string{"", "latin1", "big5", "shift_jis", "utf-16be", "gb18030", "iso-2022-jp", "koi8-r", "utf-8-bom"} {
			f.Add([]byte(s), c)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, charset string) {
		text, enc, bom, err := Decode(b, charset)
		if err != nil {
			_ = err.Error()
			return
		}
		if !utf8.ValidString(text) {
			t.Fatalf("text is no UTF-8: %q", text)
		}
		back, err := Encode(text, enc, bom)
		if err != nil || !bytes.Equal(back, b) {
			t.Fatalf("%q as %s (bom %v) comes back as %q: %v", b, enc, bom, back, err)
		}
	})
}

func TestWithText(t *testing.T) {
	s := NewSnapshot(Path{}, []byte("\xff\xfea\x00"), "", Origin{})
	n, err := s.WithText("b", Origin{Kind: OriginSession, Session: "S"})
	if err != nil || string(n.Bytes) != "\xff\xfeb\x00" || !n.BOM || n.Origin.Session != "S" || n.Revision == s.Revision {
		t.Errorf("%q %v", n.Bytes, err)
	}
	n, err = Snapshot{}.WithText("é", Origin{})
	if err != nil || string(n.Bytes) != "é" || n.Encoding != UTF8 || !n.Exists() {
		t.Errorf("%q %v", n.Bytes, err)
	}
}

func TestLines(t *testing.T) {
	for _, c := range []struct {
		text  string
		count int
		ends  LineEnds
	}{
		{"", 0, NoLineEnds}, {"a", 1, NoLineEnds}, {"a\n", 1, LF}, {"a\nb", 2, LF}, {"a\r\nb\r\n", 2, CRLF}, {"a\r\nb\n", 2, MixedLineEnds}, {"a\rb", 1, NoLineEnds}, {"\n\n", 2, LF},
	} {
		if x := Lines(c.text); x.Count() != c.count || LineEndsOf(c.text) != c.ends {
			t.Errorf("%q: %d lines, %s", c.text, x.Count(), LineEndsOf(c.text))
		}
	}
	x := Lines("a\n🦊é b\nlast")
	for _, c := range []struct{ off, line, column int }{{0, 1, 1}, {1, 1, 2}, {2, 2, 1}, {6, 2, 2}, {8, 2, 3}, {9, 2, 4}, {11, 3, 1}, {15, 3, 5}} {
		if x.At(c.off) != c.line || x.Column(c.off) != c.column {
			t.Errorf("offset %d: line %d column %d, want %d, %d", c.off, x.At(c.off), x.Column(c.off), c.line, c.column)
		}
	}
	if Lines("a\n").At(2) != 2 || Lines("").At(0) != 1 {
		t.Error("the end of a text that ends a line is the line after it")
	}
	if x.Line(2) != "🦊é b\n" || x.Line(9) != "" || x.Line(0) != "" {
		t.Error("lines")
	}
}

func FuzzLines(f *testing.F) {
	f.Add("a\nb\r\n\nc", 3)
	f.Fuzz(func(t *testing.T, text string, off int) {
		x := Lines(text)
		var b strings.Builder
		for n := 1; n <= x.Count(); n++ {
			b.WriteString(x.Line(n))
		}
		if b.String() != text {
			t.Fatalf("lines of %q make %q", text, b.String())
		}
		if off >= 0 && off < len(text) {
			n := x.At(off)
			if s, e := x.Bounds(n); off < s || off >= e || n != 1+strings.Count(text[:off], "\n") {
				t.Fatalf("%q at %d: line %d", text, off, n)
			}
		}
	})
}

func TestSameText(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{{"a\r\nb", "a\nb", true}, {"a\rb", "a\nb", false}, {"a", "a", true}, {"a\n", "a", false}} {
		if SameText(c.a, c.b) != c.want {
			t.Errorf("%q %q", c.a, c.b)
		}
	}
}
