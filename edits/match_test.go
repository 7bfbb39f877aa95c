package edits

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func TestReplace(t *testing.T) {
	for _, c := range []struct {
		name, src, old, new string
		all                 bool
		want                string // the text after, or the words of the error after "!"
	}{
		{"once", "a b c", "b", "x", false, "a x c"},
		{"two places", "b b", "b", "x", false, "!found 2 matches"},
		{"all", "b b", "b", "x", true, "x x"},
		{"overlap", "x = aaa\n", "aa", "b", false, "!found 2 matches"},
		{"overlap, all", "id;NULL;NULL;NULL;end", ";NULL;", ";;", true, "id;;NULL;;end"},
		{"same", "keep", "keep", "keep", false, "!same"},
		{"literal", "PRICE=old", "PRICE=old", `$& $1 \1 \n %s`, false, `$& $1 \1 \n %s`},
		{"crlf in", "{\r\n}\r\n", "{", "{\n  x\n  y", false, "{\r\n  x\r\n  y\r\n}\r\n"},
		{"crlf match", "one\r\ntwo\r\n", "one\ntwo", "1\n2", false, "1\r\n2\r\n"},
		{"crlf delete", "k\r\na\r\nb\r\nz\r\n", "a\nb\n", "", false, "k\r\nz\r\n"},
		{"crlf delete from its beginning", "k\r\na\r\nz", "\na", "", false, "k\r\nz"},
		{"mixed keeps each", "one\ntwo\r\nthree\nfour\n", "two\nthree", "TWO\nTHREE", false, "one\nTWO\r\nTHREE\nfour\n"},
		{"mixed is ambiguous", "a\nb a\r\nb", "a\nb", "x", false, "!found 2 matches"},
		{"explicit crlf", "a\nb a\r\nb", "a\r\nb", "x", false, "a\nb x"},
		{"explicit crlf in new", "a\nb", "a", "a\r\nc", false, "a\r\nc\nb"},
		{"lone cr", "10%\r 99%\nready\n", "10%\r 99%", "done", false, "done\nready\n"},
		{"only line ends", "a\n\n\nb", "\n\n\n", "\n", false, "a\nb"},
		{"only crlf line ends", "a\r\n\r\nb", "\n\n", "\n", false, "a\r\nb"},
		{"only crlf line ends go", "a\r\n\r\nb", "\n\n", "", false, "ab"},
		{"each new line end by its index", "a\r\nb\nc\r\n", "a\nb\nc", "1\n2\n3\n4", false, "1\r\n2\n3\n4\r\n"},
		{"only the line ends differ", "a\r\nb\r\n", "a\nb", "a\r\nb", false, "!same"},
		{"unterminated last line", "a\r\nb\r\nc", "c", "c\nd", false, "a\r\nb\r\nc\r\nd"},
		{"quotes kept", "say “hi” now", `say "hi" now`, `say "bye" now`, false, "say “bye” now"},
		{"apostrophe kept", "it’s so", "it's so", "it's not so", false, "it’s not so"},
		{"exact quotes first", "“a” \"a\"", `"a"`, `"b"`, false, "“a” \"b\""},
		{"new quotes", "a “b”", `a "b"`, `a "b" ("c")`, false, "a “b” (“c”)"},
		{"typographic quotes are themselves", "”a” ’b’", "“a\"", "x", false, "!not found"},
		{"quotes overlap", "x ’’’", "''", "y", false, "!found 2 matches"},
		{"quotes overlap, all", "x ’’’", "''", "y", true, "x y’"},
		{"quotes change sides", "‘a’", "'a'", "it's 'a", false, "it’s ‘a"},
		{"apostrophe at the beginning", "it’s", "'s", "'s isn't", false, "it’s isn’t"},
		{"quotes of code beside an apostrophe", "print('it’s')", "print('it's')", "print('it's ok', 'b')", false, "print('it’s ok', 'b')"},
		{"quotes of code, text anew", "print('it’s', 'a')", "print('it's', 'a')", "say('don't')", false, "say('don’t')"},
		{"apostrophes are no pair", "dogs' it’s", "dogs' it's", "dogs' it's 'x", false, "dogs' it’s 'x"},
		{"straight after what is new", "“x” “w” \"z\"", `"x" "w" "z"`, `"x" "q" "v" "w" "z"`, false, "“x” “q” “v” “w” \"z\""},
		{"apostrophe alone", "it’s so", "it's so", "it's 'so'", false, "it’s ‘so’"},
		{"quotes in quotes", "say “x” now", `say "x"`, `say "'x'"`, false, "say “'x'” now"},
		{"quotes in quotes, all typographic", "“‘x’”", `"'x'"`, `"'y' 'z'"`, false, "“‘y’ ‘z’”"},
		{"nothing in quotes", "a “b”", `a "b"`, `a ""`, false, "a “”"},
		{"quotes over line ends", "“a”\r\n“b”\r\n", "\"a\"\n\"b\"", "\"a\"\n\"c\"\n\"d\"", false, "“a”\r\n“c”\r\n“d”\r\n"},
		{"straight beside typographic", "f(\"k\", “v”)", `f("k", "v")`, `f("k", "w")`, false, "f(\"k\", “w”)"},
		{"other kinds of quotes stay", "“a” b", `"a"`, `it's "a"`, false, "it's “a” b"},
		{"quotes gone", "“a” b", `"a"`, `a`, false, "a b"},
		{"quotes beside bytes that are no UTF-8", "“a”", `"a"`, "\"\xff\"", false, "“\xff”"},
		{"other quotes are not tolerated", "«a» „b‚", `"a"`, "x", false, "!not found"},
		{"tabs", "func\n\ttotal := 0\n", "    total := 0", "x", false, "!line 2, but differs from the string: leading whitespace of line 2: file has 1 tab (0x09), the request has 4 spaces (0x20)"},
		{"nbsp", "Park at the north gate,\u00a0then walk.\n", "north gate, then walk.", "x", false, "!U+00A0 (c2 a0) at column 24"},
		{"full width", "設定（必須）：値\n", "設定(必須):値", "x", false, "!U+FF08 (（) at line 1, column 3 in the file, U+0028"},
		{"nfd", "re\u0301sume\u0301 = 1\n", "r\u00e9sum\u00e9 = 1", "x", false, "!Unicode normalisation: file NFD, request NFC, line 1"},
		{"prefix", "func a() {\n\treturn 1\n}\n", "     2\t\treturn 1", "x", false, "!line-number prefix"},
		{"trailing blanks", "a  \nb\n", "a\nb", "x", false, "!2 spaces"},
		{"case", "Hello World\n", "hello world", "x", false, "!letter case"},
		{"escaped", "a\tb\n", `a\tb`, "x", false, "!escapes"},
		{"entities", "if a < b && c\n", "if a &lt; b &amp;&amp; c", "x", false, "!HTML"},
		{"partly", "one = 1\ntwo = 2\nthree = 3\n", "one = 1\ntwo = 22\nthree = 3", "x", false, "!line 2 of the file differs"},
		{"doubled backslash", "re \\d+\n", `re \\d+`, "x", false, "!backslashes are doubled"},
		{"escaped in the file", `p := "a\nb"`, "p := \"a\nb\"", "x", false, "!as two characters"},
		{"zero width", "a\u200bb = foo\n", "ab = foo", "x", false, "!U+200B (e2 80 8b) at column 2"},
		{"another alphabet", "p\u0430ssword = 1\n", "password = 1", "x", false, "!U+0430"},
		{"crlf asked for", "foo\nbar\n", "foo\r\nbar", "x", false, "!line end (CRLF or LF)"},
		{"blank line", "foo\n\nbar\n", "foo\nbar", "x", false, "!line breaks"},
		{"prefix and more", "func a() {\n\treturn 1\n}\n", "     2\t    return 1", "x", false, "!4 spaces"},
		{"the nearest of several", "Total := 0\n\nfunc\n\ttotal := 0\n", "    total := 0", "x", false, "!The text is at line 4, but differs from the string: leading whitespace of line 4"},
		{"the place that has most", "}\n\nfunc a() {\n\tx()\n}\n\nfunc b() {\n\tyes()\n}\n", "}\n\nfunc b(i int) {\n\tyes()\n}", "x", false, "!at line 5, but line 7 of the file differs from the string: from line 7, column 8 on"},
		{"another first line", "alpha one\nbeta two words\ngamma three\n", "alfa uno dos tres\nbeta two words\ngamma three", "x", false, "!The nearest place is line 1; from line 1, column 3 on the file has \"pha one\""},
		{"before the beginning", "beta two words\ngamma three\n", "alpha\nbeta two words\ngamma three", "x", false, "!the file has nothing before it"},
		{"a line between", "one = 1\ntwo = 2\nthree = 3\n", "one = 1\nthree = 3", "x", false, "!line 2 of the file differs"},
		{"brackets in common", "}\n}\n", "}\nzzzzzz {\n}", "x", false, "!Nothing like it is there"},
		{"past the end", "a\r\nb\r\n", "a\nb\nc", "x", false, "!the file ends with line 2"},
		{"empty file", "", "abc", "x", false, "!The file is empty"},
		{"nothing like it", "abc\n", "zzzzzzzz", "x", false, "!not found in file"},
		{"empty", "abc", "", "x", false, "!empty"},
	} {
		t.Run(c.name, func(t *testing.T) {
			m, err := Replace(c.src, c.old, c.new, c.all)
			if want, ok := strings.CutPrefix(c.want, "!"); ok {
				var me *MatchError
				if !errors.As(err, &me) || !strings.Contains(err.Error(), want) {
					t.Fatalf("error %v, want %q in it", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := mustApply(t, c.src, m.Edits); got != c.want {
				t.Fatalf("got %q, want %q", got, c.want)
			}
		})
	}
}

// naive finds old in src by trying every offset.
func naive(src, old string) (starts []int) {
	for i := range len(src) {
		j, k := i, 0
		for k < len(old) && j < len(src) {
			switch {
			case old[k] == '\n' && strings.HasPrefix(src[j:], "\r\n") && (k == 0 || old[k-1] != '\r'):
				j, k = j+2, k+1
			case old[k] == src[j]:
				j, k = j+1, k+1
			default:
				k = len(old) + 1
			}
		}
		if k == len(old) && !(old[0] == '\n' && i > 0 && src[i-1] == '\r' && src[i] == '\n') {
			starts = append(starts, i)
		}
	}
	return starts
}

func TestFindAgreesWithNaive(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	word := func(n int) string {
		var b strings.Builder
		for range n {
			b.WriteString([]string{"a", "b", "\n", "\r\n", "\r"}[r.IntN(5)])
		}
		return b.String()
	}
	for range 100000 {
		src, old := word(r.IntN(14)), word(1+r.IntN(3))
		want := naive(src, old)
		found, overlapped := compile(old).find(src, true)
		var got []int
		for _, f := range ordered(slices.Concat(found, overlapped)) {
			got = append(got, f.start)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("src %q old %q: %v and overlapped %v, want %v", src, old, found, overlapped, want)
		}
	}
}

// FuzzReplace compares with the naive search: what is replaced, what is refused
// and what new lines end in.
func FuzzReplace(f *testing.F) {
	f.Add("a\r\nb\n", "a\nb", "x\ny", true)
	f.Add("aaa", "aa", "b", true)
	f.Add("“a”", `"a"`, `"b"`, false)
	f.Add("“it’s 'a'”\r\n", "\"it's 'a'\"\n", "'\"it's\" 'a' \"b\"\n", false)
	f.Fuzz(func(t *testing.T, src, old, new string, all bool) {
		if len(src)*len(old) > 1<<16 {
			return
		}
		m, err := Replace(src, old, new, all)
		var want []int
		if old != "" {
			want = naive(src, old)
		}
		var me *MatchError
		if errors.As(err, &me) {
			if me.Error() == "" {
				t.Fatal("an error without words")
			}
			if len(want) > 0 && me.Reason == NoMatch || len(want) == 0 && me.Reason == NoMatch && strings.Contains(src, old) {
				t.Fatalf("%q is in %q at %v and was not found", old, src, want)
			}
			if me.Reason == Ambiguous && all {
				t.Fatal("ambiguous with all")
			}
			return
		}
		got := mustApply(t, src, m.Edits)
		if got == src {
			t.Fatalf("a replacement that changes nothing: %q %q %q", src, old, new)
		}
		if m.Quotes != (len(want) == 0) {
			t.Fatalf("%q in %q: quotes %v, exact places %v", old, src, m.Quotes, want)
		}
		if n := len(m.Edits) + len(m.Overlapped); !m.Quotes && n != len(want) || !all && n != 1 {
			t.Fatalf("%q in %q: %d places, want %v", old, src, n, want)
		}
		unix := func(s string) string { return strings.ReplaceAll(s, "\r\n", "\n") }
		for i, e := range m.Edits {
			if !m.Quotes && !slices.Contains(want, e.Start) {
				t.Fatalf("%q in %q: edit at %d, want %v", old, src, e.Start, want)
			}
			put, _ := foldQuotes(e.New)
			meant, _ := foldQuotes(new)
			if unix(put) != unix(meant) || !m.Quotes && unix(e.New) != unix(new) {
				t.Fatalf("%q in %q by %q: put %q", old, src, new, e.New)
			}
			if n := 1 + strings.Count(src[:e.Start], "\n"); m.Lines[i] != n {
				t.Fatalf("place %d is on line %d, want %d", e.Start, m.Lines[i], n)
			}
		}
	})
}

// TestReplaceIsBounded holds that no text takes quadratic time, by work that
// would take minutes.
func TestReplaceIsBounded(t *testing.T) {
	a := strings.Repeat("a", 4<<20)
	lines := strings.Repeat("a\n", 2<<20)
	for _, c := range [][2]string{
		{a, a[:20_000] + "b"},
		{lines, lines[:40_000] + "b"},
		{strings.ReplaceAll(lines, "\n", "\r\n"), lines[:40_000] + "b"},
		{lines + "\r\n", lines[:40_000] + "b"},
		{"e" + strings.Repeat("\u0301", 1<<20), "\u00e9"},
		{strings.Repeat("“a” ", 1<<20), strings.Repeat(`"a" `, 1<<19)},
		{strings.Repeat("“a” ", 1<<20), strings.Repeat(`"a” `, 1<<19)},
		{lines, lines[:40_000] + "b{"},
		{strings.Repeat("“", 1<<20), strings.Repeat(`"`, 20_000) + "x"},
	} {
		_, err := Replace(c[0], c[1], "x", false)
		if err == nil || len(err.Error()) > 2000 {
			t.Errorf("%.20q: error of %d bytes", c[1], len(err.Error()))
		}
	}
	// what takes too long to compare is not found, rather than found in part
	_, err := Replace(strings.Repeat("“a” ", 1<<20), strings.Repeat(`"a” `, 1<<19), "x", true)
	if me := (*MatchError)(nil); !errors.As(err, &me) || me.Reason != NoMatch {
		t.Errorf("places past the bound: error %v", err)
	}
}

func TestSequence(t *testing.T) {
	src := "one\ntwo\nthree\n"
	s := NewSequence(src)
	for _, st := range [][2]string{{"two", "2\n2b"}, {"2b", "deux"}, {"one\n", ""}} {
		if _, err := s.Replace(st[0], st[1], false); err != nil {
			t.Fatal(err)
		}
	}
	if got := mustApply(t, src, s.Edits()); got != s.Text() || got != "2\ndeux\nthree\n" {
		t.Fatalf("%q, %q", got, s.Text())
	}
}
