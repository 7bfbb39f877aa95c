package wire

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strconv"
	"strings"
)

const (
	maxHeader = 8 << 10  // bytes of one header block
	maxJunk   = 64 << 20 // bytes that are no message, between two messages
	firstPart = 1 << 20  // a body is allocated as it arrives, from this on
)

var bom = []byte{0xef, 0xbb, 0xbf}

// readFrame returns the body of the next message. Lines before a header (a
// server that prints to standard output) and unknown header fields are
// skipped, also where the junk lacks its own line end; a lone \n ends a line;
// a byte-order mark is dropped. An error other than io.EOF is ErrFrame or the
// reader's own; the position in the stream is lost then.
func readFrame(r *bufio.Reader, limit int) ([]byte, error) {
	length, junk, header := -1, 0, 0
	for {
		line, whole, err := readLine(r)
		if err != nil {
			if err == io.EOF && (length >= 0 || len(bytes.TrimSpace(line)) > 0) {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
		if length >= 0 {
			if header += len(line); header > maxHeader {
				return nil, fmt.Errorf("%w: header over %d bytes", ErrFrame, maxHeader)
			}
			if whole && len(bytes.TrimRight(line, "\r\n")) == 0 {
				break
			}
		}
		n, found, err := contentLength(line)
		switch {
		case err != nil:
			return nil, err
		case found && n > limit:
			return nil, fmt.Errorf("%w: %d bytes, the limit is %d", ErrFrame, n, limit)
		case found:
			length, header = n, len(line)
		case length < 0:
			if junk += len(line); junk > maxJunk {
				return nil, fmt.Errorf("%w: no message in %d bytes", ErrFrame, junk)
			}
		}
	}
	return readBody(r, length)
}

// readLine returns a line, or a part of one that is longer than the reader's
// buffer; whole tells which.
func readLine(r *bufio.Reader) (line []byte, whole bool, err error) {
	line, err = r.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		return line, false, nil
	}
	return line, true, err
}

func contentLength(line []byte) (n int, found bool, err error) {
	const field = "content-length:"
	// Byte by byte: ToLower changes the length of what is no UTF-8.
	lower := bytes.Clone(line)
	for i, c := range lower {
		if 'A' <= c && c <= 'Z' {
			lower[i] = c + 'a' - 'A'
		}
	}
	i := bytes.LastIndex(lower, []byte(field))
	if i < 0 {
		return 0, false, nil
	}
	text := strings.TrimSpace(string(line[i+len(field):]))
	n, err = strconv.Atoi(text)
	if err != nil || n < 0 {
		if i > 0 { // a log line that mentions the word
			return 0, false, nil
		}
		return 0, false, fmt.Errorf("%w: Content-Length %.40q", ErrFrame, text)
	}
	return n, true, nil
}

func readBody(r *bufio.Reader, n int) ([]byte, error) {
	var body []byte
	if n <= firstPart {
		body = make([]byte, n)
		if _, err := io.ReadFull(r, body); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
	} else {
		var b bytes.Buffer
		if _, err := io.CopyN(&b, r, int64(n)); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		body = b.Bytes()
	}
	return bytes.TrimPrefix(body, bom), nil
}

// maxDepth is how deep JSON may nest before anything recursive sees it.
const maxDepth = 512

// tooDeep reports whether b nests arrays and objects over maxDepth. It needs
// no valid JSON.
func tooDeep(b []byte) bool {
	depth := 0
	for i := 0; i < len(b); i++ {
		switch b[i] {
		case '{', '[':
			if depth++; depth > maxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(b) && b[i] != '"'; i++ {
				if b[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}
