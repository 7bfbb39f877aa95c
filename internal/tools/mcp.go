package tools

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"syscall"
	"time"

	"coedit/internal/session"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A ResultForm says which form of an answer hosts get.
type ResultForm string

// The forms: only text, or text beside the structured form with its schemas.
const (
	TextResults ResultForm = "text"
	FullResults ResultForm = "full"
)

// ServeOptions describe one connection.
type ServeOptions struct {
	Session *session.Session
	Form    ResultForm
	Version string
	Log     *slog.Logger
	// Broken answers every call instead of a session that could not be made.
	Broken *Result
	// Progress is how often a call that waits for a report says so; zero is 2 s.
	Progress time.Duration
}

// Serve speaks the Model Context Protocol over in and out until in ends or ctx
// is done. Notices of a call's progress and its cancellation are the
// protocol's own.
func (set *Set) Serve(ctx context.Context, in io.ReadCloser, out io.WriteCloser, o ServeOptions) error {
	server := mcp.NewServer(&mcp.Implementation{Name: "coedit", Title: "coedit", Version: o.Version}, &mcp.ServerOptions{
		Logger:       o.Log,
		Capabilities: &mcp.ServerCapabilities{},
		Instructions: "Read a file before you edit it. Edits answer with what they broke or fixed in the project; trust that over running a build. When an edit is refused as stale, look at the change shown and send it again.",
	})
	for _, t := range set.listed {
		server.AddTool(t.mcp(o.Form), set.handler(t, o))
	}
	err := server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out, MaxLineLength: MaxArguments + 1<<20})
	for _, gone := range []error{io.EOF, io.ErrClosedPipe, syscall.EPIPE, context.Canceled} {
		if errors.Is(err, gone) { // the host left: how calls end
			return nil
		}
	}
	return err
}

// mcp is the tool as tools/list shows it.
func (t *tool) mcp(form ResultForm) *mcp.Tool {
	no := false
	destructive := t.destructive
	m := &mcp.Tool{Name: t.name, Description: t.description, InputSchema: t.input, Annotations: &mcp.ToolAnnotations{
		ReadOnlyHint: t.readOnly, DestructiveHint: &destructive, IdempotentHint: t.idempotent, OpenWorldHint: &no}}
	if form == FullResults {
		m.OutputSchema = t.output
	}
	return m
}

func (set *Set) handler(t *tool, o ServeOptions) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if o.Broken != nil {
			return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: o.Broken.Text}}, IsError: true, Meta: mcp.Meta{"code": o.Broken.Code}}, nil
		}
		stop := progress(ctx, req, t, o.Progress)
		r := set.Call(ctx, o.Session, t.name, req.Params.Arguments)
		stop()
		res := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Text}}, IsError: r.IsError}
		if r.IsError {
			res.Meta = mcp.Meta{"code": r.Code}
		} else if o.Form == FullResults {
			res.StructuredContent = r.Structured
			if r.Meta != nil {
				res.Meta = mcp.Meta(r.Meta)
			}
		}
		return res, nil
	}
}

// progress tells the host, while a call lasts, that it still does. The
// function it returns ends that and waits for it.
func progress(ctx context.Context, req *mcp.CallToolRequest, t *tool, every time.Duration) (stop func()) {
	token := req.Params.GetProgressToken()
	if token == nil {
		return func() {}
	}
	if every == 0 {
		every = 2 * time.Second
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(every)
		defer tick.Stop()
		for n := 1.0; ; n++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: n, Message: t.name + " is waiting for the language server"})
			}
		}
	}()
	return func() { cancel(); <-done }
}

// Tool describes one tool for documentation and lists.
type Tool struct {
	Name, Description string
	Input, Output     any // JSON schemas
	ReadOnly          bool
}

// Tools returns the tools of the set in their order.
func (set *Set) Tools() []Tool {
	out := make([]Tool, len(set.listed))
	for i, t := range set.listed {
		out[i] = Tool{t.name, t.description, t.input, t.output, t.readOnly}
	}
	return out
}
