package lsp_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coedit/document"
	"coedit/lsp"
	"coedit/lsp/lsptest"
	"coedit/lsp/profile"
)

// TestMain is the scripted server when the binary is started as one.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == "lsptest" {
		script, err := os.ReadFile(os.Args[2])
		if err != nil {
			os.Exit(2)
		}
		os.Exit(lsptest.Serve(os.Stdin, os.Stdout, script))
	}
	os.Exit(m.Run())
}

// short are limits for tests of what happens when they pass.
var short = lsp.Limits{LoadedWait: 1500 * time.Millisecond, AfterTimeout: 200 * time.Millisecond, BaselineWait: 400 * time.Millisecond}

// fakeBench is a workspace whose *.fake files are served by a script.
func fakeBench(t testing.TB, script string, change func(*lsp.Options)) (*bench, string) {
	t.Helper()
	dir := t.TempDir()
	log := filepath.Join(dir, "log")
	var m map[string]any
	if err := json.Unmarshal([]byte(script), &m); err != nil {
		t.Fatalf("script: %v", err)
	}
	m["log"] = log
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "script.json")
	if err := os.WriteFile(file, b, 0o600); err != nil {
		t.Fatal(err)
	}
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return newBench(t, map[string]string{"a.fake": "x\n"}, func(o *lsp.Options) {
		o.Profiles = []profile.Profile{profile.Custom("fake", []string{"fake"}, nil, []string{"*.fake"}, nil)}
		o.Launch = func(context.Context, profile.Profile, string) (lsp.Command, error) {
			return lsp.Command{Path: exe, Args: []string{"lsptest", file}}, nil
		}
		if change != nil {
			change(o)
		}
	}), log
}

// received waits until the server's log holds text, and returns the log.
func received(t testing.TB, log, text string) string {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(log)
		if strings.Contains(string(b), text) {
			return string(b)
		}
		if time.Now().After(deadline) {
			t.Fatalf("the server never received %q; it received:\n%s", text, b)
		}
	}
}

func TestFirstPublication(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[{"on":"didOpen","after_ms":10,"publish":{"version":1,"diagnostics":[{"line":0,"message":"only publish ever"}]}}]}`, nil)
	r := b.put("b.fake", "BAD\n")
	wantContains(t, "new", r.New, "b.fake:1:1 error only publish ever")
	if r.Freshness != lsp.Settled || !r.BaselineKnown {
		t.Errorf("%s, baseline %v", r.Freshness, r.BaselineKnown)
	}
}

func TestSameVersionLastWins(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[
		{"on":"didOpen","publish":{"version":1,"diagnostics":[]}},
		{"on":"didChange","version":2,"after_ms":20,"publish":{"version":2,"diagnostics":[]}},
		{"on":"didChange","version":2,"after_ms":120,"publish":{"version":2,"diagnostics":[{"line":0,"message":"E2"}]}}]}`, nil)
	r := b.edit("a.fake", "x", "y")
	wantContains(t, "new", r.New, "E2")
}

func TestLateForOldVersion(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[
		{"on":"didOpen","publish":{"version":1,"diagnostics":[]}},
		{"on":"didChange","version":2,"after_ms":30,"publish":{"version":1,"diagnostics":[{"line":0,"message":"old"}]}},
		{"on":"didChange","version":2,"after_ms":600,"publish":{"version":2,"diagnostics":[{"line":0,"message":"real"}]}},
		{"on":"didChange","version":2,"after_ms":650,"publish":{"version":1,"diagnostics":[{"line":0,"message":"old"}]}}]}`, nil)
	r := b.edit("a.fake", "x", "y")
	wantContains(t, "new", r.New, "real")
	if strings.Contains(show(r.Current), "old") {
		t.Errorf("a publication for an older version was taken: %s", show(r.Current))
	}
}

func TestUnversioned(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[
		{"on":"didOpen","publish":{"diagnostics":[]}},
		{"on":"didChange","after_ms":300,"publish":{"diagnostics":[{"line":0,"message":"slow"}]}}]}`, nil)
	r := b.edit("a.fake", "x", "y")
	wantContains(t, "new", r.New, "slow")
	if r.Freshness != lsp.Settled {
		t.Errorf("freshness %s", r.Freshness)
	}
}

func TestPushAndPull(t *testing.T) {
	b, _ := fakeBench(t, `{"capabilities":{"diagnosticProvider":{}},"script":[
		{"on":"didChange","version":2,"after_ms":10,"publish":{"version":2,"diagnostics":[{"line":0,"message":"E"},{"line":0,"message":"E-push-only"}]}},
		{"on":"textDocument/diagnostic","nth":1,"result":{"kind":"full","items":[]}},
		{"on":"textDocument/diagnostic","nth":2,"result":{"kind":"","items":[{"line":0,"message":"E","severity":1},{"line":0,"message":"P","severity":1}]}}]}`, nil)
	r := b.edit("a.fake", "x", "y")
	if got, want := show(r.New), "a.fake:1:1 error E\na.fake:1:1 error E-push-only\na.fake:1:1 error P\n"; got != want {
		t.Errorf("new:\n%swant:\n%s", got, want)
	}
}

func TestHints(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[
		{"on":"didOpen","publish":{"version":1,"diagnostics":[]}},
		{"on":"didChange","publish":{"version":2,"diagnostics":[{"line":0,"severity":4,"tags":[1],"message":"not accessed"},
			{"line":0,"severity":3,"message":"info"},{"line":0,"severity":2,"message":"warn"},{"line":1,"severity":2,"message":"elsewhere"}]}}]}`, nil)
	b.write("a.fake", "x\nsecond\n")
	r := b.edit("a.fake", "x", "y")
	if got, want := show(r.New), "a.fake:1:1 warning warn\na.fake:1:1 info info\n"; got != want {
		t.Errorf("new:\n%swant:\n%s", got, want)
	}
	if len(r.Current) != 4 || r.Remaining != (lsp.Counts{Warnings: 2}) {
		t.Errorf("current:\n%scounts %+v", show(r.Current), r.Remaining)
	}
}

func TestNeverAnswers(t *testing.T) {
	b, log := fakeBench(t, `{"capabilities":{"diagnosticProvider":{}},"script":[{"on":"textDocument/diagnostic","never_answer":true}]}`,
		func(o *lsp.Options) { o.Limits = short })
	start := time.Now()
	r := b.edit("a.fake", "x", "y")
	first := time.Since(start)
	if r.Freshness != lsp.Timeout || r.BaselineKnown || len(r.New) != 0 || first < short.LoadedWait {
		t.Errorf("after %v: %+v", first, r)
	}
	received(t, log, `"$/cancelRequest"`)
	start = time.Now()
	r = b.edit("a.fake", "y", "z")
	if d := time.Since(start); r.Freshness != lsp.Timeout || d > first-short.LoadedWait/3 {
		t.Errorf("second wait %v after %v: %s", d, first, r.Freshness)
	}
}

// A server that said nothing of the new text still has the old lines: what
// only moved must not be called new.
func TestTimeoutComparesNothing(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[{"on":"didOpen","publish":{"version":1,"diagnostics":[{"line":2,"message":"E"}]}}]}`,
		func(o *lsp.Options) { o.Limits = short })
	b.write("a.fake", "x\ny\nbad\n")
	r := b.edit("a.fake", "x", "above\nx")
	if r.Freshness != lsp.Timeout || !r.BaselineKnown || len(r.New)+len(r.Resolved) != 0 || len(r.Current) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestStopsReading(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[{"on":"initialized","stop_reading_stdin":true}]}`, func(o *lsp.Options) {
		o.Limits = short
		o.Limits.WriteTimeout = 300 * time.Millisecond
	})
	big := strings.Repeat("z", 2_000_000)
	base := b.servers.Before(t.Context(), []document.Snapshot{b.snap("a.fake")})
	before := b.snap("big.fake")
	start := time.Now()
	m := b.outside("big.fake", big, before)
	if d := time.Since(start); d > time.Second {
		t.Errorf("Changed took %v", d)
	}
	r := b.servers.Diagnose(t.Context(), m, base)
	if r.Freshness == lsp.Fresh || r.Freshness == lsp.Settled {
		t.Errorf("freshness %s of a server that does not read", r.Freshness)
	}
	waitFor(t, "a restart", func() bool { return b.servers.Status()[0].Restarts >= 1 })
}

func waitFor(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited in vain for %s", what)
		}
	}
}

func TestDiesAndComesBack(t *testing.T) {
	dir := t.TempDir()
	pidFile := filepath.Join(dir, "pid")
	b, log := fakeBench(t, `{"script":[
		{"on":"initialized","spawn":`+quote(pidFile)+`},
		{"on":"didOpen","publish":{"diagnostics":[{"line":0,"message":"seen"}]}},
		{"on":"didChange","stderr":"out of cheese","exit":3}]}`, func(o *lsp.Options) { o.Limits = short })
	b.servers.Open(b.snap("a.fake"))
	received(t, log, `didOpen`)
	waitFor(t, "the child's number", func() bool { b, _ := os.ReadFile(pidFile); return len(b) > 0 })
	child := readPid(t, pidFile)
	r := b.edit("a.fake", "x", "y")
	// It may be back already: then the opened document is answered for.
	if r.Freshness != lsp.Unavailable && r.Freshness != lsp.Settled {
		t.Errorf("freshness %s, %q", r.Freshness, r.Note)
	}
	received(t, log, `"text":"y\n"`) // opened again, with the new text
	waitFor(t, "the end of the first server's child", func() bool { return !alive(child) })
	rep, _ := b.servers.Current(t.Context(), []document.Snapshot{b.snap("a.fake")})
	wantContains(t, "current", rep.Current, "seen")
	if err := b.servers.Close(context.Background()); err != nil {
		t.Fatal(err)
	}
	last := readPid(t, pidFile)
	waitFor(t, "the end of the second server's child", func() bool { return !alive(last) })
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}

func TestKeepsDying(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[{"on":"initialize","stderr":"no licence","exit":1}]}`, func(o *lsp.Options) { o.Limits = short })
	r := b.edit("a.fake", "x", "y")
	if r.Freshness != lsp.Unavailable || len(r.New) != 0 || r.BaselineKnown || !strings.Contains(r.Note, "no licence") {
		t.Errorf("%+v", r)
	}
}

func TestNothingToLaunch(t *testing.T) {
	b, _ := fakeBench(t, `{}`, func(o *lsp.Options) {
		o.Launch = func(context.Context, profile.Profile, string) (lsp.Command, error) {
			return lsp.Command{}, errors.New("not installed")
		}
	})
	r := b.edit("a.fake", "x", "y")
	if r.Freshness != lsp.Unavailable || !strings.Contains(r.Note, "not installed") {
		t.Errorf("%+v", r)
	}
	if r := b.put("text.unknown", "x"); r.Freshness != lsp.Unsupported {
		t.Errorf("unknown type: %s", r.Freshness)
	}
}

func TestInstalling(t *testing.T) {
	b, _ := fakeBench(t, `{}`, func(o *lsp.Options) {
		o.Limits.LaunchWait = 50 * time.Millisecond
		o.Launch = func(ctx context.Context, _ profile.Profile, _ string) (lsp.Command, error) {
			<-ctx.Done()
			return lsp.Command{}, ctx.Err()
		}
	})
	if r := b.edit("a.fake", "x", "y"); r.Freshness != lsp.Installing {
		t.Errorf("%+v", r)
	}
}

func TestLoadingIsSaid(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[
		{"on":"initialized","notify":{"method":"$/progress","params":{"token":1,"value":{"kind":"begin","title":"Indexing"}}}},
		{"on":"didOpen","publish":{"diagnostics":[]}},{"on":"didChange","publish":{"diagnostics":[]}}]}`,
		func(o *lsp.Options) { o.Limits = short; o.Limits.IndexingWait = 700 * time.Millisecond })
	if r := b.edit("a.fake", "x", "y"); r.Freshness != lsp.Indexing || r.BaselineKnown {
		t.Errorf("%+v", r)
	}
}

// A document is never moved back to a text that was looked at before.
func TestOpenWithOlderText(t *testing.T) {
	b, log := fakeBench(t, `{"capabilities":{"textDocumentSync":1},"script":[{"on":"didOpen","publish":{"version":1,"diagnostics":[]}},{"on":"didChange","version":2,"publish":{"version":2,"diagnostics":[]}},{"on":"didClose"}]}`, nil)
	old := b.snap("a.fake")
	b.servers.Open(old)
	received(t, log, "didOpen")
	b.write("a.fake", "NEWTEXT\n")
	b.servers.Changed([]lsp.Changed{{Before: old, After: b.snap("a.fake")}})
	b.servers.Current(t.Context(), []document.Snapshot{old})
	now := b.snap("a.fake")
	b.write("a.fake", "LASTTEXT\n")
	b.servers.Changed([]lsp.Changed{{Before: now, After: b.snap("a.fake")}})
	text := received(t, log, "LASTTEXT")
	if i := strings.Index(text, "NEWTEXT"); strings.Contains(text[i:], `"text":"x`) {
		t.Errorf("the server was given the old text again:\n%s", text)
	}
}

// The wait's own first look must not use the barrier up.
func TestBarrierIsAsked(t *testing.T) {
	b, log := fakeBench(t, `{"capabilities":{},"script":[{"on":"didOpen","publish":{"version":1,"diagnostics":[]}},{"on":"barrier","error":{"code":-32601,"message":"no"}}]}`, func(o *lsp.Options) {
		g := profile.Gopls()
		o.Profiles[0].Rounds = map[string]string{"textDocument/didOpen": g.Rounds["textDocument/didOpen"]}
		o.Profiles[0].ProgressTitle = g.ProgressTitle
		o.Limits = lsp.Limits{LoadedWait: 3 * time.Second, TotalWait: 4 * time.Second}
	})
	s := b.snap("a.fake")
	b.servers.Open(s)
	received(t, log, "didOpen")
	time.Sleep(300 * time.Millisecond) // the moment at which a barrier is due passes before anybody waits
	if r, _ := b.servers.Current(t.Context(), []document.Snapshot{s}); r.Freshness == lsp.Timeout {
		b, _ := os.ReadFile(log)
		t.Errorf("timed out; the server received:\n%s", b)
	}
}

func TestJunkAndFlood(t *testing.T) {
	b, _ := fakeBench(t, `{"script":[
		{"on":"initialized","junk":"Welcome to the server\n"},
		{"on":"didOpen","publish":{"version":1,"diagnostics":[]}},
		{"on":"didChange","junk":"half a line, then","publish":{"version":2,"flood":30000,"diagnostics":[{"line":0,"message":"`+strings.Repeat("m", 9000)+`"}]}}]}`, nil)
	r := b.edit("a.fake", "x", "y")
	if len(r.Current) != 20_000 || !r.Truncated || r.BaselineKnown || len(r.New) != 0 || r.Freshness != lsp.Settled {
		t.Errorf("%d held, truncated %v, %s", len(r.Current), r.Truncated, r.Freshness)
	}
	for _, d := range r.Current {
		if len(d.Message) > 4096 {
			t.Fatalf("a message of %d bytes", len(d.Message))
		}
	}
}

func TestUntrusted(t *testing.T) {
	trusted := false
	b, _ := fakeBench(t, `{"script":[{"on":"didOpen","publish":{"diagnostics":[]}},{"on":"didChange","publish":{"diagnostics":[]}}]}`, func(o *lsp.Options) {
		o.Profiles[0].Runs = profile.RunsBuild
		o.Trusted = func(string) bool { return trusted }
	})
	r := b.edit("a.fake", "x", "y")
	if r.Freshness != lsp.Untrusted || len(b.servers.Status()) != 0 || r.Note == "" {
		t.Errorf("%+v", r)
	}
	trusted = true
	if r := b.edit("a.fake", "y", "z"); r.Freshness != lsp.Settled {
		t.Errorf("%+v", r)
	}
}

func TestExecutableInsideRoot(t *testing.T) {
	trusted := false
	b, _ := fakeBench(t, `{}`, func(o *lsp.Options) {
		launch := o.Launch
		o.Trusted = func(string) bool { return trusted }
		o.Launch = func(ctx context.Context, p profile.Profile, root string) (lsp.Command, error) {
			c, err := launch(ctx, p, root)
			link := filepath.Join(root, "server")
			os.Symlink(c.Path, link)
			c.Path = link
			return c, err
		}
	})
	r := b.edit("a.fake", "x", "y")
	if r.Freshness != lsp.Unavailable || !strings.Contains(r.Note, "not trusted") {
		t.Errorf("%+v", r)
	}
}

func readPid(t testing.TB, file string) int {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, c := range b {
		n = 10*n + int(c-'0')
	}
	return n
}
