package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"coedit/document"

	"go.lsp.dev/protocol"
)

// raw is a peer that writes bytes by hand.
type rawPeer struct {
	t    *testing.T
	conn net.Conn
	r    *bufio.Reader
}

func pair(t *testing.T, h Handler, o Options) (*Conn, *rawPeer) {
	t.Helper()
	a, b := net.Pipe()
	c := Connect(a, h, o)
	t.Cleanup(func() { b.Close(); c.Close() })
	return c, &rawPeer{t, b, bufio.NewReader(b)}
}

func (p *rawPeer) write(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p.conn, s); err != nil {
		p.t.Error(err)
	}
}

func (p *rawPeer) send(body string) {
	p.t.Helper()
	p.write(fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body))
}

func (p *rawPeer) read() map[string]any {
	p.t.Helper()
	p.conn.SetReadDeadline(time.Now().Add(10 * time.Second))
	body, err := readFrame(p.r, MaxFrame)
	if err != nil {
		p.t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(body, &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

func receive[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(10 * time.Second):
		t.Fatal("nothing came")
		panic("unreachable")
	}
}

func TestReadFrame(t *testing.T) {
	const msg = `{"a":1}`
	for _, test := range []struct{ name, in, want string }{
		{"plain", "Content-Length: 7\r\n\r\n" + msg, msg},
		{"junk line", "Starting…\nmore\r\nContent-Length: 7\r\n\r\n" + msg, msg},
		{"junk without its line end", "loading 50%Content-Length: 7\r\n\r\n" + msg, msg},
		{"a log line that mentions it", "bad Content-Length: oops\nContent-Length: 7\r\n\r\n" + msg, msg},
		{"byte-order mark before the header", "\ufeffContent-Length: 7\r\n\r\n" + msg, msg},
		{"byte-order mark in the body", "Content-Length: 10\r\n\r\n\ufeff" + msg, msg},
		{"bare line feeds", "Content-Length: 7\n\n" + msg, msg},
		{"other fields", "Content-Type: x\r\nContent-Length: 7\r\nX: y\r\n\r\n" + msg, msg},
		{"lower case", "content-length:7\r\n\r\n" + msg, msg},
		{"junk that is no UTF-8", strings.Repeat("\xff", 500) + "Content-Length: 7\r\n\r\n" + msg, msg},
		{"a very long junk line", strings.Repeat("x", 100_000) + "\nContent-Length: 7\r\n\r\n" + msg, msg},
	} {
		got, err := readFrame(bufio.NewReader(strings.NewReader(test.in)), 1000)
		if err != nil || string(got) != test.want {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
	for _, test := range []struct {
		name, in string
		want     error
	}{
		{"too large", "Content-Length: 1001\r\n\r\n", ErrFrame},
		{"negative", "Content-Length: -1\r\n\r\n", ErrFrame},
		{"no number", "Content-Length: 9x\r\n\r\n", ErrFrame},
		{"long header", "Content-Length: 7\r\n" + strings.Repeat("X: y\r\n", 2000) + "\r\n" + msg, ErrFrame},
		{"short body", "Content-Length: 9\r\n\r\n" + msg, io.ErrUnexpectedEOF},
		{"ends in a header", "Content-Length: 9\r\n", io.ErrUnexpectedEOF},
		{"end", "", io.EOF},
	} {
		if _, err := readFrame(bufio.NewReader(strings.NewReader(test.in)), 1000); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", test.name, err, test.want)
		}
	}
}

// A peer that promises much must not make us allocate it.
func TestBodyIsNotAllocatedAhead(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readFrame(bufio.NewReader(strings.NewReader(fmt.Sprintf("Content-Length: %d\r\n\r\nabc", MaxFrame))), MaxFrame)
	runtime.ReadMemStats(&after)
	if d := after.TotalAlloc - before.TotalAlloc; d > 8<<20 {
		t.Errorf("allocated %d bytes", d)
	}
}

func FuzzReadFrame(f *testing.F) {
	f.Add([]byte("junkContent-Length: 7\r\n\r\n{\"a\":1}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := bufio.NewReader(bytes.NewReader(b))
		for {
			body, err := readFrame(r, 1<<16)
			if err != nil {
				return
			}
			if !tooDeep(body) {
				decodeLoosely(body)
				normalise(body)
			}
		}
	})
}

func TestNotificationsInOrder(t *testing.T) {
	const n = 5000
	got := make(chan int, n)
	_, p := pair(t, Handler{Notify: func(_ string, params Raw) {
		var v struct{ N int }
		json.Unmarshal(params, &v)
		got <- v.N
	}}, Options{})
	go func() {
		for i := range n {
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"textDocument/didChange","params":{"N":%d}}`, i))
		}
	}()
	for i := range n {
		if v := receive(t, got); v != i {
			t.Fatalf("notification %d came as number %d", v, i)
		}
	}
}

func TestHandlerErrorsAndPanics(t *testing.T) {
	notified := make(chan string, 10)
	c, p := pair(t, Handler{
		Notify: func(method string, _ Raw) {
			if method == "panic" {
				panic("in a notification")
			}
			notified <- method
		},
		Request: func(_ context.Context, method string, _ Raw) (any, error) {
			if method == "panic" {
				panic("in a request")
			}
			return nil, MethodNotFound(method)
		},
	}, Options{})
	p.send(`{"jsonrpc":"2.0","method":"panic"}`)
	p.send(`{"jsonrpc":"2.0","id":1,"method":"panic"}`)
	if m := p.read(); m["error"].(map[string]any)["code"] != -32603.0 {
		t.Errorf("%v", m)
	}
	p.send(`{"jsonrpc":"2.0","id":"x","method":"none"}`)
	if m := p.read(); m["error"].(map[string]any)["code"] != -32601.0 || m["id"] != "x" {
		t.Errorf("%v", m)
	}
	p.send(`{"jsonrpc":"2.0","method":"after"}`)
	if got := receive(t, notified); got != "after" {
		t.Errorf("got %q", got)
	}
	select {
	case <-c.Done():
		t.Error("the connection ended")
	default:
	}
}

// What comes may break the rules; it must not end the connection.
func TestTolerantEnvelope(t *testing.T) {
	notified := make(chan string, 10)
	c, p := pair(t, Handler{Notify: func(method string, _ Raw) { notified <- method }}, Options{})
	answers := []string{
		`{"id":%v,"result":{"ok":true}}`,
		`{"jsonrpc":"2.0","id":%v,"result":{"ok":true},"error":null}`,
		`{"jsonrpc":"2.0","id":%v.0,"result":{"ok":true},"extra":1}`,
	}
	for _, answer := range answers {
		go func() {
			m := p.read()
			p.write("a line that does not belong here\n")
			p.send(`{"jsonrpc":"2.0","id":true,"method":[]}`)
			p.send(`not JSON at all`)
			p.send(strings.Repeat("[", 100_000))
			p.send(`{"jsonrpc":"2.0","method":"deep","params":` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`)
			p.send(fmt.Sprintf(answer, m["id"]))
		}()
		var r struct {
			OK bool `json:"ok"`
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		if err := c.Call(ctx, "ask", map[string]any{}, &r); err != nil || !r.OK {
			t.Errorf("%s: %v, %v", answer, r, err)
		}
		cancel()
	}
	go func() {
		m := p.read()
		p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":null,"error":{"code":-32802,"message":"later"}}`, m["id"]))
	}()
	var answer *Error
	if err := c.Call(t.Context(), "ask", nil, nil); !errors.As(err, &answer) || answer.Code != -32802 {
		t.Errorf("%v", err)
	}
	p.send(`{"method":"bare"}`)
	if got := receive(t, notified); got != "bare" {
		t.Errorf("got %q", got)
	}
}

func TestCancel(t *testing.T) {
	stopped := make(chan error, 1)
	c, p := pair(t, Handler{Request: func(ctx context.Context, _ string, _ Raw) (any, error) {
		<-ctx.Done()
		stopped <- ctx.Err()
		return nil, NewError(-32800, "cancelled")
	}}, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- c.Call(ctx, "slow", nil, nil) }()
	m := p.read()
	cancel()
	if err := receive(t, done); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if n := p.read(); n["method"] != "$/cancelRequest" || n["params"].(map[string]any)["id"] != m["id"] {
		t.Errorf("%v", n)
	}
	p.send(`{"jsonrpc":"2.0","id":7,"method":"wait"}`)
	p.send(`{"jsonrpc":"2.0","method":"$/cancelRequest","params":{"id":7}}`)
	if err := receive(t, stopped); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if m := p.read(); m["error"].(map[string]any)["code"] != -32800.0 {
		t.Errorf("%v", m)
	}
}

// A peer that does not read blocks neither Notify nor Call nor Close, and is
// found out.
func TestStalledPeer(t *testing.T) {
	c, _ := pair(t, Handler{}, Options{WriteTimeout: 100 * time.Millisecond})
	start := time.Now()
	for range 100 {
		if err := c.Notify("big", map[string]any{"text": strings.Repeat("x", 100_000)}); err != nil {
			break
		}
	}
	if d := time.Since(start); d > 5*time.Second {
		t.Errorf("Notify took %v", d)
	}
	err := c.Call(t.Context(), "ask", nil, nil)
	if !errors.Is(err, ErrStalled) {
		t.Errorf("Call: %v", err)
	}
	receive(t, c.Done())
	if !errors.Is(c.Err(), ErrStalled) {
		t.Errorf("Err: %v", c.Err())
	}
}

func TestCloseWithCallsInFlight(t *testing.T) {
	c, p := pair(t, Handler{}, Options{})
	done := make(chan error, 1)
	go func() { done <- c.Call(t.Context(), "ask", nil, nil) }()
	p.read()
	closed := make(chan struct{})
	go func() { c.Close(); close(closed) }()
	if err := receive(t, done); err == nil {
		t.Error("the call succeeded")
	}
	receive(t, closed)
}

// Two answers at once: the first one's strings must not turn into bytes of
// the second.
func TestResultsOwnTheirBytes(t *testing.T) {
	c, p := pair(t, Handler{}, Options{})
	ask := func(title string) []protocol.CommandOrCodeAction {
		go func() {
			m := p.read()
			p.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"result":[{"title":%q,"kind":"quickfix"}]}`, m["id"], title))
		}()
		var r []protocol.CommandOrCodeAction
		if err := c.Call(t.Context(), "textDocument/codeAction", nil, &r); err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := ask("first title")
	for range 50 {
		ask(strings.Repeat("#", 200))
	}
	if a, ok := first[0].(*protocol.CodeAction); !ok || a.Title != "first title" {
		t.Errorf("%+v", first[0])
	}
}

func TestUnmarshalNormalises(t *testing.T) {
	for _, test := range []struct{ name, in string }{
		{"null severity", `{"uri":"file:///a","diagnostics":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":2}},"severity":null,"message":"m"}]}`},
		{"negative", `{"uri":"file:///a","diagnostics":[{"range":{"start":{"line":1,"character":-1},"end":{"line":-5,"character":2}},"message":"m"}]}`},
		{"float", `{"uri":"file:///a","diagnostics":[{"range":{"start":{"line":1.0,"character":2.5},"end":{"line":1,"character":1e99}},"message":"m"}]}`},
		{"float code", `{"uri":"file:///a","diagnostics":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":2}},"code":1.5,"message":"m"}]}`},
		{"object code", `{"uri":"file:///a","diagnostics":[{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":2}},"code":{"value":"x","target":"y"},"message":"m"}]}`},
		{"nulls", `{"uri":"file:///a","version":null,"diagnostics":[null,{"range":{"start":{"line":1,"character":2},"end":{"line":1,"character":2}},"source":null,"tags":null,"message":"m"}]}`},
	} {
		var p protocol.PublishDiagnosticsParams
		if err := Unmarshal([]byte(test.in), &p); err != nil || len(p.Diagnostics) == 0 {
			t.Errorf("%s: %v, %+v", test.name, err, p)
		}
	}
	var r protocol.DocumentDiagnosticReport
	if err := Unmarshal([]byte(`{"kind":"","items":[]}`), &r); err != nil {
		t.Errorf("report without kind: %v", err)
	}
	var v any
	if err := Unmarshal([]byte(strings.Repeat("[", 600)+strings.Repeat("]", 600)), &v); err == nil {
		t.Error("600 levels were decoded")
	}
}

func TestMapper(t *testing.T) {
	text := "a\tb\n🦊🦊é nope\r\n\nend"
	off := strings.Index(text, "nope")
	for enc, want := range map[Encoding]uint32{UTF16: 6, UTF8: 11, UTF32: 4} {
		m := NewMapper(text, enc)
		if p := m.Position(off); p.Line != 1 || p.Character != want {
			t.Errorf("%s: %+v", enc, p)
		}
		if got := m.Offset(protocol.Position{Line: 1, Character: want}); got != off {
			t.Errorf("%s: offset %d, want %d", enc, got, off)
		}
		if line, column := m.LineColumn(protocol.Position{Line: 1, Character: want}); line != 2 || column != 5 {
			t.Errorf("%s: %d:%d", enc, line, column)
		}
		if got, want := m.Offset(protocol.Position{Line: 1, Character: 1000}), strings.Index(text, "\r\n"); got != want {
			t.Errorf("%s: past the line's end: %d, want %d", enc, got, want)
		}
		if got := m.Offset(protocol.Position{Line: 99}); got != len(text) {
			t.Errorf("%s: past the end: %d", enc, got)
		}
	}
	if m := NewMapper("🦊", UTF16); m.Offset(protocol.Position{Character: 1}) != 0 {
		t.Error("the middle of a character is not its start")
	}
	for text, want := range map[string]bool{"a\r\nb": false, "a\rb": true, "a\r": true, "\r\r\n": true, "": false} {
		if LoneCR(text) != want {
			t.Errorf("LoneCR(%q)", text)
		}
	}
}

func FuzzMapper(f *testing.F) {
	f.Add("a🦊\r\nb", 3)
	f.Fuzz(func(t *testing.T, text string, off int) {
		if off < 0 || off > len(text) || len(text) > 1<<16 || !utf8.ValidString(text) { // a document's text is valid
			return
		}
		for _, enc := range []Encoding{UTF8, UTF16, UTF32} {
			m := NewMapper(text, enc)
			p := m.Position(off)
			back := m.Offset(p)
			// Inside a character or a line end the place moves to its start.
			if back > off || off-back >= 4 {
				t.Fatalf("%s: %d → %+v → %d in %q", enc, off, p, back, text)
			}
			if m.Position(back) != p && !strings.Contains(text, "\r") {
				t.Fatalf("%s: %d → %+v → %d → %+v", enc, off, p, back, m.Position(back))
			}
		}
	})
}

func TestURI(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("names are those of Unix")
	}
	for _, name := range []string{"/a/b c.go", "/ä/🦊#?%.go", "/x/\xff\xfe.txt", "/", "/a:b/[id]/(x)", "/tab\there\nline"} {
		got, ok := FileName(FileURI(name))
		if !ok || got != name {
			t.Errorf("%q → %s → %q, %v", name, FileURI(name), got, ok)
		}
	}
	for uri, want := range map[string]string{
		"file:///a/../etc/passwd": "/etc/passwd", "file:///a/%2e%2e/b": "/b", "file://localhost/x": "/x", "FILE:///x": "/x", "file:/x": "/x",
		"file:///x?q#f": "/x", "file:///a%3Ab": "/a:b", "file:///x/%zz": "/x/%zz",
	} {
		if got, ok := FileName(uri); !ok || got != want {
			t.Errorf("%s: %q, %v", uri, got, ok)
		}
	}
	for _, uri := range []string{"http://x/y", "untitled:Untitled-1", "file://host/x", "file:///a%00b", "", "x", "file:", "file://x", "vscode-remote://h/x"} {
		if got, ok := FileName(uri); ok {
			t.Errorf("%s: %q", uri, got)
		}
	}
	if u := FileURI(filepath.Join(os.TempDir(), "x y")); strings.Contains(string(u), " ") {
		t.Errorf("%s", u)
	}
	if document.MaxSize > MaxFrame {
		t.Error("a document at the size limit does not fit into a frame")
	}
}
