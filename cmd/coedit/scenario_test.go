//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"coedit/internal/provision"
	"coedit/internal/settings"
	"coedit/lsp/lsptest"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"coedit":   func() { os.Exit(run(os.Args[1:], streams{os.Stdin, os.Stdout, os.Stderr})) },
		"fake-lsp": func() { os.Exit(fakeServer()) },
		"floor":    func() { os.Exit(floorServer()) },
	})
}

// fakeServer plays the script that its argument names.
func fakeServer() int {
	b, err := os.ReadFile(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return lsptest.Serve(os.Stdin, os.Stdout, b)
}

// TestScenario runs testdata/scenario: tool calls in, answers and files out.
func TestScenario(t *testing.T) { scenarios(t, "scenario", true) }

// findGopls returns the folder of a gopls on PATH or in coedit's cache.
var findGopls = sync.OnceValue(func() string {
	home, _ := os.UserHomeDir()
	f, err := settings.FindFolders(os.Getenv, home, os.Getuid())
	if err != nil {
		return ""
	}
	t, err := provision.New(provision.Options{Cache: f.Cache, Path: os.Getenv("PATH")}).Find(tContext(), "gopls")
	if err != nil {
		return ""
	}
	return filepath.Dir(t.Path)
})

// scenarios runs the scripts of a folder, with the watcher or without.
func scenarios(t *testing.T, dir string, watch bool) {
	update := false
	for _, a := range os.Args {
		update = update || a == "-update"
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("..", "..", "testdata", dir),
		RequireExplicitExec: true,
		UpdateScripts:       update || os.Getenv("COEDIT_UPDATE") != "",
		Setup: func(env *testscript.Env) error {
			env.Values[watchKey{}] = watch
			return setupScenario(env)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"start": cmdStart, "call": cmdCall, "parallel": cmdParallel, "disk": cmdDisk, "restart": cmdRestart, "limit": cmdLimit, "quit": cmdQuit, "same": cmdSame, "fakelog": cmdFakeLog},
		Condition: func(cond string) (bool, error) {
			switch cond {
			case "watch": // what happens is told without a call
				return watch, nil
			case "gopls":
				if findGopls() == "" && os.Getenv("CI") == "true" {
					return false, errors.New("gopls is neither on PATH nor in coedit's cache")
				}
				return findGopls() != "", nil
			}
			return false, fmt.Errorf("no condition %q", cond)
		},
	})
}

type (
	agentKey struct{}
	watchKey struct{}
)

// An agent is the coedit process of one scenario.
type agent struct {
	cmd   *exec.Cmd
	in    io.WriteCloser
	lines chan []byte
	args  []string
	next  int
	wait  map[string]response
}

func setupScenario(env *testscript.Env) error {
	out := filepath.Join(filepath.Dir(env.WorkDir), filepath.Base(env.WorkDir)+".out")
	for _, d := range []string{"home", "config", "state", "cache", "run"} {
		if err := os.MkdirAll(filepath.Join(out, d), 0o700); err != nil {
			return err
		}
	}
	env.Setenv("OUT", out)
	env.Setenv("HOME", filepath.Join(out, "home"))
	for _, d := range []string{"config", "state", "cache"} {
		env.Setenv("COEDIT_"+strings.ToUpper(d)+"_DIR", filepath.Join(out, d))
	}
	env.Setenv("COEDIT_RUNTIME_DIR", filepath.Join(out, "run"))
	for _, v := range []string{"GOCACHE", "GOMODCACHE", "GOPATH"} {
		b, err := exec.Command("go", "env", v).Output()
		if err != nil {
			return err
		}
		env.Setenv(v, strings.TrimSpace(string(b)))
	}
	env.Setenv("GOPROXY", "off")
	env.Setenv("GOFLAGS", "")
	a := &agent{wait: map[string]response{}}
	env.Values[agentKey{}] = a
	env.Defer(func() {
		a.end()
		os.RemoveAll(out)
	})
	return nil
}

func agentOf(ts *testscript.TestScript) *agent { return ts.Value(agentKey{}).(*agent) }

// cmdStart starts coedit: start [-servers=gopls|fake|none] [flags of coedit call].
func cmdStart(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	servers := "none"
	var flags []string
	for _, arg := range args {
		if v, ok := strings.CutPrefix(arg, "-servers="); ok {
			servers = v
			continue
		}
		flags = append(flags, arg)
	}
	work := ts.MkAbs(".")
	flags = append([]string{"call", "--root", work, "--session", "A"}, flags...)
	if watch, _ := ts.Value(watchKey{}).(bool); !watch {
		flags = append(flags, "--watch", "off")
	}
	if !slices.ContainsFunc(flags, func(f string) bool { return strings.HasPrefix(f, "--permission-mode") }) {
		flags = append(flags, "--permission-mode", "bypassPermissions")
	}
	switch servers {
	case "none":
		flags = append(flags, "--servers", "off")
	case "gopls":
		ts.Setenv("PATH", findGopls()+string(filepath.ListSeparator)+ts.Getenv("PATH"))
	case "fake":
		config := fmt.Sprintf(`{"servers": {"fake": {"command": "fake-lsp", "args": [%q], "files": ["*.fake"]}}, "diagnostics": {"loadedMs": 3000}}`, ts.MkAbs("fake.json"))
		ts.Check(os.WriteFile(filepath.Join(ts.Getenv("COEDIT_CONFIG_DIR"), "settings.json"), []byte(config), 0o600))
	}
	a.args = flags
	a.start(ts)
}

func (a *agent) start(ts *testscript.TestScript) {
	bin, err := exec.LookPath("coedit")
	for dir := range strings.SplitSeq(ts.Getenv("PATH"), string(filepath.ListSeparator)) {
		if p, e := exec.LookPath(filepath.Join(dir, "coedit")); e == nil {
			bin, err = p, nil
			break
		}
	}
	ts.Check(err)
	cmd := exec.Command(bin, a.args...)
	cmd.Dir = ts.MkAbs(".")
	for _, v := range []string{"HOME", "PATH", "OUT", "COEDIT_CONFIG_DIR", "COEDIT_STATE_DIR", "COEDIT_CACHE_DIR", "COEDIT_RUNTIME_DIR", "GOCACHE", "GOMODCACHE", "GOPATH", "GOPROXY", "GOFLAGS", "TMPDIR"} {
		cmd.Env = append(cmd.Env, v+"="+ts.Getenv(v))
	}
	in, err := cmd.StdinPipe()
	ts.Check(err)
	out, err := cmd.StdoutPipe()
	ts.Check(err)
	cmd.Stderr = os.Stderr
	ts.Check(cmd.Start())
	lines := make(chan []byte, 100)
	go func() {
		defer close(lines)
		s := bufio.NewScanner(out)
		s.Buffer(nil, 64<<20)
		for s.Scan() {
			lines <- slices.Clone(s.Bytes())
		}
	}()
	a.cmd, a.in, a.lines = cmd, in, lines
}

// end closes the agent's input and waits for it, with its servers, to go.
func (a *agent) end() {
	if a.cmd == nil {
		return
	}
	a.in.Close()
	for range a.lines {
	}
	a.cmd.Wait()
	a.cmd = nil
}

func cmdQuit(ts *testscript.TestScript, neg bool, args []string) { agentOf(ts).end() }

func cmdRestart(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	a.end()
	a.start(ts)
}

func (a *agent) send(ts *testscript.TestScript, session, tool string, args json.RawMessage, concurrent bool) string {
	a.next++
	id := strconv.Itoa(a.next)
	line, err := json.Marshal(map[string]any{"id": id, "session": session, "tool": tool, "arguments": args, "concurrent": concurrent})
	ts.Check(err)
	_, err = a.in.Write(append(line, '\n'))
	ts.Check(err)
	return id
}

func (a *agent) receive(ts *testscript.TestScript, id string) response {
	deadline := time.After(90 * time.Second)
	for {
		if r, ok := a.wait[id]; ok {
			delete(a.wait, id)
			return r
		}
		select {
		case line, ok := <-a.lines:
			if !ok {
				ts.Fatalf("coedit ended before it answered")
			}
			var r response
			ts.Check(json.Unmarshal(line, &r))
			var got string
			ts.Check(json.Unmarshal(r.ID, &got))
			a.wait[got] = r
		case <-deadline:
			ts.Fatalf("no answer within 90 s")
		}
	}
}

// arguments reads JSON given as text, or from a file with @; $WORK and $OUT
// are put in.
func arguments(ts *testscript.TestScript, s string) json.RawMessage {
	if name, ok := strings.CutPrefix(s, "@"); ok {
		s = ts.ReadFile(name)
	}
	s = strings.ReplaceAll(strings.ReplaceAll(s, "$WORK", ts.MkAbs(".")), "$OUT", ts.Getenv("OUT"))
	if !json.Valid([]byte(s)) {
		ts.Fatalf("not JSON: %s", s)
	}
	return json.RawMessage(s)
}

// cmdCall calls a tool and puts its text on stdout: [!] call [-session=B]
// [-any] [-full] Tool ARGUMENTS. With ! it must fail, with -any it may.
func cmdCall(ts *testscript.TestScript, neg bool, args []string) {
	session, either, full, tries := "", false, false, 1
	for len(args) > 0 && strings.HasPrefix(args[0], "-") {
		switch v, ok := strings.CutPrefix(args[0], "-session="); {
		case ok && v != "A":
			session = v
		case args[0] == "-any":
			either = true
		case args[0] == "-full":
			full = true
		case args[0] == "-loaded":
			tries = 10
		}
		args = args[1:]
	}
	if len(args) != 2 {
		ts.Fatalf("usage: call [-session=S] [-any] [-full] Tool ARGUMENTS")
	}
	a := agentOf(ts)
	if a.cmd == nil {
		ts.Fatalf("not started")
	}
	var r response
	for ; tries > 0; tries-- { // -loaded: a server on a slow machine may need several waits
		r = a.receive(ts, a.send(ts, session, args[0], arguments(ts, args[1]), false))
		if tries == 1 || !strings.Contains(r.Text, "still loading") && !strings.Contains(r.Text, "timed out") {
			break
		}
		fmt.Fprintln(ts.Stdout(), r.Text)
	}
	text := strings.ReplaceAll(strings.ReplaceAll(r.Text, ts.MkAbs("."), "$WORK"), ts.Getenv("OUT"), "$OUT")
	if full {
		b, err := json.MarshalIndent(r.Structured, "", " ")
		ts.Check(err)
		text = strings.ReplaceAll(string(b), ts.MkAbs("."), "$WORK")
	}
	fmt.Fprintln(ts.Stdout(), text)
	if r.IsError != neg && !either {
		ts.Fatalf("isError is %v: %s", r.IsError, text)
	}
}

// cmdParallel sends the calls of a file at once, one JSON object a line with
// session, tool, arguments, and puts "N ok, M failed" on stdout.
func cmdParallel(ts *testscript.TestScript, neg bool, args []string) {
	a := agentOf(ts)
	var ids []string
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var q request
		ts.Check(json.Unmarshal([]byte(line), &q))
		if q.Session == "A" {
			q.Session = ""
		}
		ids = append(ids, a.send(ts, q.Session, q.Tool, arguments(ts, string(q.Arguments)), true))
	}
	ok := 0
	for _, id := range ids {
		r := a.receive(ts, id)
		fmt.Fprintln(ts.Stdout(), r.Text)
		if !r.IsError {
			ok++
		}
	}
	fmt.Fprintf(ts.Stdout(), "%d ok, %d failed\n", ok, len(ids)-ok)
}

// cmdSame checks a file's exact bytes: same FILE TEXT, TEXT a Go string.
func cmdSame(ts *testscript.TestScript, neg bool, args []string) {
	want, err := strconv.Unquote(args[1])
	ts.Check(err)
	if got := ts.ReadFile(args[0]); (got == want) == neg {
		ts.Fatalf("%s holds %q, want %q", args[0], got, want)
	}
}
