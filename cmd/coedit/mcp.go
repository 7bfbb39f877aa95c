package main

import (
	"context"
	"errors"
	"io"

	"coedit/internal/tools"
)

type mcpCmd struct {
	serveFlags
	Result string `help:"Form of results: text, or full for structured content and output schemas." enum:"text,full" default:"text"`
}

// Run serves one agent until its input ends. It answers initialize whatever is
// broken: trouble comes as the result of calls, where a model can read it.
func (c *mcpCmd) Run(ctx context.Context, s streams) error {
	o := tools.ServeOptions{Form: tools.ResultForm(c.Result), Version: version}
	e, err := openEngine(c.serveFlags, s, nil)
	set := (*tools.Set)(nil)
	if err != nil {
		var t *trouble
		if !errors.As(err, &t) {
			t = &trouble{"io", err.Error()}
		}
		o.Broken = &tools.Result{IsError: true, Code: t.code, Text: "[" + t.code + "] coedit can't serve: " + t.text}
		if set, err = tools.NewSet(nil, tools.Limits{}); err != nil {
			return err
		}
	} else {
		o.Session, o.Log, set = e.session(""), e.log, e.set
	}
	err = set.Serve(ctx, io.NopCloser(s.in), nopWriteCloser{s.out}, o)
	if e != nil {
		err = errors.Join(err, e.close())
	}
	return err
}

type nopWriteCloser struct{ io.Writer }

func (nopWriteCloser) Close() error { return nil }
