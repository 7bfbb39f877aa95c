package wire

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"sync"
	"time"

	"go.lsp.dev/jsonrpc2"
)

// maxQueued is how many bytes may wait for a peer that reads slowly.
const maxQueued = 256 << 20

// stream is the transport below jsonrpc2: a tolerant reader, and a write
// queue, so that no caller ever blocks in a write, with a deadline on each
// write, so that a peer that stops reading is found out.
type stream struct {
	rwc     io.ReadWriteCloser
	in      *bufio.Reader
	limit   int
	timeout time.Duration
	log     *slog.Logger

	mu     sync.Mutex
	queue  [][]byte
	queued int
	closed bool
	err    error // why it was closed, nil for Close
	wake   chan struct{}
	ended  chan struct{} // closed when the writer has returned
}

func newStream(rwc io.ReadWriteCloser, o Options) *stream {
	s := &stream{
		rwc: rwc, in: bufio.NewReaderSize(rwc, 64<<10), limit: o.MaxFrame, timeout: o.WriteTimeout, log: o.Log,
		wake: make(chan struct{}, 1), ended: make(chan struct{}),
	}
	go s.writeAll()
	return s
}

// Read returns the next message that can be understood. What can't is logged
// and skipped: one bad message is no reason to lose a peer.
func (s *stream) Read(ctx context.Context) (jsonrpc2.Message, int64, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		body, err := readFrame(s.in, s.limit)
		if err != nil {
			if errors.Is(err, ErrFrame) {
				s.fail(err)
			}
			return nil, 0, err
		}
		if tooDeep(body) {
			s.log.Warn("message dropped: JSON nested too deep", "bytes", len(body))
			continue
		}
		msg, err := jsonrpc2.DecodeMessage(body)
		if err != nil {
			if msg, err = decodeLoosely(body); err != nil {
				s.log.Warn("message dropped", "bytes", len(body), "err", err)
				continue
			}
		}
		return msg, int64(len(body)), nil
	}
}

// decodeLoosely understands envelopes that break the specification in ways
// that real servers do: no "jsonrpc", a null error beside a result, a null
// result beside an error, duplicate or unknown members.
func decodeLoosely(body []byte) (jsonrpc2.Message, error) {
	var e struct {
		ID, Params, Result, Error json.RawMessage
		Method                    *string
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return nil, err
	}
	id, hasID := looseID(e.ID)
	switch {
	case e.Method != nil && hasID:
		return jsonrpc2.NewCall(id, *e.Method, notNull(e.Params)), nil
	case e.Method != nil:
		return jsonrpc2.NewNotification(*e.Method, notNull(e.Params)), nil
	case !hasID:
		return nil, errors.New("neither method nor id")
	case notNull(e.Error) != nil:
		var answer struct {
			Code    json.Number
			Message string
			Data    json.RawMessage
		}
		if err := json.Unmarshal(e.Error, &answer); err != nil {
			answer.Message = string(e.Error)
		}
		code, _ := answer.Code.Int64()
		return jsonrpc2.NewResponse(id, nil, NewError(int32(code), answer.Message)), nil
	}
	if e.Result == nil {
		e.Result = json.RawMessage("null")
	}
	return jsonrpc2.NewResponse(id, Raw(e.Result), nil), nil
}

func looseID(raw json.RawMessage) (jsonrpc2.ID, bool) {
	raw = notNull(raw)
	if raw == nil {
		return jsonrpc2.ID{}, false
	}
	if n, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
		return jsonrpc2.NewNumberID(n), true
	}
	if f, err := strconv.ParseFloat(string(raw), 64); err == nil && f == float64(int64(f)) {
		return jsonrpc2.NewNumberID(int64(f)), true
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return jsonrpc2.ID{}, false
	}
	return jsonrpc2.NewStringID(text), true
}

func notNull[T ~[]byte](raw T) []byte {
	if raw = T(bytes.TrimSpace(raw)); len(raw) == 0 || string(raw) == "null" {
		return nil
	}
	return raw
}

// Write queues msg. It fails only when the stream has ended.
func (s *stream) Write(_ context.Context, msg jsonrpc2.Message) (int64, error) {
	body, err := jsonrpc2.EncodeMessage(msg)
	if err != nil {
		return 0, err
	}
	frame := make([]byte, 0, len(body)+32)
	frame = append(frame, "Content-Length: "...)
	frame = strconv.AppendInt(frame, int64(len(body)), 10)
	frame = append(frame, "\r\n\r\n"...)
	frame = append(frame, body...)
	s.mu.Lock()
	if s.closed {
		err = s.err
		s.mu.Unlock()
		if err == nil {
			err = ErrClosed
		}
		return 0, err
	}
	s.queue = append(s.queue, frame)
	s.queued += len(frame)
	full := s.queued > maxQueued
	s.mu.Unlock()
	if full {
		err := fmt.Errorf("%w: %d bytes are waiting", ErrStalled, maxQueued)
		s.fail(err)
		return 0, err
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return int64(len(frame)), nil
}

// writeAll is the only writer. A blocked write is ended by closing rwc; where
// the system can't do that, the owner ends the peer's process.
func (s *stream) writeAll() {
	defer close(s.ended)
	for {
		frames, open := s.next()
		if !open {
			return
		}
		for _, f := range frames {
			stalled := time.AfterFunc(s.timeout, func() {
				s.fail(fmt.Errorf("%w: a write took over %v", ErrStalled, s.timeout))
			})
			_, err := s.rwc.Write(f)
			stalled.Stop()
			if err != nil {
				s.fail(err)
				return
			}
			s.mu.Lock()
			s.queued -= len(f)
			s.mu.Unlock()
		}
	}
}

func (s *stream) next() ([][]byte, bool) {
	for {
		s.mu.Lock()
		frames, closed := s.queue, s.closed
		s.queue = nil
		s.mu.Unlock()
		if closed {
			return nil, false
		}
		if len(frames) > 0 {
			return frames, true
		}
		<-s.wake
	}
}

// fail ends the stream and remembers why; the first reason holds.
func (s *stream) fail(err error) {
	s.mu.Lock()
	first := !s.closed
	if first {
		s.closed, s.err, s.queue = true, err, nil
	}
	s.mu.Unlock()
	if !first {
		return
	}
	select {
	case s.wake <- struct{}{}:
	default:
	}
	s.rwc.Close()
}

// Close ends the stream.
func (s *stream) Close() error {
	s.fail(nil)
	return nil
}

func (s *stream) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

func (s *stream) wait() { <-s.ended }
