package tools

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// Visible makes a name or message from outside safe to read: control
// characters, bidirectional and zero-width ones, tags and bytes that are not
// UTF-8 are shown as escapes (security rule T8). The text of files is never
// passed through it: an escaped character would not match again.
func Visible(s string) string {
	clean := true
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		if hidden(r, n) {
			clean = false
			break
		}
		i += n
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case hidden(r, n):
			fmt.Fprintf(&b, `\u{%04x}`, r)
		default:
			b.WriteRune(r)
		}
		i += n
	}
	return b.String()
}

func hidden(r rune, n int) bool {
	switch {
	case r == utf8.RuneError && n == 1:
		return true
	case r == '\t':
		return false
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == 0xad, r == 0x61c, r == 0x180e, r == 0xfeff:
		return true
	case r >= 0x200b && r <= 0x200f, r >= 0x2028 && r <= 0x202e, r >= 0x2060 && r <= 0x206f:
		return true
	case r >= 0xfff9 && r <= 0xfffb, r >= 0xe0000 && r <= 0xe007f:
		return true
	}
	return false
}

// suspicious lists the lines, from 1, that hold characters which can't be
// seen and change how the text reads; line ends and tabs are not among them.
func suspicious(lines []string, first int) []int {
	var out []int
	for i, l := range lines {
		for j := 0; j < len(l); {
			r, n := utf8.DecodeRuneInString(l[j:])
			if r != '\r' && r != '\t' && r != '\n' && r != '\f' && !(r == utf8.RuneError && n == 1) && hidden(r, n) && !(r == 0x200d || r == 0x200c) {
				out = append(out, first+i)
				break
			}
			j += n
		}
	}
	return out
}
