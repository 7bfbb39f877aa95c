package tools

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestVisible(t *testing.T) {
	for in, want := range map[string]string{
		"plain name.go": "plain name.go", "café 日本": "café 日本", "a\nb": `a\u{000a}b`,
		"ls\r/": `ls\u{000d}/`, "\x1b[31mred": `\u{001b}[31mred`, "a\u202eb": `a\u{202e}b`, "a\u200bb": `a\u{200b}b`,
		"tag\U000e0041": `tag\u{e0041}`, "bad\xff": `bad\xff`, "\ufeffx": `\u{feff}x`, "c1\u009b": `c1\u{009b}`,
	} {
		if got := Visible(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzVisible(f *testing.F) {
	f.Add("a\x1b\u202e\xff")
	f.Fuzz(func(t *testing.T, s string) {
		got := Visible(s)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x1b\r\n\u202e\u200b") {
			t.Errorf("%q", got)
		}
	})
}

func TestNesting(t *testing.T) {
	for in, want := range map[string]int{`{}`: 1, `{"a": [[1]]}`: 3, `"[[["`: 0, `{"a": "\"[["}`: 1, strings.Repeat("[", 9): 9} {
		if got := nesting([]byte(in)); got != want {
			t.Errorf("%s: %d, want %d", in, got, want)
		}
	}
}
