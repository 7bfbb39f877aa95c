package daemon

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"syscall"
	"time"
)

const (
	// startWait bounds how long a daemon may take until it can be attached to.
	startWait = 10 * time.Second
	retryWait = 5 * time.Millisecond
)

// Attach connects to the daemon of place, and has start start one where there
// is none, or only one of another version. start returns once the process is
// on its way; it runs in one process at a time. The connection carries the
// role's own bytes from then on.
func Attach(ctx context.Context, place Place, h Hello, start func() error) (net.Conn, error) {
	if err := CheckDir(place.Dir); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startWait)
	defer cancel()
	for {
		c, err := attach(ctx, place, h)
		if err == nil || !errors.Is(err, errNone) {
			return c, err
		}
		if err := startOne(ctx, place, h, start); err != nil {
			return nil, err
		}
	}
}

// errNone says that no daemon answers for a place.
var errNone = errors.New("no daemon")

func attach(ctx context.Context, place Place, h Hello) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", place.Socket())
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return nil, errNone
	case err != nil:
		return nil, err
	}
	c := conn.(*net.UnixConn)
	if err := checkPeer(c); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	a, err := greet(c, h)
	switch {
	case err == nil && a.OK:
		return c, nil
	case err == nil && !a.Draining:
		err = &RefusedError{a.Error}
	case err == nil, errors.Is(err, io.EOF), errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE):
		err = errNone // it is ending
	}
	return nil, errors.Join(err, c.Close())
}

// startOne starts a daemon, unless another process has while this one waited
// for its turn, and waits until one listens.
func startOne(ctx context.Context, place Place, h Hello, start func() error) error {
	var k lock
	for {
		var err error
		if k, err = tryLock(place.start()); err == nil {
			break
		} else if !errors.Is(err, ErrRunning) {
			return err
		}
		if err := pause(ctx); err != nil {
			return err
		}
	}
	defer k.unlock()
	if listening(place) {
		return nil
	}
	if err := start(); err != nil {
		return fmt.Errorf("the daemon can't be started: %w", err)
	}
	for !listening(place) {
		if err := pause(ctx); err != nil {
			return fmt.Errorf("the daemon did not come up; its log is %s: %w", place.Log(), err)
		}
	}
	return nil
}

// listening reports whether somebody accepts connections at the place.
func listening(place Place) bool {
	c, err := net.Dial("unix", place.Socket())
	if err != nil {
		return false
	}
	_ = c.Close()
	return true
}

func pause(ctx context.Context) error {
	select {
	case <-time.After(retryWait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Pipe copies bytes both ways between a connection and a process's standard
// streams until the daemon's side ends, which ends the input with it, or the
// input ends and the daemon has answered what it will. It returns the error of
// the daemon's side, nil when that ended in order.
func Pipe(ctx context.Context, c net.Conn, in io.Reader, out io.Writer) error {
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	go func() { // ends with its input, or with the process where that can't be interrupted
		_, _ = io.Copy(c, in)
		if u, ok := c.(*net.UnixConn); ok {
			_ = u.CloseWrite()
		}
	}()
	_, err := io.Copy(out, c)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

// MakeDir makes the runtime folder where it is missing, for the user alone.
func MakeDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return CheckDir(dir)
}
