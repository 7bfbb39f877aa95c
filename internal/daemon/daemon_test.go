//go:build unix

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// TestMain is a daemon of its own when the binary is started as one: it echoes
// what it is sent after a line that names it.
func TestMain(m *testing.M) {
	if len(os.Args) == 5 && os.Args[1] == "daemon" {
		s, err := Listen(Options{Place: Place{Dir: os.Args[2], Key: os.Args[3]}, Version: os.Args[4], Idle: 10 * time.Second, Handle: echo})
		if errors.Is(err, ErrRunning) {
			os.Exit(0)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		if err := s.Serve(context.Background()); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	if len(os.Args) == 3 && os.Args[1] == "dial" { // says what a daemon answers
		c, err := net.Dial("unix", os.Args[2])
		if err == nil {
			_, err = greet(c, Hello{Version: "1", Role: "r"})
		}
		fmt.Println("answer:", err)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

func echo(_ context.Context, h Hello, c net.Conn) {
	fmt.Fprintf(c, "%d %s\n", os.Getpid(), h.Role)
	_, _ = io.Copy(c, c)
}

// runtimeDir is short: the path of a socket has about 100 bytes.
func runtimeDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "d")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// serve runs a daemon in this process until the test ends or stop is called.
func serve(t testing.TB, o Options) (stop func() error) {
	t.Helper()
	if o.Handle == nil {
		o.Handle = echo
	}
	s, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Serve(ctx) }()
	stop = sync.OnceValue(func() error {
		cancel()
		return <-done
	})
	t.Cleanup(func() {
		if err := stop(); err != nil {
			t.Error(err)
		}
	})
	return stop
}

func never(t testing.TB) func() error {
	return func() error {
		t.Error("a daemon was started though one is there")
		return errors.New("never")
	}
}

// line reads what a daemon says first.
func line(t testing.TB, c net.Conn) (pid, role string) {
	t.Helper()
	var b [1]byte
	var s []byte
	for {
		if _, err := io.ReadFull(c, b[:]); err != nil {
			t.Fatalf("%v after %q", err, s)
		}
		if b[0] == '\n' {
			break
		}
		s = append(s, b[0])
	}
	pid, role, _ = strings.Cut(string(s), " ")
	return pid, role
}

func TestAttach(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "/work"}
	hello := make(chan Hello, 1)
	serve(t, Options{Place: place, Version: "1", Handle: func(ctx context.Context, h Hello, c net.Conn) {
		hello <- h
		echo(ctx, h, c)
	}})
	h := Hello{Version: "1", Role: "mcp", Dir: "/work/x", Env: []string{"A=b", "C=\xff"}, Params: json.RawMessage(`{"k":1}`)}
	c, err := Attach(t.Context(), place, h, never(t))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, role := line(t, c); role != "mcp" {
		t.Errorf("role %q", role)
	}
	if got := <-hello; got.Dir != h.Dir || len(got.Env) != 2 || got.Env[0] != "A=b" || string(got.Params) != `{"k":1}` {
		t.Errorf("%+v", got)
	}
	var out bytes.Buffer
	if err := Pipe(t.Context(), c, strings.NewReader("one\ntwo\n"), &out); err != nil || out.String() != "one\ntwo\n" {
		t.Errorf("%q, %v", out.String(), err)
	}
	info, err := os.Lstat(place.Socket())
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info.Mode(), err)
	}
	if other := (Place{Dir: place.Dir, Key: "/work2"}); other.Socket() == place.Socket() || len(filepath.Base(place.Socket())) > 24 {
		t.Errorf("%s, %s", place.Socket(), other.Socket())
	}
}

func TestListenTwice(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	stop := serve(t, Options{Place: place})
	if _, err := Listen(Options{Place: place}); !errors.Is(err, ErrRunning) {
		t.Errorf("%v", err)
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(place.Socket()); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the socket is left: %v", err)
	}
	serve(t, Options{Place: place})
}

// process starts a daemon as a process of its own.
func process(t testing.TB, place Place, version string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(exe, "daemon", place.Dir, place.Key, version)
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

// Twenty processes that want a daemon at once get one and the same.
func TestStartOnce(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	var started atomic.Int32
	pids := make(chan string, 20)
	var wg sync.WaitGroup
	for range cap(pids) {
		wg.Go(func() {
			c, err := Attach(t.Context(), place, Hello{Version: "1", Role: "r"}, func() error {
				started.Add(1)
				process(t, place, "1")
				return nil
			})
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			pid, _ := line(t, c)
			pids <- pid
		})
	}
	wg.Wait()
	close(pids)
	first := ""
	for pid := range pids {
		if first == "" {
			first = pid
		}
		if pid != first {
			t.Errorf("attached to %s and %s", first, pid)
		}
	}
	if started.Load() != 1 {
		t.Errorf("%d daemons were started", started.Load())
	}
}

// A daemon that was killed leaves its socket; the next one takes its place.
func TestKilled(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	var cmd *exec.Cmd
	start := func() error {
		cmd = process(t, place, "1")
		return nil
	}
	h := Hello{Version: "1", Role: "r"}
	c, err := Attach(t.Context(), place, h, start)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	first, _ := line(t, c)
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if b, err := io.ReadAll(c); len(b) > 0 || err != nil && !errors.Is(err, syscall.ECONNRESET) {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Lstat(place.Socket()); err != nil {
		t.Fatalf("this test needs the socket to be left: %v", err)
	}
	began := time.Now()
	c2, err := Attach(t.Context(), place, h, start)
	if err != nil {
		t.Fatal(err)
	}
	defer c2.Close()
	if second, _ := line(t, c2); second == first {
		t.Errorf("attached to %s again", second)
	}
	if d := time.Since(began); d > 5*2*time.Second {
		t.Errorf("it took %v", d)
	}
}

// After an upgrade the old daemon serves those it has, and takes no more.
func TestUpgrade(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	serve(t, Options{Place: place, Version: "1"})
	old, err := Attach(t.Context(), place, Hello{Version: "1", Role: "old"}, never(t))
	if err != nil {
		t.Fatal(err)
	}
	defer old.Close()
	line(t, old)
	fresh, err := Attach(t.Context(), place, Hello{Version: "2", Role: "new"}, func() error {
		process(t, place, "2")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if pid, role := line(t, fresh); role != "new" || pid == fmt.Sprint(os.Getpid()) {
		t.Errorf("%s %s", pid, role)
	}
	var out bytes.Buffer
	if err := Pipe(t.Context(), old, strings.NewReader("still here"), &out); err != nil || out.String() != "still here" {
		t.Errorf("%q, %v", out.String(), err)
	}
}

// An unused daemon ends after its time, not while somebody is attached.
func TestIdle(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	s, err := Listen(Options{Place: place, Version: "1", Idle: 50 * time.Millisecond, Handle: echo})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(context.Background()) }()
	c, err := Attach(t.Context(), place, Hello{Version: "1", Role: "r"}, never(t))
	if err != nil {
		t.Fatal(err)
	}
	line(t, c)
	select {
	case err := <-done:
		t.Fatalf("it ended while somebody was attached: %v", err)
	case <-time.After(200 * time.Millisecond):
	}
	c.Close()
	select {
	case err := <-done:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(10 * time.Second):
		t.Error("it never ended")
	}
}

// What is no greeting costs the daemon nothing.
func TestGarbage(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	serve(t, Options{Place: place, Version: "1", Handle: func(ctx context.Context, h Hello, c net.Conn) {
		if h.Role == "panic" {
			panic("a handler's mistake")
		}
		echo(ctx, h, c)
	}})
	for _, garbage := range []string{"", "GET / HTTP/1.1\r\n\r\n", "\xff\xff\xff\xff", "\x00\x00\x00\x02{]", "\x00\x00\x00\x05{}"} {
		c, err := net.Dial("unix", place.Socket())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.WriteString(c, garbage); err != nil {
			t.Fatal(err)
		}
		_ = c.(*net.UnixConn).CloseWrite()
		if b, err := io.ReadAll(c); len(b) > 0 && !bytes.Contains(b, []byte("draining")) || err != nil && !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("%q was answered %q, %v", garbage, b, err)
		}
		c.Close()
	}
	c, err := Attach(t.Context(), place, Hello{Version: "1", Role: "panic"}, never(t))
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.ReadAll(c)
	c.Close()
	c, err = Attach(t.Context(), place, Hello{Version: "1", Role: "r"}, never(t))
	if err != nil {
		t.Fatal(err)
	}
	line(t, c)
	c.Close()
}

func TestCheckDir(t *testing.T) {
	dir := runtimeDir(t)
	if err := CheckDir(dir); err != nil {
		t.Error(err)
	}
	link := filepath.Join(t.TempDir(), "link")
	open := filepath.Join(t.TempDir(), "open")
	if err := errors.Join(os.Symlink(dir, link), os.Mkdir(open, 0o700), os.Chmod(open, 0o750)); err != nil {
		t.Fatal(err)
	}
	for name, bad := range map[string]string{"a link": link, "a folder open to others": open, "a file": os.Args[0], "nothing": filepath.Join(dir, "none")} {
		if CheckDir(bad) == nil {
			t.Errorf("%s is taken", name)
		}
		if _, err := Listen(Options{Place: Place{Dir: bad, Key: "k"}}); err == nil {
			t.Errorf("a daemon listens in %s", name)
		}
		if _, err := Attach(t.Context(), Place{Dir: bad, Key: "k"}, Hello{}, never(t)); err == nil {
			t.Errorf("attached in %s", name)
		}
	}
	if os.Geteuid() == 0 {
		if err := os.Chown(dir, 65534, 65534); err != nil {
			t.Fatal(err)
		}
		if CheckDir(dir) == nil {
			t.Error("a folder of another user is taken")
		}
	}
}

// A daemon that can't start, or does not come up, is an error that says so.
func TestStartFails(t *testing.T) {
	place := Place{Dir: runtimeDir(t), Key: "k"}
	_, err := Attach(t.Context(), place, Hello{}, func() error { return errors.New("no such program") })
	if err == nil || !strings.Contains(err.Error(), "no such program") {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	_, err = Attach(ctx, place, Hello{}, func() error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), ".log") {
		t.Errorf("%v", err)
	}
}

// Another user gets no answer, were the folder and the socket open to all.
func TestPeer(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("another user can be tried by root only")
	}
	place := Place{Dir: runtimeDir(t), Key: "k"}
	serve(t, Options{Place: place, Version: "1"})
	bin := filepath.Join(place.Dir, "again")
	b, err := os.ReadFile(os.Args[0])
	if err == nil {
		err = errors.Join(os.WriteFile(bin, b, 0o755), os.Chmod(bin, 0o755), os.Chmod(place.Dir, 0o755), os.Chmod(place.Socket(), 0o666))
	}
	if err != nil {
		t.Fatal(err)
	}
	for uid, want := range map[uint32]*regexp.Regexp{0: regexp.MustCompile("^answer: <nil>$"), 65534: regexp.MustCompile("^answer: .*(EOF|reset|broken pipe)")} {
		cmd := exec.CommandContext(t.Context(), bin, "dial", place.Socket())
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uid, Gid: uid}}
		out, err := cmd.CombinedOutput()
		if got := strings.TrimSpace(string(out)); err != nil || !want.MatchString(got) {
			t.Errorf("user %d: %q, %v; want %s", uid, got, err, want)
		}
	}
}

func TestFrames(t *testing.T) {
	var h Hello
	if err := readFrame(strings.NewReader("\xff\xff\xff\xff{}"), &h); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	if err := writeFrame(io.Discard, Hello{Dir: strings.Repeat("x", maxFrame)}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
	r := strings.NewReader("\x00\x00\x00\x02{}rest")
	if err := readFrame(r, &h); err != nil || r.Len() != 4 {
		t.Errorf("%v, %d bytes are left", err, r.Len())
	}
}
