package document

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/htmlindex"
)

// An Encoding is the lower-case name of a text encoding.
type Encoding string

// The encodings that a byte-order mark or the bytes themselves tell. Others
// have the names of the WHATWG encoding standard and need a configured charset.
const (
	UTF8    Encoding = "utf-8"
	UTF16LE Encoding = "utf-16le"
	UTF16BE Encoding = "utf-16be"
)

var bomUTF8 = []byte{0xef, 0xbb, 0xbf}

// Decode turns a file's bytes into text. A byte-order mark decides first, then
// valid UTF-8 without NUL, then charset (a WHATWG label or an .editorconfig
// value; "" for none). The error is ErrBinary where the bytes hold NUL, else
// an *EncodingError; also when encoding the text again would not give the
// same bytes, since such a document could not be edited without damage.
func Decode(b []byte, charset string) (text string, enc Encoding, bom bool, err error) {
	switch {
	case bytes.HasPrefix(b, bomUTF8):
		enc, bom = UTF8, true
		text, err = decodeUTF8(b[3:], 3)
	case len(b) >= 2 && b[0] == 0xff && b[1] == 0xfe:
		enc, bom = UTF16LE, true
		text, err = decodeUTF16(b[2:], 2, binary.LittleEndian, enc)
	case len(b) >= 2 && b[0] == 0xfe && b[1] == 0xff:
		enc, bom = UTF16BE, true
		text, err = decodeUTF16(b[2:], 2, binary.BigEndian, enc)
	default:
		enc = UTF8
		name, ok := CharsetName(charset)
		if charset != "" && !ok {
			name = ""
		}
		switch {
		case name == UTF16LE:
			enc = name
			text, err = decodeUTF16(b, 0, binary.LittleEndian, enc)
		case name == UTF16BE:
			enc = name
			text, err = decodeUTF16(b, 0, binary.BigEndian, enc)
		case bytes.IndexByte(b, 0) >= 0:
			return "", "", false, ErrBinary
		case utf8.Valid(b):
			text = string(b)
		case name != "" && name != UTF8:
			enc = name
			text, err = decodeLegacy(b, name)
		default:
			text, err = decodeUTF8(b, 0)
		}
	}
	if err != nil {
		return "", enc, bom, err
	}
	return text, enc, bom, nil
}

// CharsetName returns the Encoding that a charset label of .editorconfig or
// of the WHATWG standard names, and whether there is one.
func CharsetName(label string) (Encoding, bool) {
	switch l := strings.ToLower(strings.TrimSpace(label)); l {
	case "utf-8", "utf-8-bom", "utf8":
		return UTF8, true
	case "utf-16le", "utf-16be":
		return Encoding(l), true
	case "latin1": // .editorconfig's word; windows-1252 in the WHATWG standard has no C1 controls
		return "iso-8859-1", true
	case "":
		return "", false
	default:
		e, err := htmlindex.Get(l)
		if err != nil {
			return "", false
		}
		name, err := htmlindex.Name(e)
		if err != nil || name == "replacement" || name == "x-user-defined" {
			return "", false
		}
		return Encoding(name), true
	}
}

func decodeUTF8(b []byte, skipped int) (string, error) {
	for i := 0; i < len(b); {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			return "", &EncodingError{Encoding: UTF8, Offset: i + skipped, Bad: fmt.Sprintf(`\x%02x`, b[i])}
		}
		if b[i] == 0 {
			return "", ErrBinary
		}
		i += n
	}
	return string(b), nil
}

func decodeUTF16(b []byte, skipped int, order binary.ByteOrder, enc Encoding) (string, error) {
	var sb strings.Builder
	sb.Grow(len(b))
	for i := 0; i < len(b); {
		if i+1 >= len(b) {
			return "", &EncodingError{Encoding: enc, Offset: i + skipped, Bad: fmt.Sprintf(`\x%02x`, b[i])}
		}
		u := order.Uint16(b[i:])
		r, n := rune(u), 2
		if utf16.IsSurrogate(r) {
			r = utf8.RuneError
			if i+3 < len(b) {
				r = utf16.DecodeRune(rune(u), rune(order.Uint16(b[i+2:])))
				n = 4
			}
			if r == utf8.RuneError {
				return "", &EncodingError{Encoding: enc, Offset: i + skipped, Bad: fmt.Sprintf(`\x%02x`, b[i])}
			}
		}
		if r == 0 {
			return "", ErrBinary
		}
		sb.WriteRune(r)
		i += n
	}
	return sb.String(), nil
}

func legacy(enc Encoding) (encoding.Encoding, error) {
	if enc == "iso-8859-1" {
		return charmap.ISO8859_1, nil
	}
	return htmlindex.Get(string(enc))
}

func decodeLegacy(b []byte, enc Encoding) (string, error) {
	e, err := legacy(enc)
	if err != nil {
		return "", &EncodingError{Encoding: enc, Bad: "the name"}
	}
	text, err := e.NewDecoder().Bytes(b)
	if err == nil {
		if back, err := e.NewEncoder().Bytes(text); err == nil && bytes.Equal(back, b) {
			return string(text), nil
		}
	}
	at := firstDifference(e, b)
	return "", &EncodingError{Encoding: enc, Offset: at, Bad: fmt.Sprintf(`\x%02x`, b[min(at, len(b)-1)])}
}

// firstDifference finds the shortest prefix that does not survive the round
// trip, by halves: it only words an error.
func firstDifference(e encoding.Encoding, b []byte) int {
	lo, hi := 0, len(b)
	for lo < hi {
		mid := (lo + hi + 1) / 2
		t, err := e.NewDecoder().Bytes(b[:mid])
		var back []byte
		if err == nil {
			back, err = e.NewEncoder().Bytes(t)
		}
		if err == nil && bytes.Equal(back, b[:mid]) {
			lo = mid
		} else {
			hi = mid - 1
		}
	}
	return lo
}

// Encode turns text into bytes of enc, with a byte-order mark if bom. The
// error is an *EncodingError that names the first character enc lacks.
func Encode(text string, enc Encoding, bom bool) ([]byte, error) {
	switch enc {
	case UTF8, "":
		if i := invalid(text); i >= 0 {
			return nil, &EncodingError{Encoding: UTF8, Offset: i, Bad: text[i : i+1], Writing: true}
		}
		if bom {
			return append(bytes.Clone(bomUTF8), text...), nil
		}
		return []byte(text), nil
	case UTF16LE:
		return encodeUTF16(text, binary.LittleEndian, enc, bom)
	case UTF16BE:
		return encodeUTF16(text, binary.BigEndian, enc, bom)
	}
	e, err := legacy(enc)
	if err != nil {
		return nil, &EncodingError{Encoding: enc, Bad: "the name", Writing: true}
	}
	b, err := e.NewEncoder().String(text)
	if err == nil {
		if back, err := e.NewDecoder().String(b); err == nil && back == text {
			return []byte(b), nil
		}
	}
	for i, r := range text {
		c, err := e.NewEncoder().String(string(r))
		back, err2 := e.NewDecoder().String(c)
		if err != nil || err2 != nil || back != string(r) {
			return nil, &EncodingError{Encoding: enc, Offset: i, Bad: string(r), Writing: true}
		}
	}
	return nil, &EncodingError{Encoding: enc, Bad: "the text as a whole", Writing: true}
}

func invalid(text string) int {
	if utf8.ValidString(text) {
		return -1
	}
	for i, r := range text {
		if r == utf8.RuneError && !strings.HasPrefix(text[i:], "\uFFFD") {
			return i
		}
	}
	return -1
}

func encodeUTF16(text string, order binary.AppendByteOrder, enc Encoding, bom bool) ([]byte, error) {
	if i := invalid(text); i >= 0 {
		return nil, &EncodingError{Encoding: enc, Offset: i, Bad: text[i : i+1], Writing: true}
	}
	out := make([]byte, 0, 2*len(text)+2)
	if bom {
		out = order.AppendUint16(out, 0xfeff)
	}
	for _, r := range text {
		if hi, lo := utf16.EncodeRune(r); hi != utf8.RuneError {
			out = order.AppendUint16(order.AppendUint16(out, uint16(hi)), uint16(lo))
			continue
		}
		out = order.AppendUint16(out, uint16(r))
	}
	return out, nil
}
