package wire

import (
	"path"
	"path/filepath"
	"runtime"
	"strings"

	"go.lsp.dev/uri"
)

// FileURI returns the file URI of an absolute name. Bytes that are no UTF-8
// are percent-encoded one by one, so that FileName gives them back.
func FileURI(name string) uri.URI {
	name = filepath.ToSlash(name)
	var b strings.Builder
	b.WriteString("file://")
	if runtime.GOOS == "windows" {
		if strings.HasPrefix(name, "//") {
			name = name[2:]
		} else {
			b.WriteByte('/')
		}
	}
	const hex = "0123456789ABCDEF"
	for i := 0; i < len(name); i++ {
		c := name[i]
		if 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || strings.IndexByte("-._~/", c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(hex[c>>4])
		b.WriteByte(hex[c&15])
	}
	return uri.URI(b.String())
}

// FileName returns the clean absolute name that a file URI stands for. It is
// false for other schemes, for hosts other than this one, and for names that
// are not absolute or hold NUL.
func FileName[S ~string](u S) (string, bool) {
	scheme, rest, ok := strings.Cut(string(u), ":")
	if !ok || !strings.EqualFold(scheme, "file") {
		return "", false
	}
	if i := strings.IndexAny(rest, "?#"); i >= 0 {
		rest = rest[:i]
	}
	host := ""
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		i := strings.IndexByte(after, '/')
		if i < 0 {
			return "", false
		}
		host, rest = after[:i], after[i:]
	}
	if host != "" && !strings.EqualFold(host, "localhost") {
		return "", false
	}
	name := unescape(rest)
	if strings.ContainsRune(name, 0) || !strings.HasPrefix(name, "/") {
		return "", false
	}
	name = path.Clean(name)
	if runtime.GOOS == "windows" {
		if len(name) < 3 || name[2] != ':' {
			return "", false
		}
		name = strings.ToUpper(name[1:2]) + name[2:]
	}
	return filepath.FromSlash(name), true
}

func unescape(s string) string {
	if strings.IndexByte(s, '%') < 0 {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			hi, lo := unhex(s[i+1]), unhex(s[i+2])
			if hi >= 0 && lo >= 0 {
				b.WriteByte(byte(hi<<4 | lo))
				i += 2
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func unhex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'a' <= c && c <= 'f':
		return int(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
