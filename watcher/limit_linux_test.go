package watcher

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// With no room for watches the answer is everything, and the reason names the
// limit. The limit is lowered in a user namespace of the test's own.
func TestSystemLimit(t *testing.T) {
	if os.Getenv("COEDIT_TEST_LIMITED") == "" {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestSystemLimit$", "-test.v")
		cmd.Env = append(os.Environ(), "COEDIT_TEST_LIMITED=1")
		cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER,
			UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}},
			GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
		out, err := cmd.CombinedOutput()
		if err != nil && len(out) == 0 {
			if os.Getenv("CI") == "true" {
				t.Fatal(err)
			}
			t.Skipf("no user namespace: %v", err)
		}
		if err != nil || !strings.Contains(string(out), "--- PASS: TestSystemLimit") {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	const limit = 50
	if err := os.WriteFile("/proc/sys/user/max_inotify_watches", []byte(fmt.Sprint(limit)), 0); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for i := range 200 {
		put(t, filepath.Join(dir, fmt.Sprint("d", i), "x"), "1")
	}
	w, err := Start(Options{Dirs: []string{dir}, Cookies: filepath.Join(t.TempDir(), "c")})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ready(t, w)
	for range 2 {
		if _, all, err := w.Take(t.Context()); !all || err != nil {
			t.Errorf("all %v, %v", all, err)
		}
	}
	if s := w.Status(); s.Watches > limit || s.Budget != limit/4 || !strings.Contains(s.Partial, fmt.Sprintf("max_user_watches is %d", limit)) {
		t.Errorf("%+v", s)
	}
}
