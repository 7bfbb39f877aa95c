//go:build unix

package main

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// floorServer does the least that replacing a file safely takes, once a line
// of standard input: read, hash, temporary file, fsync, rename, fsync of the
// folder. Lines are old and new text as JSON strings.
func floorServer() int {
	in := bufio.NewReader(os.Stdin)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return 0
		}
		var q []string
		if err := json.Unmarshal([]byte(line), &q); err != nil {
			return 1
		}
		if err := floorEdit(os.Args[1], q[0], q[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("done")
	}
}

func floorEdit(name, old, new string) error {
	b, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	sha256.Sum256(b)
	text := strings.Replace(string(b), old, new, 1)
	t, err := os.CreateTemp(filepath.Dir(name), ".floor-")
	if err != nil {
		return err
	}
	if _, err := io.WriteString(t, text); err != nil {
		return err
	}
	if err := t.Sync(); err != nil {
		return err
	}
	if err := t.Close(); err != nil {
		return err
	}
	if err := os.Rename(t.Name(), name); err != nil {
		return err
	}
	d, err := os.Open(filepath.Dir(name))
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// program makes the test binary run as one of TestMain's programs.
func program(t testing.TB, name string, args ...string) *exec.Cmd {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(t.TempDir(), name)
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(link, args...)
	cmd.Stderr = os.Stderr
	return cmd
}

// A floor is a running floorServer.
type floor struct {
	in  io.WriteCloser
	out *bufio.Reader
}

func startFloor(t testing.TB, name string) *floor {
	t.Helper()
	cmd := program(t, "floor", name)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); cmd.Wait() })
	return &floor{in, bufio.NewReader(out)}
}

func (f *floor) edit(t testing.TB, old, new string) time.Duration {
	t.Helper()
	began := time.Now()
	line, _ := json.Marshal([]string{old, new})
	if _, err := f.in.Write(append(line, '\n')); err != nil {
		t.Fatal(err)
	}
	if s, err := f.out.ReadString('\n'); err != nil || s != "done\n" {
		t.Fatalf("%q %v", s, err)
	}
	return time.Since(began)
}

// process runs coedit mcp as a process of its own.
func startMCP(t testing.TB, args ...string) *mcp.ClientSession {
	t.Helper()
	cmd := program(t, "coedit", append([]string{"mcp"}, args...)...)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(context.Background(), &mcp.CommandTransport{Command: cmd}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func mustCall(t testing.TB, s *mcp.ClientSession, name string, args map[string]any) (string, time.Duration) {
	t.Helper()
	began := time.Now()
	r := callTool(t, s, name, args)
	took := time.Since(began)
	if r.IsError {
		t.Fatalf("%s: %s", name, textOf(r))
	}
	return textOf(r), took
}

func p50(list []time.Duration) time.Duration {
	slices.Sort(list)
	return list[len(list)/2]
}

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "item%06d := compute(%d, \"some words that make a line\")\n", i, i*7)
	}
	return b.String()
}

// BenchmarkEdit compares an Edit through the protocol with the floor, in turn:
// the metric x/floor is the ratio of the medians.
func BenchmarkEdit(b *testing.B) {
	for _, lines := range []int{1000, 100_000} {
		b.Run(fmt.Sprint(lines), func(b *testing.B) {
			work := own(b)
			name, other := filepath.Join(work, "a.txt"), filepath.Join(work, "b.txt")
			put(b, name, numbered(lines))
			put(b, other, numbered(lines))
			s, f := startMCP(b, "--root", work, "--servers", "off"), startFloor(b, other)
			mustCall(b, s, "Read", map[string]any{"file_path": name, "offset": 0, "limit": 1})
			var ours, least []time.Duration
			word := func(i int) string { return fmt.Sprintf("item%06d_%d := ", lines/2, i) }
			mustCall(b, s, "Edit", map[string]any{"file_path": name, "old_string": fmt.Sprintf("item%06d := ", lines/2), "new_string": word(0), "diagnostics": "skip"})
			f.edit(b, fmt.Sprintf("item%06d := ", lines/2), word(0))
			n := 0
			for b.Loop() {
				n++
				_, d := mustCall(b, s, "Edit", map[string]any{"file_path": name, "old_string": word(n - 1), "new_string": word(n), "diagnostics": "skip"})
				ours = append(ours, d)
				least = append(least, f.edit(b, word(n-1), word(n)))
			}
			b.ReportMetric(float64(p50(ours))/float64(p50(least)), "x/floor")
			b.ReportMetric(float64(p50(ours).Microseconds()), "µs/edit")
			b.ReportMetric(float64(p50(least).Microseconds()), "µs/floor")
		})
	}
}

// BenchmarkMultiEdit compares 300 edits in one call with one edit.
func BenchmarkMultiEdit(b *testing.B) {
	work := own(b)
	name := put(b, filepath.Join(work, "a.txt"), numbered(100_000))
	s := startMCP(b, "--root", work, "--servers", "off")
	mustCall(b, s, "Read", map[string]any{"file_path": name, "offset": 0, "limit": 1})
	var many, one []time.Duration
	old := func(i, round int) string {
		if round == 0 {
			return fmt.Sprintf("item%06d := compute(", i*331)
		}
		return fmt.Sprintf("item%06d_%d := compute(", i*331, round)
	}
	n := 0
	for b.Loop() {
		var list []map[string]any
		for i := range 300 {
			list = append(list, map[string]any{"old_string": old(i, n), "new_string": old(i, n+1)})
		}
		_, d := mustCall(b, s, "MultiEdit", map[string]any{"file_path": name, "edits": list, "diagnostics": "skip"})
		many = append(many, d)
		tag := fmt.Sprintf("tag%d", n)
		prev := "item000001 := "
		if n > 0 {
			prev = fmt.Sprintf("tag%d := ", n-1)
		}
		_, d = mustCall(b, s, "Edit", map[string]any{"file_path": name, "old_string": prev, "new_string": tag + " := ", "diagnostics": "skip"})
		one = append(one, d)
		n++
	}
	b.ReportMetric(float64(p50(many))/float64(p50(one)), "x/one")
	b.ReportMetric(float64(p50(many).Milliseconds()), "ms/300")
	b.ReportMetric(float64(p50(one).Milliseconds()), "ms/one")
}

// TestFirstAnswer holds that the first tool answer comes within 100 ms of the
// start where no server is needed, with five times slack.
func TestFirstAnswer(t *testing.T) {
	work := own(t)
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
	t.Logf("first answer after %v", took)
	if took > 500*time.Millisecond {
		t.Errorf("the first answer came after %v", took)
	}
}
