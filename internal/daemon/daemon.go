// Package daemon is one process a workspace: sockets, attaching, lifetime. It
// serves connections with functions it is handed.
package daemon

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"time"
)

// maxFrame bounds a greeting and its answer, in bytes. An environment is the
// largest thing in one.
const maxFrame = 4 << 20

// greetWait bounds how long either side waits for the other's greeting.
const greetWait = 5 * time.Second

// A Hello is what a process says first when it attaches.
type Hello struct {
	Version string          `json:"version"` // of the program; a daemon of another one ends when it is no longer used
	Role    string          `json:"role"`    // what the connection is for
	Dir     string          `json:"dir"`     // working directory, absolute
	Env     []string        `json:"env,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"` // what the role needs besides
}

// answer is what the daemon says to a Hello.
type answer struct {
	OK       bool   `json:"ok"`
	Draining bool   `json:"draining,omitempty"` // another daemon is to be started
	Error    string `json:"error,omitempty"`
}

// A RefusedError is the daemon's refusal of a Hello.
type RefusedError struct{ Reason string }

func (e *RefusedError) Error() string { return "the daemon refused: " + e.Reason }

// ErrRunning says that another daemon serves the workspace already.
var ErrRunning = errors.New("another daemon is running")

// Place is where the daemon of one workspace is found.
type Place struct {
	Dir string // the runtime folder: the user's own, mode 0700
	Key string // what the daemon is for: the top folder, and the program's protocol
}

// base is the common part of the file names. It is short because the path of
// a socket has about 100 bytes (unix(7)).
func (p Place) base() string {
	sum := sha256.Sum256([]byte(p.Key))
	return filepath.Join(p.Dir, hex.EncodeToString(sum[:8]))
}

// Socket returns the socket's name.
func (p Place) Socket() string { return p.base() + ".sock" }

// Log returns the name of the daemon's log file.
func (p Place) Log() string { return p.base() + ".log" }

func (p Place) lock() string  { return p.base() + ".lock" }
func (p Place) start() string { return p.base() + ".start" }

// writeFrame writes v as JSON after its length in 4 bytes.
func writeFrame(w io.Writer, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(b) > maxFrame {
		return fmt.Errorf("a greeting of %d bytes is too long", len(b))
	}
	_, err = w.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(b))), b...))
	return err
}

// readFrame reads no byte past the frame: what follows belongs to the role.
func readFrame(r io.Reader, v any) error {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return err
	}
	n := binary.BigEndian.Uint32(head[:])
	if n > maxFrame {
		return fmt.Errorf("a greeting of %d bytes is too long", n)
	}
	b := make([]byte, n)
	if _, err := io.ReadFull(r, b); err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

// greet sends h and reads the answer.
func greet(c net.Conn, h Hello) (answer, error) {
	var a answer
	err := errors.Join(c.SetDeadline(time.Now().Add(greetWait)), writeFrame(c, h))
	if err == nil {
		err = readFrame(c, &a)
	}
	return a, errors.Join(err, c.SetDeadline(time.Time{}))
}
