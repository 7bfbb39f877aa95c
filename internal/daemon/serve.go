package daemon

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"os"
	"sync"
	"time"
)

// Options say how a daemon serves.
type Options struct {
	Place   Place
	Version string
	Idle    time.Duration // how long it stays when nobody is attached; 0: for ever
	Log     *slog.Logger  // nil: discard
	// Handle serves one connection after its greeting, and returns when that
	// is over. The connection is closed afterwards. It must end when ctx does.
	Handle func(ctx context.Context, h Hello, c net.Conn)
}

// A Server is a daemon that listens.
type Server struct {
	o    Options
	l    net.Listener
	lock lock

	mu       sync.Mutex
	attached int
	draining bool
	idle     *time.Timer
	released bool
}

// Listen makes this process the daemon of o.Place, or returns ErrRunning. A
// socket that a daemon left behind when it died is replaced. Whoever calls
// Listen calls Serve.
func Listen(o Options) (*Server, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if err := CheckDir(o.Place.Dir); err != nil {
		return nil, err
	}
	k, err := tryLock(o.Place.lock())
	if err != nil {
		return nil, err
	}
	name := o.Place.Socket()
	if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(err, k.unlock())
	}
	l, err := net.Listen("unix", name)
	if err == nil {
		// The folder is closed to others already.
		err = os.Chmod(name, 0o600)
	}
	if err != nil {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
		return nil, errors.Join(err, k.unlock())
	}
	l.(*net.UnixListener).SetUnlinkOnClose(false) // it is removed while the lock is held
	return &Server{o: o, l: l, lock: k}, nil
}

// Serve attaches whoever connects until ctx ends, nobody has been attached for
// o.Idle, or a process of another version came and the last one attached is
// gone. Connections of other users are closed unanswered.
func (s *Server) Serve(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, s.release)
	defer stop()
	s.mu.Lock()
	s.rest()
	s.mu.Unlock()
	var serving sync.WaitGroup
	var failed error
	for {
		c, err := s.l.Accept()
		if err != nil {
			s.mu.Lock()
			ended := s.released
			s.mu.Unlock()
			if !ended {
				failed = err
				s.release()
			}
			break
		}
		serving.Go(func() { s.serve(ctx, c) })
	}
	serving.Wait()
	return failed
}

// rest starts the time after which an unused daemon ends. mu is held.
func (s *Server) rest() {
	if s.attached > 0 || s.o.Idle == 0 {
		return
	}
	s.idle = time.AfterFunc(s.o.Idle, func() {
		s.mu.Lock()
		unused := s.attached == 0
		s.mu.Unlock()
		if unused {
			s.release()
		}
	})
}

// release ends the listening: whoever comes now starts another daemon.
func (s *Server) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return
	}
	s.released = true
	// In this order, so that the next daemon's socket is never removed.
	err := os.Remove(s.o.Place.Socket())
	if err = errors.Join(err, s.l.Close(), s.lock.unlock()); err != nil {
		s.o.Log.Warn("ending", "err", err)
	}
}

func (s *Server) serve(ctx context.Context, c net.Conn) {
	defer c.Close()
	stop := context.AfterFunc(ctx, func() { c.Close() })
	defer stop()
	if err := checkPeer(c.(*net.UnixConn)); err != nil {
		s.o.Log.Warn("a connection was not served", "err", err)
		return
	}
	var h Hello
	if err := errors.Join(c.SetDeadline(time.Now().Add(greetWait)), readFrame(c, &h)); err != nil {
		s.o.Log.Warn("no greeting", "err", err)
		return
	}
	a := s.attach(h)
	if err := errors.Join(writeFrame(c, a), c.SetDeadline(time.Time{})); err != nil || !a.OK {
		if a.OK {
			s.detach()
		}
		return
	}
	defer s.detach()
	defer func() {
		if r := recover(); r != nil { // one connection must not take the others with it
			s.o.Log.Error("panic", "role", h.Role, "value", fmt.Sprint(r))
		}
	}()
	s.o.Handle(ctx, h, c)
}

// attach counts a connection in, or says that this daemon takes no more.
func (s *Server) attach(h Hello) answer {
	if h.Version != s.o.Version {
		s.mu.Lock()
		s.draining = true
		s.mu.Unlock()
		s.release()
		return answer{Draining: true}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.released {
		return answer{Draining: true}
	}
	s.attached++
	if s.idle != nil {
		s.idle.Stop()
	}
	return answer{OK: true}
}

func (s *Server) detach() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.attached--
	s.rest()
}
