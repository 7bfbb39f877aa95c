//go:build unix

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// own gives a test folders of its own and returns a workspace.
func own(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{"CONFIG", "STATE", "RUNTIME", "CACHE"} {
		t.Setenv("COEDIT_"+d+"_DIR", filepath.Join(dir, strings.ToLower(d)))
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	return work
}

func put(t testing.TB, name, text string) string {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// connect runs coedit mcp in this process and returns a client of it.
func connect(t testing.TB, o *mcp.ClientOptions, args ...string) *mcp.ClientSession {
	t.Helper()
	ar, aw := io.Pipe()
	br, bw := io.Pipe()
	done := make(chan int, 1)
	var stderr bytes.Buffer
	go func() {
		code := run(append([]string{"mcp"}, args...), streams{ar, bw, &stderr})
		bw.Close()
		done <- code
	}()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(context.Background(), &mcp.IOTransport{Reader: br, Writer: aw}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.Close()
		aw.Close()
		if code := <-done; code != 0 {
			t.Errorf("coedit mcp ended with %d: %s", code, stderr.String())
		}
	})
	return s
}

func callTool(t testing.TB, s *mcp.ClientSession, name string, args any) *mcp.CallToolResult {
	t.Helper()
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: name, Arguments: args})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func textOf(r *mcp.CallToolResult) string { return r.Content[0].(*mcp.TextContent).Text }

func TestMCPList(t *testing.T) {
	work := own(t)
	s := connect(t, nil, "--root", work, "--servers", "off")
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
		if tool.OutputSchema != nil {
			t.Errorf("%s has an output schema in text mode", tool.Name)
		}
		a := tool.Annotations
		if a == nil || a.OpenWorldHint == nil || *a.OpenWorldHint {
			t.Errorf("%s: openWorldHint is not false", tool.Name)
		}
		if reads := tool.Name == "Read" || tool.Name == "Diagnostics"; a.ReadOnlyHint != reads {
			t.Errorf("%s: readOnlyHint is %v", tool.Name, a.ReadOnlyHint)
		}
		in, _ := json.Marshal(tool.InputSchema)
		if !strings.Contains(string(in), `"additionalProperties":false`) && !strings.Contains(string(in), `"additionalProperties":{"not":{}}`) {
			t.Errorf("%s takes any parameter: %s", tool.Name, in)
		}
	}
	if got := strings.Join(names, " "); got != "Diagnostics Edit MultiEdit Read Write" {
		t.Errorf("tools are %s", got)
	}
	if b, _ := json.Marshal(list); len(b) > 14<<10 {
		t.Errorf("tools/list is %d bytes, at most 14 KB", len(b))
	}
}

func TestMCPForms(t *testing.T) {
	work := own(t)
	name := put(t, filepath.Join(work, "a.txt"), strings.Repeat("line of text\n", 200)+"needle\n")
	s := connect(t, nil, "--root", work, "--servers", "off", "--result", "full")
	r := callTool(t, s, "Read", map[string]any{"file_path": name})
	if r.IsError || r.StructuredContent == nil {
		t.Fatalf("%v", r)
	}
	r = callTool(t, s, "Edit", map[string]any{"file_path": name, "old_string": "needle", "new_string": "thread"})
	b, _ := json.Marshal(r.StructuredContent)
	if r.IsError || len(b) > 2<<10 {
		t.Errorf("an ordinary Edit's structured content is %d bytes: %s", len(b), b)
	}
	var m map[string]any
	if err := json.Unmarshal(b, &m); err != nil {
		t.Fatal(err)
	}
	if m["text"] != textOf(r) || m["type"] != "update" || m["replacements"] != 1.0 || m["filePath"] != name || m["appliedVia"] != "disk" || m["saved"] != true {
		t.Errorf("structured: %s", b)
	}
	if got, _ := r.Meta["originalFile"].(string); !strings.HasSuffix(got, "needle\n") {
		t.Errorf("_meta.originalFile is %q", got)
	}
	r = callTool(t, s, "Edit", map[string]any{"file_path": name, "old_string": "needle", "new_string": "x"})
	if !r.IsError || !strings.HasPrefix(textOf(r), "[no_match] ") || r.Meta["code"] != "no_match" || r.StructuredContent != nil {
		t.Errorf("an error: %v %v", textOf(r), r.Meta)
	}
}

func TestMCPArguments(t *testing.T) {
	work := own(t)
	s := connect(t, nil, "--root", work, "--servers", "off")
	for _, c := range []struct {
		tool string
		args map[string]any
		want string
	}{
		{"Read", map[string]any{}, "needs the parameter file_path"},
		{"Read", map[string]any{"file_path": 3}, "string"},
		{"Read", map[string]any{"file_path": "a", "path": "b"}, "no parameter path; it has file_path, limit"},
		{"Read", map[string]any{"file_path": "a", "offset": -1}, "offset: "},
		{"Read", map[string]any{"file_path": "file:///a"}, "not by a URI: /a"},
		{"Edit", map[string]any{"file_path": "a", "old_string": "x", "new_string": "y", "on_stale": "force"}, "enum"},
		{"MultiEdit", map[string]any{"edits": []any{}}, "minItems"},
		{"Read", map[string]any{"file_path": ""}, "empty"},
		{"Read", map[string]any{"file_path": "a\x00b"}, "NUL"},
		{"Read", map[string]any{"file_path": "/etc/passwd"}, "outside the workspace"},
		{"Read", map[string]any{"file_path": "../x"}, "outside the workspace"},
		{"Read", map[string]any{"file_path": "missing.txt"}, "no such file"},
	} {
		r := callTool(t, s, c.tool, c.args)
		if !r.IsError || !strings.Contains(textOf(r), c.want) {
			t.Errorf("%s %v: %s; want %q in it", c.tool, c.args, textOf(r), c.want)
		}
	}
}

// TestMCPWideRoot holds that initialize is answered whatever is broken.
func TestMCPWideRoot(t *testing.T) {
	own(t)
	home := t.TempDir()
	t.Setenv("HOME", home)
	s := connect(t, nil, "--root", home)
	r := callTool(t, s, "Read", map[string]any{"file_path": "x"})
	if !r.IsError || !strings.Contains(textOf(r), "--allow-wide-root") {
		t.Errorf("%s", textOf(r))
	}
	s = connect(t, nil, "--root", home, "--allow-wide-root", "--servers", "off")
	put(t, filepath.Join(home, "x"), "text\n")
	if r := callTool(t, s, "Read", map[string]any{"file_path": filepath.Join(home, "x")}); r.IsError {
		t.Errorf("%s", textOf(r))
	}
}

// slowServer makes a server that never answers serve *.fake.
func slowServer(t *testing.T) {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := put(t, filepath.Join(dir, "fake.json"), `{"capabilities": {"diagnosticProvider": {}}, "log": "`+filepath.Join(dir, "fake.log")+`", "script": [{"on": "textDocument/diagnostic", "never_answer": true}]}`)
	link := filepath.Join(dir, "fake-lsp") // the test binary goes by its name
	if err := os.Symlink(exe, link); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(map[string]any{"servers": map[string]any{"fake": map[string]any{"command": link, "args": []string{script}, "files": []string{"*.fake"}}}})
	put(t, filepath.Join(os.Getenv("COEDIT_CONFIG_DIR"), "settings.json"), string(b))
}

// TestMCPProgress holds that a call which waits for a report says so.
func TestMCPProgress(t *testing.T) {
	work := own(t)
	slowServer(t)
	name := put(t, filepath.Join(work, "a.fake"), "x\n")
	got := make(chan string, 100)
	s := connect(t, &mcp.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
		got <- r.Params.Message
	}}, "--root", work)
	callTool(t, s, "Read", map[string]any{"file_path": name})
	p := &mcp.CallToolParams{Name: "Edit", Arguments: map[string]any{"file_path": name, "old_string": "x", "new_string": "y"}}
	p.SetProgressToken("p1")
	r, err := s.CallTool(context.Background(), p)
	if err != nil || r.IsError || !strings.Contains(textOf(r), "timed out") {
		t.Fatalf("%v %v", err, r)
	}
	select {
	case m := <-got:
		if !strings.Contains(m, "waiting") {
			t.Errorf("progress says %q", m)
		}
	case <-time.After(5 * time.Second):
		t.Error("no progress was told")
	}
}

// TestMCPCancel holds that a cancelled call ends, and its edit stands.
func TestMCPCancel(t *testing.T) {
	work := own(t)
	slowServer(t)
	name := put(t, filepath.Join(work, "a.fake"), "x\n")
	s := connect(t, nil, "--root", work)
	callTool(t, s, "Read", map[string]any{"file_path": name})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		_, err := s.CallTool(ctx, &mcp.CallToolParams{Name: "Edit", Arguments: map[string]any{"file_path": name, "old_string": "x", "new_string": "y"}})
		ended <- err
	}()
	deadline := time.Now().Add(10 * time.Second)
	for {
		if b, _ := os.ReadFile(name); string(b) == "y\n" {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the edit did not land")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	if err := <-ended; err == nil {
		t.Error("the call was not cancelled")
	}
	// the session goes on at once
	if r := callTool(t, s, "Read", map[string]any{"file_path": name}); r.IsError || !strings.Contains(textOf(r), "y") {
		t.Errorf("%s", textOf(r))
	}
}
