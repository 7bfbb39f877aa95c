//go:build unix

package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// eventually waits until ok holds.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(deadline) {
			t.Fatal("not within 10 s: " + what)
		}
		time.Sleep(time.Millisecond)
	}
}

// gated is an install step that tells its process and its child's, and goes on
// when the gate is there.
func gated(dir string) string {
	return `sleep 60 & echo $$ $! > ` + dir + `/pids.new; mv ` + dir + `/pids.new ` + dir + `/pids
while [ ! -e ` + dir + `/gate ]; do sleep 0.01; done; kill $!; ` + building
}

func exists(name string) bool {
	_, err := os.Stat(name)
	return err == nil
}

type answer struct {
	tool Tool
	err  error
}

func ensure(ctx context.Context, p *Provisioner) <-chan answer {
	c := make(chan answer, 1)
	go func() {
		t, err := p.Ensure(ctx, "gopls")
		c <- answer{t, err}
	}()
	return c
}

func (p *Provisioner) waiters() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running == nil {
		return 0
	}
	return p.running.waiting
}

func TestCancelledCallerLeavesItGoing(t *testing.T) {
	dir := t.TempDir()
	path, log := fakeGo(t, "go1.26.8", rightSum, gated(dir))
	p := New(Options{Cache: t.TempDir(), Path: path})
	ctx, cancel := context.WithCancel(t.Context())
	first := ensure(ctx, p)
	eventually(t, "a build", func() bool { return exists(filepath.Join(dir, "pids")) })
	second := ensure(t.Context(), p)
	eventually(t, "two who wait", func() bool { return p.waiters() == 2 })
	cancel()
	if a := <-first; !errors.Is(a.err, context.Canceled) {
		t.Errorf("the cancelled: %+v", a)
	}
	if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if a := <-second; a.err != nil || a.tool.From != "cache" {
		t.Errorf("the other: %+v", a)
	}
	if n := strings.Count(calls(t, log), "install golang"); n != 1 {
		t.Errorf("installed %d times", n)
	}
	if p.waiters() != 0 {
		t.Error("an installation goes on")
	}
}

func TestLastCancelEndsEveryProcess(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	path, _ := fakeGo(t, "go1.26.8", rightSum, gated(dir))
	p := New(Options{Cache: cache, Path: path})
	ctx, cancel := context.WithCancel(t.Context())
	a, b := ensure(ctx, p), ensure(ctx, p)
	eventually(t, "two who wait for a build", func() bool { return p.waiters() == 2 && exists(filepath.Join(dir, "pids")) })
	cancel()
	for _, c := range []<-chan answer{a, b} {
		if got := <-c; !errors.Is(got.err, context.Canceled) {
			t.Errorf("%+v", got)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range strings.Fields(string(text)) {
		pid, err := strconv.Atoi(f)
		if err != nil {
			t.Fatal(err)
		}
		eventually(t, "the end of process "+f, func() bool { return gone(pid) })
	}
	eventually(t, "the end of the installation", func() bool { return p.waiters() == 0 })
	leftovers(t, cache)
	// and it can be begun anew
	if err := os.WriteFile(filepath.Join(dir, "gate"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if got := <-ensure(t.Context(), p); got.err != nil {
		t.Error(got.err)
	}
}

// gone also counts what has ended and waits for its parent.
func gone(pid int) bool {
	if errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		return true
	}
	b, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	return err == nil && strings.Contains(string(b), ") Z ")
}

// The lock's holder is in another process, as far as flock knows.
func TestWaitsForOtherProcess(t *testing.T) {
	path, log := fakeGo(t, "go1.26.8", rightSum, building)
	cache := t.TempDir()
	dir := filepath.Join(cache, "tools", "gopls")
	if err := os.MkdirAll(filepath.Join(dir, "build-old", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "build-old", "x"), 0o500); err != nil {
		t.Fatal(err)
	}
	unlock, err := lock(t.Context(), filepath.Join(dir, "lock"))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	p := New(Options{Cache: cache, Path: path})
	if _, err := p.Ensure(ctx, "gopls"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("while the lock is held: %v", err)
	}
	if strings.Contains(calls(t, log), "install golang") {
		t.Error("built without the lock")
	}
	unlock()
	if _, err := p.Ensure(t.Context(), "gopls"); err != nil {
		t.Error(err)
	}
	leftovers(t, cache) // also those of a build that was killed
}

func TestNewerGoReplacesOlderGopls(t *testing.T) {
	path, _ := fakeGo(t, "go1.26.8", rightSum, building)
	cache := t.TempDir()
	if _, err := New(Options{Cache: cache, Path: path}).Ensure(t.Context(), "gopls"); err != nil {
		t.Fatal(err)
	}
	newer, log := fakeGo(t, "go1.27.0", gopls[0].sum, building)
	failing, _ := fakeGo(t, "go1.27.0", "h1:wrong", building)
	older, olderLog := fakeGo(t, "go1.25.0", gopls[2].sum, building)
	for _, c := range []struct{ what, path, mode, want string }{
		{"off", newer, "off", "v0.23.0"},
		{"it can't be had", failing, "auto", "v0.23.0"},
		{"an older Go", older, "auto", "v0.23.0"},
		{"no Go", "/nonexistent", "auto", "v0.23.0"},
		{"auto", newer, "auto", "v0.24.0"},
		{"again", newer, "auto", "v0.24.0"},
	} {
		tool, err := New(Options{Cache: cache, Path: c.path, Mode: c.mode}).Ensure(t.Context(), "gopls")
		if err != nil || tool.Version != c.want {
			t.Errorf("%s: %+v %v, want %s", c.what, tool, err, c.want)
		}
	}
	if n := strings.Count(calls(t, log), "install golang"); n != 1 {
		t.Errorf("installed %d times", n)
	}
	if strings.Contains(calls(t, olderLog), "install golang") {
		t.Error("an older gopls was built beside the newer")
	}
}

func TestPlan(t *testing.T) {
	for version, want := range map[string]string{"go1.28.1": "v0.24.0", "go1.27rc1": "v0.24.0", "go1.26": "v0.23.0", "go1.25.3": "v0.21.1", "go1.20": ""} {
		path, _ := fakeGo(t, version, rightSum, building)
		dir, _, _ := strings.Cut(path, ":")
		p := New(Options{Cache: t.TempDir(), Path: "/nonexistent", Go: filepath.Join(dir, "go")})
		got, err := p.Plan(t.Context(), "gopls")
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q %v, want %q", version, got, err, want)
		}
	}
	_, err := New(Options{Path: "/nonexistent"}).Find(t.Context(), "gopls")
	if err == nil || !strings.Contains(err.Error(), "the go command is missing") || strings.Contains(err.Error(), "run: install") {
		t.Errorf("no Go: %v", err)
	}
	if _, err := New(Options{}).Ensure(t.Context(), "rg"); err == nil {
		t.Error("an unknown tool is found")
	}
}

func TestReachableCacheIsNotUsed(t *testing.T) {
	path, _ := fakeGo(t, "go1.26.8", rightSum, building)
	cache := t.TempDir()
	p := New(Options{Cache: cache, Path: path})
	tool, err := p.Ensure(t.Context(), "gopls")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"tools", "tools/gopls", "tools/gopls/v0.23.0"} {
		dir = filepath.Join(cache, dir)
		if err := os.Chmod(dir, 0o777); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Find(t.Context(), "gopls"); err == nil {
			t.Errorf("%s is everybody's, and yet %+v", dir, got)
		}
		if _, err := p.Ensure(t.Context(), "gopls"); err == nil || !strings.Contains(err.Error(), "chmod 700") {
			t.Errorf("%s: %v", dir, err)
		}
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.Find(t.Context(), "gopls"); err != nil {
		t.Error(err)
	}
	if err := os.Remove(tool.Path + ".sha256"); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Find(t.Context(), "gopls"); err == nil {
		t.Errorf("without its sum: %+v", got)
	}
}
