//go:build unix

package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The demo shows the life of an edit with the answers that an agent gets, in
// this order, without colours where nobody looks at a terminal.
func TestDemo(t *testing.T) {
	gopls := findGopls()
	if gopls == "" {
		if os.Getenv("CI") == "true" {
			t.Fatal("no gopls")
		}
		t.Skip("gopls is neither on PATH nor in the cache")
	}
	own(t)
	t.Setenv("PATH", gopls+string(filepath.ListSeparator)+os.Getenv("PATH"))
	var out, stderr bytes.Buffer
	start := time.Now()
	if code := run([]string{"demo"}, streams{strings.NewReader(""), &out, &stderr}); code != 0 {
		t.Fatalf("%d: %s", code, stderr.String())
	}
	if d := time.Since(start); d > 5*15*time.Second {
		t.Errorf("it took %v; 15 s are promised", d)
	}
	text := out.String()
	at := 0
	for _, want := range []string{"Read {", "func Total(each, n int) int", "Edit {", "This edit caused:", "cart/cart.go:", "[stale]", "modified since read", "Edit {", "Updated", "Resolved:"} {
		i := strings.Index(text[at:], want)
		if i < 0 {
			t.Fatalf("no %q after byte %d of\n%s", want, at, text)
		}
		at += i + len(want)
	}
	if strings.Contains(text, "\x1b[") {
		t.Error("colours, though nobody looks at a terminal")
	}
}

func TestDemoColours(t *testing.T) {
	var out bytes.Buffer
	p := printer{out: streams{out: &out}, colour: true}
	p.answer("  a.go:1:1 error x\nResolved: 1", false)
	if got := out.String(); !strings.Contains(got, "\x1b[31m  a.go:1:1 error x\x1b[0m") || !strings.Contains(got, "\x1b[32mResolved: 1\x1b[0m") {
		t.Errorf("%q", got)
	}
}

// Doctor names what is missing and what to do about it, and fails then.
func TestDoctor(t *testing.T) {
	own(t)
	t.Setenv("PATH", t.TempDir())
	var out, stderr bytes.Buffer
	if code := run([]string{"doctor"}, streams{strings.NewReader(""), &out, &stderr}); code != 1 {
		t.Errorf("status %d", code)
	}
	for _, want := range []string{"missing  go ", "https://go.dev/dl", "missing  git ", "missing  gopls ", "fix:", "ok       settings", "none, so the defaults hold", "ok       watches"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, out.String())
		}
	}
	put(t, filepath.Join(os.Getenv("COEDIT_CONFIG_DIR"), "settings.json"), "{")
	out.Reset()
	run([]string{"doctor"}, streams{strings.NewReader(""), &out, &stderr})
	if !strings.Contains(out.String(), "missing  settings") || !strings.Contains(out.String(), "mend the file") {
		t.Errorf("%s", out.String())
	}
}

func TestHelp(t *testing.T) {
	var out, stderr bytes.Buffer
	if code := run([]string{"help", "call"}, streams{strings.NewReader(""), &out, &stderr}); code != 0 || !strings.Contains(out.String(), "--session") {
		t.Errorf("status %d\n%s%s", code, out.String(), stderr.String())
	}
}

// A checkout is under way while git's lock is there, and not for ever.
func TestHeld(t *testing.T) {
	work := own(t)
	e, err := openEngine(serveFlags{Root: []string{work}, Servers: "off", PermissionMode: "default", Tools: []string{"default"}}, streams{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer e.close()
	if e.held() {
		t.Error("held without git")
	}
	lock := put(t, filepath.Join(work, ".git", "index.lock"), "")
	if !e.held() {
		t.Error("not held while git's lock is there")
	}
	old := time.Now().Add(-time.Minute)
	if err := os.Chtimes(lock, old, old); err != nil {
		t.Fatal(err)
	}
	if e.held() {
		t.Error("held by a lock that was left behind")
	}
}

// --tools names the tools that are offered, and only those can be called.
func TestMCPTools(t *testing.T) {
	work := own(t)
	s := connect(t, nil, "--root", work, "--servers", "off", "--tools", "Read,Edit")
	list, err := s.ListTools(context.Background(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if got := strings.Join(names, " "); got != "Edit Read" {
		t.Errorf("tools are %s", got)
	}
	s = connect(t, nil, "--root", work, "--servers", "off", "--tools", "Reed")
	r, err := s.CallTool(context.Background(), &mcp.CallToolParams{Name: "Read", Arguments: map[string]any{"file_path": "a"}})
	if err != nil || !r.IsError || !strings.Contains(textOf(r), "Reed") {
		t.Errorf("a name that is no tool: %+v, %v", r, err)
	}
}

// A session is named after the process that started coedit, not after its
// number alone, which comes again.
func TestHostSession(t *testing.T) {
	if a, b := hostSession("/x"), hostSession("/x"); a != b || hostSession("/y") == a {
		t.Errorf("%q, %q", a, b)
	}
	if startOf(os.Getpid()) == "" || startOf(os.Getpid()) == startOf(os.Getppid()) {
		t.Errorf("%q, %q", startOf(os.Getpid()), startOf(os.Getppid()))
	}
}
