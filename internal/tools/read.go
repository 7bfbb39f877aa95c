package tools

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"coedit/document"
	"coedit/readstate"

	"github.com/google/jsonschema-go/jsonschema"
)

// The limits of Read, from the tool contract.
const (
	defaultLines  = 2000
	maxWholeBytes = 256 << 10
	maxTokens     = 25_000 // bytes ÷ 3, an estimate
	maxLineRunes  = 2000
)

type readArgs struct {
	FilePath string `json:"file_path"`
	Offset   *int   `json:"offset"`
	Limit    *int   `json:"limit"`
	Pages    string `json:"pages"`
}

func readTool() *tool {
	return &tool{
		name: "Read",
		description: "Reads a text file, as it is in the editor or on disk. Lines come as line number, tab, text; the number and tab are not part of the file. " +
			"By default the first 2000 lines; use offset and limit for large files. Read a file before you edit it. Not for directories. Calls may run in parallel.",
		readOnly: true, idempotent: true, byDefault: true,
		input: object([]string{"file_path"}, map[string]*jsonschema.Schema{
			"file_path": str("The file, best as an absolute path."),
			"offset":    integer("How many lines to skip, from 0.", 0),
			"limit":     integer("How many lines to show.", 1),
			"pages":     str(`Pages of a PDF, such as "1-5".`),
		}),
		output: outputOf("text", "type", "filePath", "startLine", "numLines", "totalLines", "encoding", "lineEndings", "source", "unsaved"),
		run:    runRead,
	}
}

func runRead(ctx context.Context, c *call) (Result, error) {
	a, err := decode[readArgs](c)
	if err != nil {
		return Result{}, err
	}
	p, note, err := c.resolveForRead(ctx, a.FilePath)
	if err != nil {
		return Result{}, err
	}
	snap, err := c.s.Snapshot(ctx, p)
	if err == nil && snap.Exists() || errors.Is(err, document.ErrTooLarge) {
		if err := special(p); err != nil {
			return Result{}, err
		}
	}
	if errors.Is(err, document.ErrTooLarge) && (a.Offset != nil || a.Limit != nil) {
		return c.readPart(ctx, p, a, note)
	}
	if err != nil {
		return Result{}, err
	}
	if !snap.Exists() {
		return Result{}, c.notFound(ctx, p)
	}
	text := snap.Text
	var encErr *document.EncodingError
	switch {
	case errors.As(snap.Problem, &encErr):
		text = escapeBytes(snap.Bytes)
		note += fmt.Sprintf("The file is not valid %s: byte %s at offset %d (others may follow). Such bytes are shown as \\xNN, and the file can't be edited until its charset is set in .editorconfig (charset = …).\n", encErr.Encoding, encErr.Bad, encErr.Offset)
	case snap.Problem != nil:
		return Result{}, &document.Error{Name: p.Name(), Err: snap.Problem}
	}
	if a.Offset == nil && a.Limit == nil && len(snap.Bytes) > maxWholeBytes {
		return Result{}, &codedError{"too_large", fmt.Sprintf("%s is %d KiB (%d lines); at most %d KiB are read at once. Use offset and limit, or Grep for what you need.", c.show(p), len(snap.Bytes)>>10, document.Lines(text).Count(), maxWholeBytes>>10)}
	}
	return c.readLines(p, snap, text, a, note)
}

// special refuses what Read does not show yet, by name.
func special(p document.Path) error {
	switch strings.ToLower(filepath.Ext(p.Rel())) {
	case ".ipynb":
		return &codedError{"use_notebook_edit", p.Rel() + " is a notebook. Reading and editing notebooks is not built yet; nothing was changed."}
	case ".png", ".jpg", ".jpeg", ".gif", ".webp", ".bmp", ".pdf":
		return &codedError{"binary", p.Rel() + " is a picture or a PDF. Showing these is not built yet; use a program that knows the format."}
	}
	return nil
}

func (c *call) readLines(p document.Path, snap document.Snapshot, text string, a readArgs, note string) (Result, error) {
	skip, limit := 0, defaultLines
	if a.Offset != nil {
		skip = *a.Offset
	}
	if a.Limit != nil {
		limit = *a.Limit
	}
	x := document.Lines(text)
	total := x.Count()
	r := Result{quotes: []document.Path{p}, Structured: map[string]any{
		"type": "text", "filePath": p.Name(), "startLine": skip + 1, "totalLines": total, "encoding": string(snap.Encoding),
		"lineEndings": string(document.LineEndsOf(text)), "source": "disk", "unsaved": false}}
	var b strings.Builder
	var seen []readstate.Span
	var suspect []string
	last := total
	if limit < total-skip {
		last = skip + limit
	}
	for n := skip + 1; n <= last; n++ {
		line := strings.TrimSuffix(strings.TrimSuffix(x.Line(n), "\n"), "\r")
		suspect = append(suspect, line)
		cut, whole := cutLine(line)
		fmt.Fprintf(&b, "%6d\t%s\n", n, cut)
		if whole {
			seen = append(seen, readstate.Span{First: n, Last: n})
		}
		if b.Len()/3 > maxTokens {
			return Result{}, &codedError{"too_large", fmt.Sprintf("%s: lines %d to %d are over %d tokens (an estimate: bytes ÷ 3). Ask for fewer lines with offset and limit, or Grep for what you need.", c.show(p), skip+1, last, maxTokens)}
		}
	}
	if c.s.Shown(snap, fmt.Sprintf("%d+%d %s %v", skip, limit, snap.Encoding, snap.Problem), seen) {
		r.Structured["type"], r.Structured["numLines"] = "file_unchanged", 0
		r.Text = fmt.Sprintf("%s: file unchanged since last read (you have seen these lines already; read them once more to get them again).", c.show(p))
		return r, nil
	}
	r.Structured["numLines"] = max(0, last-skip)
	r.Text = note + b.String()
	switch {
	case total == 0:
		r.Text = note + "(The file exists and is empty.)"
	case skip >= total:
		r.Text = note + fmt.Sprintf("(Offset %d is past the end: the file has %s.)", skip, count(total, "line"))
	case last < total:
		r.Text += fmt.Sprintf("(Lines %d to %d of %d. The next offset is %d.)", skip+1, last, total, last)
	case skip > 0:
		r.Text += fmt.Sprintf("(Lines %d to %d; that is the end.)", skip+1, last)
	}
	if bad := suspicious(suspect, skip+1); len(bad) > 0 {
		r.Text += fmt.Sprintf("\n(Invisible or direction-changing characters are on line %s.)", numbers(bad))
	}
	r.Text = strings.TrimSuffix(r.Text, "\n")
	return r, nil
}

func numbers(lines []int) string {
	var parts []string
	for i, n := range lines {
		if i == 10 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprint(n))
	}
	return strings.Join(parts, ", ")
}

// cutLine bounds one line; whole is false when something is left out.
func cutLine(line string) (shown string, whole bool) {
	if len(line) <= maxLineRunes {
		return line, true
	}
	n := utf8.RuneCountInString(line)
	if n <= maxLineRunes {
		return line, true
	}
	at := 0
	for range maxLineRunes {
		_, k := utf8.DecodeRuneInString(line[at:])
		at += k
	}
	return line[:at] + fmt.Sprintf("… [line cut: %d more characters]", n-maxLineRunes), false
}

// escapeBytes shows bytes that are no UTF-8 as \xNN, for reading only.
func escapeBytes(b []byte) string {
	var s strings.Builder
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 || r == 0 {
			fmt.Fprintf(&s, `\x%02x`, b[0])
		} else {
			s.Write(b[:n])
		}
		b = b[n:]
	}
	return s.String()
}

// readPart reads lines of a file that is too large to be looked at whole: its
// lines are not counted, and it has no baseline.
func (c *call) readPart(ctx context.Context, p document.Path, a readArgs, note string) (Result, error) {
	f, size, err := c.s.Open(ctx, p)
	if err != nil {
		return Result{}, err
	}
	defer f.Close()
	skip, limit := 0, defaultLines
	if a.Offset != nil {
		skip = *a.Offset
	}
	if a.Limit != nil {
		limit = *a.Limit
	}
	in := bufio.NewReaderSize(f, 64<<10)
	for range skip {
		if err := skipLine(ctx, in); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return Result{}, err
		}
	}
	var b strings.Builder
	n := 0
	for ; n < limit; n++ {
		line, err := takeLine(ctx, in)
		if line == "" && errors.Is(err, io.EOF) {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return Result{}, err
		}
		if strings.IndexByte(line, 0) >= 0 {
			return Result{}, &document.Error{Name: p.Name(), Err: document.ErrBinary}
		}
		fmt.Fprintf(&b, "%6d\t%s\n", skip+n+1, escapeBytes([]byte(line)))
		if b.Len()/3 > maxTokens {
			return Result{}, &codedError{"too_large", fmt.Sprintf("%s: these lines are over %d tokens (an estimate). Ask for fewer with limit.", c.show(p), maxTokens)}
		}
	}
	r := Result{quotes: []document.Path{p}, Text: note + b.String() + fmt.Sprintf("(The file is %d MiB, too large to count its lines or to edit it. The next offset is %d.)", size>>20, skip+n)}
	r.Structured = map[string]any{"type": "text", "filePath": p.Name(), "startLine": skip + 1, "numLines": n, "totalLines": nil, "source": "disk", "unsaved": false}
	return r, nil
}

// skipLine passes over one line however long it is.
func skipLine(ctx context.Context, in *bufio.Reader) error {
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := in.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

// takeLine reads one line and keeps at most 8 KiB of it.
func takeLine(ctx context.Context, in *bufio.Reader) (string, error) {
	var b strings.Builder
	for b.Len() < 8<<10 {
		c, err := in.ReadByte()
		if errors.Is(err, io.EOF) && b.Len() > 0 {
			return b.String(), nil
		}
		if err != nil {
			return b.String(), err
		}
		if c == '\n' {
			return strings.TrimSuffix(b.String(), "\r"), nil
		}
		b.WriteByte(c)
	}
	if strings.IndexByte(b.String(), 0) >= 0 {
		return b.String(), nil // refused as binary: its end may be far
	}
	if err := skipLine(ctx, in); err != nil && !errors.Is(err, io.EOF) {
		return "", err
	}
	return b.String() + "… [line cut: longer than 8 KiB]", nil
}
