package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSection(t *testing.T) {
	for _, c := range []struct{ glob, yes, no string }{
		{"*", "a a/b.c", ""},
		{"*.c", "a.c x/a.c", "a.h a.c/b"},
		{"/*.c", "a.c", "x/a.c"},
		{"x/*.c", "x/a.c", "a.c x/y/a.c y/x/a.c"},
		{"x/**.c", "x/a.c x/y/a.c", "a.c"},
		{"**/a", "x/a x/y/a", "b"},
		{"?.c", "a.c", "ab.c .c"},
		{"[ab].c", "a.c b.c", "c.c ab.c"},
		{"[!ab].c", "c.c", "a.c b.c"},
		{"d/x[!a]b", "d/xcb", "d/x/b d/xab"},
		{"[a-c]", "a b c", "d -"},
		{"[ab", "[ab", "a b"},
		{"{a,b}.c", "a.c b.c", "c.c {a,b}.c"},
		{"{a,b{1,2}}", "a b1 b2", "b"},
		{"a{,b}", "a ab", "abb"},
		{"{single}", "{single}", "single"},
		{`{a\,b,c}`, "a,b c", "a b"},
		{`\{a,b\}`, "{a,b}", "a b"},
		{"{a", "{a", "a"},
		{"n{1..3}", "n1 n2 n3", "n0 n4 n01 n1..3 n"},
		{"n{3..1}", "n2", "n4"},
		{"n{-2..2}", "n-2 n0 n2 n+1", "n-3 n3 n00"},
		{"{a{1..2},b{3..4}}", "a1 b3", "a3 b1"},
		{`\*`, "*", "a"},
		{"ä?", "äö", "äöü"},
		{".", ".", "a"},
		{"a+b(c)$", "a+b(c)$", "aab(c)"},
		{"[z-a]", "", "a z"},
		{strings.Repeat("{a,", maxBraces) + "b" + strings.Repeat("}", maxBraces), "a b", "x"},
		{strings.Repeat("{a,", maxBraces+1) + "b" + strings.Repeat("}", maxBraces+1), "a", "b"},
	} {
		g := compileSection(c.glob)
		for _, n := range strings.Fields(c.yes) {
			if g == nil || !g.match(n) {
				t.Errorf("[%s] does not match %s", c.glob, n)
			}
		}
		for _, n := range strings.Fields(c.no) {
			if g != nil && g.match(n) {
				t.Errorf("[%s] matches %s", c.glob, n)
			}
		}
	}
	if compileSection(strings.Repeat("*", maxGlob+1)) != nil || compileSection(strings.Repeat("{1..2}", maxRanges+1)) != nil {
		t.Error("a glob without bound")
	}
}

// Ranges of numbers must not grow into alternatives: 64 KiB of them would take
// gigabytes.
func TestSectionsCost(t *testing.T) {
	line := "[" + strings.Repeat("{1..900}", maxRanges) + strings.Repeat("{a,b,*}", 100) + "]\ncharset=x\n"
	text := strings.Repeat(line, maxEditorconfig/len(line))
	began := time.Now()
	sections, _ := parseEditorconfig(text)
	for _, s := range sections {
		s.glob.match(strings.Repeat("1", 60))
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("took %v", d)
	}
}

func TestCharsetsKept(t *testing.T) {
	root := t.TempDir()
	name := filepath.Join(root, ".editorconfig")
	old := time.Now().Add(-time.Hour)
	write := func(text string, at time.Time) {
		t.Helper()
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, at, at); err != nil {
			t.Fatal(err)
		}
	}
	var c Charsets
	check := func(want string) {
		t.Helper()
		if got := c.Of(root, "d/a"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	write("[*]\ncharset=aaa", old)
	check("aaa")
	write("[*]\ncharset=bbb", old)
	check("aaa") // same time and size: kept
	write("[*]\ncharset=bbb", old.Add(time.Second))
	check("bbb")
	write("[*]\ncharset=cccc", old.Add(time.Second))
	check("cccc")
	now := time.Now() // too young to be kept
	write("[*]\ncharset=dddd", now)
	check("dddd")
	write("[*]\ncharset=eeee", now)
	check("eeee")
	for i := range 2 * maxCached {
		d := filepath.Join(root, "m", strings.Repeat("x", i%7), string(rune('a'+i%26)), strings.Repeat("y", i/26+1))
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
		f := filepath.Join(d, ".editorconfig")
		if err := os.WriteFile(f, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(f, old, old); err != nil {
			t.Fatal(err)
		}
		rel, _ := filepath.Rel(root, filepath.Join(d, "a"))
		c.Of(root, rel)
	}
	if n := len(c.files); n == 0 || n > maxCached {
		t.Errorf("%d files kept", n)
	}
}

func TestCharsetOdd(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "r")
	if err := os.MkdirAll(filepath.Join(root, ".editorconfig"), 0o755); err != nil { // a folder
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(outer, ".editorconfig"), []byte("[*]\ncharset=outer"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, rel := range []string{"a", "../a", "x/../../a", "", filepath.Join(outer, "a")} {
		if got := Charset(root, rel); got != "" {
			t.Errorf("%s: %q from above the root", rel, got)
		}
	}
	sub := filepath.Join(root, "sub")
	if err := os.Mkdir(sub, 0o755); err != nil {
		t.Fatal(err)
	}
	big := "[*]\ncharset=big\n" + strings.Repeat("#", maxEditorconfig)
	if err := os.WriteFile(filepath.Join(sub, ".editorconfig"), []byte(big), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := Charset(root, "sub/a"); got != "" {
		t.Errorf("%q from a file that is too large", got)
	}
	crlf := "\ufeff; c\r\nROOT = True\r\n[*]\r\n CHARSET : x\r\nCharset = UTF-8-BOM \r\n# charset=no\r\n[no]\r\nroot=false\r\ncharset=\r\n"
	if err := os.WriteFile(filepath.Join(sub, ".editorconfig"), []byte(crlf), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, rel := range []string{"sub/a", "sub/no"} {
		if got := Charset(root, rel); got != "utf-8-bom" {
			t.Errorf("%s: %q", rel, got)
		}
	}
}

func FuzzCharset(f *testing.F) {
	f.Add("root=true\n[*.{a,b{1..3}}]\ncharset=x", "d/a.b2")
	f.Fuzz(func(t *testing.T, text, name string) {
		sections, _ := parseEditorconfig(text)
		for _, s := range sections {
			s.glob.match(name)
			if s.charset == "" || s.charset != strings.ToLower(s.charset) {
				t.Errorf("%q", s.charset)
			}
		}
	})
}
