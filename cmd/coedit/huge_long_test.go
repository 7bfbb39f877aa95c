//go:build long && linux

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A root of 100,000 files: watching it delays no answer, and does not make the
// process large. 60 MB are promised beside the watches, which the kernel keeps.
func TestHugeRoot(t *testing.T) {
	work := own(t)
	for d := range 2000 {
		dir := filepath.Join(work, fmt.Sprint("p", d%50), fmt.Sprint("d", d))
		if err := os.MkdirAll(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for f := range 50 {
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprint("f", f, ".txt")), nil, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	name := put(t, filepath.Join(work, "a.txt"), "one\n")
	cmd := program(t, "coedit", "mcp", "--root", work)
	began := time.Now()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	mustCall(t, s, "Read", map[string]any{"file_path": name})
	took := time.Since(began)
	if took > 5*100*time.Millisecond {
		t.Errorf("the first answer came after %v", took)
	}
	// Until the folders have been walked; each call looks at everything.
	var scan time.Duration
	for range 20 {
		start := time.Now()
		mustCall(t, s, "Diagnostics", map[string]any{})
		scan = time.Since(start)
	}
	rss := memoryOf(t, cmd.Process.Pid)
	t.Logf("first answer after %v; a scan by the watcher's word %v; %d MB", took, scan, rss>>20)
	if rss > 5*60<<20 {
		t.Errorf("the process takes %d MB", rss>>20)
	}
}

// memoryOf returns the resident memory of a process.
func memoryOf(t *testing.T, pid int) int {
	t.Helper()
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		if rest, ok := strings.CutPrefix(line, "VmRSS:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				t.Fatal(err)
			}
			return n << 10
		}
	}
	t.Fatal("no VmRSS")
	return 0
}
