// Package wire is JSON-RPC as it must be done with language servers and
// editors: tolerant framing, a cloning codec, ordered handlers, deadlines on
// writes, positions and file URIs. No peer can block or end more than its own
// connection.
package wire

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// MaxFrame is the default limit of one message, in bytes.
const MaxFrame = 64 << 20

// What ends a connection besides the peer's own end of stream. They are
// sentinels for errors.Is on Conn.Err.
var (
	ErrFrame   = errors.New("wire: bad or oversized message frame")
	ErrStalled = errors.New("wire: the peer does not read")
	ErrClosed  = errors.New("wire: connection closed")
)

// Raw is encoded JSON.
type Raw = jsonrpc2.RawMessage

// A Handler serves what the peer sends.
type Handler struct {
	// Notify is called for each notification, one after the other, in the
	// order received: it must not wait for an answer of the same peer.
	Notify func(method string, params Raw)
	// Request is called for each request, concurrently. The error is sent as
	// it is when it is an *Error, else as an internal error.
	Request func(ctx context.Context, method string, params Raw) (any, error)
}

// An Error is a JSON-RPC error answer.
type Error = jsonrpc2.Error

// NewError makes an error answer; codes are those of JSON-RPC and LSP.
func NewError(code int32, message string) *Error {
	return jsonrpc2.NewError(jsonrpc2.Code(code), message)
}

// MethodNotFound is the answer to a request that is not served.
func MethodNotFound(method string) *Error {
	return NewError(int32(jsonrpc2.MethodNotFound), "method not found: "+method)
}

// Options tune a connection. The zero value is ready.
type Options struct {
	MaxFrame     int           // bytes of one incoming message; 0: MaxFrame
	WriteTimeout time.Duration // a write that takes longer ends the connection; 0: 10 s
	Log          *slog.Logger  // nil: discard
}

// A Conn is a connection to one peer. Its methods may be called concurrently.
type Conn struct {
	conn   jsonrpc2.Conn
	stream *stream
	log    *slog.Logger
	stop   context.CancelFunc

	mu      sync.Mutex
	serving map[string]context.CancelFunc // requests of the peer being handled
	handled sync.WaitGroup
}

// Connect serves h over rwc until the peer ends, a limit is passed, or Close.
// Whoever calls Connect calls Close, which closes rwc.
func Connect(rwc io.ReadWriteCloser, h Handler, o Options) *Conn {
	if o.MaxFrame <= 0 {
		o.MaxFrame = MaxFrame
	}
	if o.WriteTimeout <= 0 {
		o.WriteTimeout = 10 * time.Second
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	ctx, stop := context.WithCancel(context.Background())
	c := &Conn{log: o.Log, stop: stop, serving: map[string]context.CancelFunc{}}
	c.stream = newStream(rwc, o)
	c.conn = jsonrpc2.NewConn(c.stream, jsonrpc2.WithCodec(codec{}))
	c.conn.Go(ctx, c.handler(ctx, h))
	return c
}

// Done is closed when the connection has ended.
func (c *Conn) Done() <-chan struct{} { return c.conn.Done() }

// Err tells why the connection ended: ErrFrame, ErrStalled, an I/O error, or
// nil for a clean end.
func (c *Conn) Err() error {
	if err := c.stream.failure(); err != nil {
		return err
	}
	return c.conn.Err()
}

// Close ends the connection: calls in flight fail with ErrClosed, handlers
// are cancelled and waited for. It closes the underlying stream first, since
// the peer may be stuck in the middle of anything.
func (c *Conn) Close() {
	c.stop()
	c.stream.Close()
	c.conn.Close()
	c.stream.wait()
	c.handled.Wait()
}

// Notify queues a notification. It never waits for the peer.
func (c *Conn) Notify(method string, params any) error {
	if err := c.conn.Notify(context.Background(), method, params); err != nil {
		return c.wrap(method, err)
	}
	return nil
}

// Call sends a request and decodes the answer into result (a pointer, *Raw for
// the bytes, or nil) in the caller's goroutine. When ctx ends first, the peer
// is told with $/cancelRequest and the error is ctx's.
func (c *Conn) Call(ctx context.Context, method string, params, result any) error {
	var raw Raw
	id, err := c.conn.Call(ctx, method, params, &raw)
	if err != nil {
		if ctx.Err() != nil {
			if id.IsValid() {
				c.conn.Notify(context.Background(), "$/cancelRequest", Raw(`{"id":`+idKey(id)+`}`))
			}
			return ctx.Err()
		}
		return c.wrap(method, err)
	}
	if result == nil {
		return nil
	}
	if err := Unmarshal(raw, result); err != nil {
		return fmt.Errorf("%s: %w", method, err)
	}
	return nil
}

func (c *Conn) wrap(method string, err error) error {
	var answer *Error
	if errors.As(err, &answer) {
		return fmt.Errorf("%s: %w", method, answer)
	}
	if cause := c.stream.failure(); cause != nil {
		return fmt.Errorf("%s: %w", method, cause)
	}
	return fmt.Errorf("%s: %w (%w)", method, ErrClosed, err)
}

// handler keeps notifications in order and inline, runs requests on their own
// goroutines, and lets neither an error nor a panic of ours end the
// connection, as jsonrpc2 would.
func (c *Conn) handler(conn context.Context, h Handler) jsonrpc2.Handler {
	return func(ctx context.Context, req *jsonrpc2.Request) (any, error) {
		if !req.IsCall() {
			if req.Method() == "$/cancelRequest" {
				c.cancelled(req.Params())
				return nil, nil
			}
			if h.Notify != nil {
				defer c.caught(req.Method(), nil)
				h.Notify(strings.Clone(req.Method()), slices.Clone(req.Params()))
			}
			return nil, nil
		}
		key := idKey(req.ID())
		own, cancel := context.WithCancel(conn)
		c.mu.Lock()
		c.serving[key] = cancel
		c.mu.Unlock()
		c.handled.Add(1)
		defer func() {
			c.mu.Lock()
			delete(c.serving, key)
			c.mu.Unlock()
			cancel()
			c.handled.Done()
		}()
		jsonrpc2.Async(ctx)
		return c.serve(own, h, req.Method(), req.Params())
	}
}

func (c *Conn) serve(ctx context.Context, h Handler, method string, params Raw) (result any, err error) {
	if h.Request == nil {
		return nil, MethodNotFound(method)
	}
	defer c.caught(method, &err)
	return h.Request(ctx, method, params)
}

func (c *Conn) caught(method string, err *error) {
	if p := recover(); p != nil {
		c.log.Error("handler panicked", "method", method, "panic", p, "stack", string(debug.Stack()))
		if err != nil {
			*err = NewError(int32(jsonrpc2.InternalError), "internal error")
		}
	}
}

func (c *Conn) cancelled(params Raw) {
	var p struct{ ID json.RawMessage }
	if json.Unmarshal(params, &p) != nil {
		return
	}
	c.mu.Lock()
	cancel := c.serving[string(p.ID)]
	c.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// idKey is the JSON form of an id.
func idKey(id jsonrpc2.ID) string {
	if n, ok := id.Number(); ok {
		return strconv.FormatInt(n, 10)
	}
	text, _ := id.StringValue()
	b, err := json.Marshal(text)
	if err != nil {
		return "null"
	}
	return string(b)
}
