package main

import (
	"bufio"
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
	in := bufio.NewScanner(s.in)
	in.Buffer(make([]byte, 64<<10), tools.MaxArguments+1<<20)
	for in.Scan() {
		if len(in.Bytes()) == 0 {
			continue
		}
		var q request
		if err := json.Unmarshal(in.Bytes(), &q); err != nil {
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
	if err := in.Err(); err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	return nil
}
