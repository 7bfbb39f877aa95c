package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"coedit/internal/tools"
)

// errToolFailed ends a single call with status 1; its text is printed already.
var errToolFailed = errors.New("the tool failed")

type callCmd struct {
	serveFlags
	Result    string `help:"Form of a single result: text, or full for JSON." enum:"text,full" default:"text"`
	Tool      string `arg:"" optional:"" help:"The tool to call."`
	Arguments string `arg:"" optional:"" help:"Its arguments, as JSON."`
}

// A request is one line of standard input.
type request struct {
	ID         json.RawMessage `json:"id"`
	Session    string          `json:"session"`
	Tool       string          `json:"tool"`
	Arguments  json.RawMessage `json:"arguments"`
	Concurrent bool            `json:"concurrent"`
}

// A response is one line of standard output.
type response struct {
	ID         json.RawMessage `json:"id"`
	Session    string          `json:"session"`
	IsError    bool            `json:"isError"`
	Text       string          `json:"text"`
	Structured map[string]any  `json:"structured"`
}

// Run calls one tool, or those of standard input.
func (c *callCmd) Run(ctx context.Context, s streams) (err error) {
	if c.Tool != "" {
		c.Watch = "off" // one call looks for itself
	}
	e, err := openEngine(c.serveFlags, s, func(line string) { fmt.Fprintln(s.err, "coedit:", line) })
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	if c.Tool == "" {
		return e.serveLines(ctx, s)
	}
	args := c.Arguments
	if args == "" {
		args = "{}"
	}
	r := e.set.Call(ctx, e.session(""), c.Tool, json.RawMessage(args))
	if c.Result == "full" {
		if err := json.NewEncoder(s.out).Encode(response{Session: e.session("").Name(), IsError: r.IsError, Text: r.Text, Structured: r.Structured}); err != nil {
			return err
		}
	} else {
		fmt.Fprintln(s.out, r.Text)
	}
	if r.IsError {
		return errToolFailed
	}
	return nil
}

// serveLines answers one JSON object a line. Calls of one session run in
// order, those marked concurrent at once.
func (e *engine) serveLines(ctx context.Context, s streams) error {
	var (
		out   sync.Mutex
		wg    sync.WaitGroup
		tails = map[string]chan struct{}{} // by session: closed when its last call in order is done
	)
	enc := json.NewEncoder(s.out)
	enc.SetEscapeHTML(false)
	answer := func(r response) {
		out.Lock()
		defer out.Unlock()
		if err := enc.Encode(r); err != nil {
			e.log.Error("answer", "err", err)
		}
	}
	lines := make(chan line)
	go readLines(ctx, s.in, lines) // ends with its input, or with the process where that can't be interrupted
	var failed error
	for {
		var l line
		select {
		case l = <-lines:
		case <-ctx.Done():
			l.err = io.EOF
		}
		if failed = l.err; failed != nil {
			break
		}
		if l.long {
			answer(response{ID: idOf(l.text), IsError: true, Text: fmt.Sprintf("[too_large] the line is longer than %d bytes; it was skipped", maxLine)})
			continue
		}
		if len(l.text) == 0 {
			continue
		}
		var q request
		if err := json.Unmarshal(l.text, &q); err != nil {
			answer(response{IsError: true, Text: "[invalid_arguments] the line is not a call: " + err.Error()})
			continue
		}
		sess := e.session(q.Session)
		before, done := tails[sess.Name()], make(chan struct{})
		if !q.Concurrent {
			tails[sess.Name()] = done
		}
		wg.Go(func() {
			defer close(done)
			if before != nil && !q.Concurrent {
				<-before
			}
			r := e.set.Call(ctx, sess, q.Tool, q.Arguments)
			answer(response{ID: q.ID, Session: q.Session, IsError: r.IsError, Text: r.Text, Structured: r.Structured})
		})
	}
	wg.Wait()
	if !errors.Is(failed, io.EOF) {
		return failed
	}
	return nil
}

// idOf returns the id of a call of which only the beginning was kept, nil when
// that does not hold it.
func idOf(text []byte) json.RawMessage {
	d := json.NewDecoder(bytes.NewReader(text))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil
		}
		var v json.RawMessage
		if d.Decode(&v) != nil {
			return nil
		}
		if key == "id" {
			return v
		}
	}
	return nil
}

// maxLine bounds one call in bytes.
const maxLine = tools.MaxArguments + 1<<20

// A line is one of standard input, or why there is none.
type line struct {
	text []byte
	long bool // it was longer than maxLine
	err  error
}

func readLines(ctx context.Context, in io.Reader, out chan<- line) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		var l line
		for {
			part, err := r.ReadSlice('\n')
			if l.long = l.long || len(l.text)+len(part) > maxLine; !l.long {
				l.text = append(l.text, part...)
			}
			if err == nil || errors.Is(err, io.EOF) && len(l.text) > 0 {
				break
			}
			if !errors.Is(err, bufio.ErrBufferFull) {
				l.err = err
				break
			}
		}
		l.text = bytes.TrimSpace(l.text)
		select {
		case out <- l:
		case <-ctx.Done():
			return
		}
		if l.err != nil {
			return
		}
	}
}
