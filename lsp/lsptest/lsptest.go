// Package lsptest is a scripted language server for tests of faults that real
// servers have only now and then. It speaks the protocol's framing by hand and
// imports nothing of coedit, so that a mistake there can't hide itself.
package lsptest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"
)

// script is what a server does. Steps are tried in order; all that match a
// message are carried out.
type script struct {
	Capabilities map[string]any `json:"capabilities"`
	Log          string         `json:"log"` // file that every received message is appended to, a line each
	Steps        []step         `json:"script"`
}

// step is one reaction.
type step struct {
	On      string `json:"on"`      // method, whole or its last part
	Version *int   `json:"version"` // only for this document version
	Path    string `json:"path"`    // only for documents whose URI ends so
	Nth     int    `json:"nth"`     // only the n-th time that all the above match
	AfterMS int    `json:"after_ms"`

	Publish     *publish        `json:"publish"`
	Result      json.RawMessage `json:"result"`
	Error       json.RawMessage `json:"error"`
	NeverAnswer bool            `json:"never_answer"`
	Stop        bool            `json:"stop_reading_stdin"`
	Hang        bool            `json:"hang"` // reads no more, answers no more, ignores the end of input
	Exit        *int            `json:"exit"`
	Junk        string          `json:"junk"` // written to standard output as it is
	Stderr      string          `json:"stderr"`
	Notify      *message        `json:"notify"`
	Request     *message        `json:"request"`
	Spawn       string          `json:"spawn"` // starts a child that outlives its parent; its process id goes to this file
}

type message struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

type publish struct {
	Path        string           `json:"path"` // below the root; "": the document of the message
	Version     *int             `json:"version"`
	Diagnostics []map[string]any `json:"diagnostics"`
	Flood       int              `json:"flood"` // so many more, numbered
}

type server struct {
	script
	root string
	seen map[int]int

	mu   sync.Mutex // out, log, ids
	out  io.Writer
	next int
	log  *os.File

	stop    chan struct{}
	pending sync.WaitGroup
}

// Serve runs a script, JSON with the members capabilities, log and script,
// until its input ends or a step says exit. It returns the exit code.
func Serve(in io.Reader, out io.Writer, src []byte) int {
	s := &server{out: out, seen: map[int]int{}, stop: make(chan struct{})}
	if err := json.Unmarshal(src, &s.script); err != nil {
		fmt.Fprintln(os.Stderr, "lsptest:", err)
		return 2
	}
	if s.script.Log != "" {
		f, err := os.OpenFile(s.script.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err != nil {
			fmt.Fprintln(os.Stderr, "lsptest:", err)
			return 2
		}
		defer f.Close()
		s.log = f
	}
	defer s.pending.Wait()
	defer close(s.stop)
	r := bufio.NewReader(in)
	for {
		body, err := read(r)
		if err != nil {
			return 0
		}
		if code, end := s.handle(body); end {
			return code
		}
	}
}

// read takes the framing strictly: what coedit writes must be right.
func read(r *bufio.Reader) ([]byte, error) {
	length := -1
	for {
		line, err := r.ReadString('\n')
		if err != nil {
			return nil, err
		}
		line = strings.TrimSuffix(line, "\r\n")
		if line == "" {
			break
		}
		if value, ok := strings.CutPrefix(line, "Content-Length: "); ok {
			if length, err = strconv.Atoi(value); err != nil {
				return nil, err
			}
		}
	}
	if length < 0 {
		return nil, fmt.Errorf("no Content-Length")
	}
	body := make([]byte, length)
	_, err := io.ReadFull(r, body)
	return body, err
}

// incoming is what the steps look at.
type incoming struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RootURI      string `json:"rootUri"`
		TextDocument struct {
			URI     string `json:"uri"`
			Version int    `json:"version"`
		} `json:"textDocument"`
	} `json:"params"`
}

func (s *server) handle(body []byte) (code int, end bool) {
	s.mu.Lock()
	if s.log != nil {
		s.log.Write(append(body[:len(body):len(body)], '\n'))
	}
	s.mu.Unlock()
	var m incoming
	if err := json.Unmarshal(body, &m); err != nil || m.Method == "" {
		return 0, false
	}
	if m.Method == "initialize" {
		s.root = m.Params.RootURI
	}
	answered := false
	for i, st := range s.Steps {
		if !s.matches(i, st, m) {
			continue
		}
		switch {
		case st.Stop || st.Hang:
			if st.Hang {
				s.mu.Lock() // nothing is written any more
			}
			select {}
		case st.Exit != nil && st.AfterMS == 0:
			code := *st.Exit
			st.Exit = nil
			s.do(st, m)
			return code, true
		case st.NeverAnswer, st.Result != nil, st.Error != nil:
			answered = true
		}
		s.later(st, m)
	}
	if m.Method == "exit" {
		return 0, true
	}
	if m.ID != nil && !answered {
		s.answer(m)
	}
	return 0, false
}

func (s *server) matches(i int, st step, m incoming) bool {
	if st.On != m.Method && st.On != path.Base(m.Method) {
		return false
	}
	if st.Version != nil && *st.Version != m.Params.TextDocument.Version {
		return false
	}
	if st.Path != "" && !strings.HasSuffix(m.Params.TextDocument.URI, "/"+st.Path) {
		return false
	}
	s.seen[i]++
	return st.Nth == 0 || st.Nth == s.seen[i]
}

// later carries st out after its time. The time is the server's slowness.
func (s *server) later(st step, m incoming) {
	if st.AfterMS == 0 {
		s.do(st, m)
		return
	}
	s.pending.Go(func() {
		select {
		case <-s.stop:
		case <-time.After(time.Duration(st.AfterMS) * time.Millisecond):
			s.do(st, m)
		}
	})
}

func (s *server) do(st step, m incoming) {
	if st.Stderr != "" {
		fmt.Fprintln(os.Stderr, st.Stderr)
	}
	if st.Junk != "" {
		s.mu.Lock()
		io.WriteString(s.out, st.Junk)
		s.mu.Unlock()
	}
	if st.Spawn != "" {
		s.spawn(st.Spawn)
	}
	if st.Publish != nil {
		s.publish(*st.Publish, m.Params.TextDocument.URI)
	}
	if st.Notify != nil {
		s.send(map[string]any{"jsonrpc": "2.0", "method": st.Notify.Method, "params": st.Notify.Params})
	}
	if st.Request != nil {
		s.mu.Lock()
		s.next++
		id := s.next
		s.mu.Unlock()
		s.send(map[string]any{"jsonrpc": "2.0", "id": id, "method": st.Request.Method, "params": st.Request.Params})
	}
	switch {
	case st.NeverAnswer || m.ID == nil:
	case st.Error != nil:
		s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "error": st.Error})
	case st.Result != nil:
		s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": widen(st.Result)})
	}
	if st.Exit != nil {
		os.Exit(*st.Exit)
	}
}

func (s *server) spawn(file string) {
	cmd := exec.Command("sleep", "600")
	if err := cmd.Start(); err != nil {
		fmt.Fprintln(os.Stderr, "lsptest:", err)
		return
	}
	if err := os.WriteFile(file, []byte(strconv.Itoa(cmd.Process.Pid)), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, "lsptest:", err)
	}
}

// answer is for requests that no step answers.
func (s *server) answer(m incoming) {
	switch m.Method {
	case "initialize":
		caps := map[string]any{"textDocumentSync": map[string]any{"openClose": true, "change": 2, "save": true}}
		for k, v := range s.Capabilities {
			caps[k] = v
		}
		s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": map[string]any{"capabilities": caps}})
	case "shutdown":
		s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": nil})
	default:
		s.send(map[string]any{"jsonrpc": "2.0", "id": m.ID,
			"error": map[string]any{"code": -32601, "message": "not in the script: " + m.Method}})
	}
}

func (s *server) publish(p publish, uri string) {
	if p.Path != "" {
		uri = s.root + "/" + (&url.URL{Path: p.Path}).EscapedPath()
	}
	list := make([]any, 0, len(p.Diagnostics)+p.Flood)
	for _, d := range p.Diagnostics {
		list = append(list, diagnostic(d))
	}
	for i := range p.Flood {
		list = append(list, diagnostic(map[string]any{"line": i, "message": "flood " + strconv.Itoa(i), "severity": 1}))
	}
	params := map[string]any{"uri": uri, "diagnostics": list}
	if p.Version != nil {
		params["version"] = *p.Version
	}
	s.send(map[string]any{"jsonrpc": "2.0", "method": "textDocument/publishDiagnostics", "params": params})
}

// diagnostic turns the short form, with a line, into the protocol's.
func diagnostic(d map[string]any) map[string]any {
	if _, ok := d["range"]; ok {
		return d
	}
	out := map[string]any{}
	at := func(key string, otherwise any) any {
		if v, ok := d[key]; ok {
			return v
		}
		return otherwise
	}
	line, character := at("line", 0), at("character", 0)
	out["range"] = map[string]any{
		"start": map[string]any{"line": line, "character": character},
		"end":   map[string]any{"line": at("end_line", line), "character": at("end_character", character)},
	}
	for k, v := range d {
		switch k {
		case "line", "character", "end_line", "end_character":
		default:
			out[k] = v
		}
	}
	return out
}

// widen turns short diagnostics inside a result's items into the protocol's.
func widen(result json.RawMessage) any {
	var r map[string]any
	if json.Unmarshal(result, &r) != nil {
		return result
	}
	items, ok := r["items"].([]any)
	if !ok {
		return result
	}
	for i, item := range items {
		if d, ok := item.(map[string]any); ok {
			items[i] = diagnostic(d)
		}
	}
	return r
}

func (s *server) send(m any) {
	body, err := json.Marshal(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lsptest:", err)
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(s.out, "Content-Length: %d\r\n\r\n%s", len(body), body)
}
