//go:build unix

package main

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestLongLine holds that a line which is too long costs its own call only.
func TestLongLine(t *testing.T) {
	work := own(t)
	name := put(t, filepath.Join(work, "a.txt"), "one\n")
	in := io.MultiReader(strings.NewReader(`{"id": 1, "tool": "Write", "arguments": {"content": "`), strings.NewReader(strings.Repeat("x", maxLine)),
		strings.NewReader("\"}}\n"), strings.NewReader(fmt.Sprintf(`{"id": 2, "tool": "Read", "arguments": {"file_path": %q}}`, name)))
	var out, stderr bytes.Buffer
	if code := run([]string{"call", "--root", work, "--servers", "off", "--session", "S"}, streams{in, &out, &stderr}); code != 0 {
		t.Fatalf("%d: %s", code, stderr.String())
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "[too_large]") || !strings.Contains(lines[0], `"id":1`) || !strings.Contains(lines[1], `"id":2`) || !strings.Contains(lines[1], "one") {
		t.Errorf("%s", out.String())
	}
}

// TestTerminate holds that SIGTERM ends a process that waits for input.
func TestTerminate(t *testing.T) {
	work := own(t)
	put(t, filepath.Join(work, "a.txt"), "one\n")
	for _, args := range [][]string{{"call", "--root", work, "--servers", "off", "--session", "S"}, {"mcp", "--root", work, "--servers", "off"}} {
		cmd := program(t, "coedit", args...)
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		call := `{"id": 1, "tool": "Read", "arguments": {"file_path": "a.txt"}}` + "\n"
		if args[0] == "mcp" {
			call = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}` + "\n"
		}
		if _, err := io.WriteString(in, call); err != nil {
			t.Fatal(err)
		}
		if _, err := out.Read(make([]byte, 1)); err != nil { // it is up
			t.Fatal(err)
		}
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { io.Copy(io.Discard, out); done <- cmd.Wait() }()
		select {
		case <-done:
		case <-time.After(10 * time.Second):
			cmd.Process.Kill()
			t.Errorf("%s goes on after SIGTERM", args[0])
		}
	}
}
