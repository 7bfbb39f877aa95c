//go:build unix

package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"coedit/lsp/lsptest"
)

// A breakage is an edit of a module that breaks packages which import the edited
// one.
type breakage struct{ file, old, new string }

// smallModule is two packages.
func smallModule(b *testing.B, dir string) breakage {
	put(b, filepath.Join(dir, "go.mod"), "module example.test/m\n\ngo 1.22\n")
	put(b, filepath.Join(dir, "a/a.go"), "package a\n\nfunc F(n int) {}\n")
	put(b, filepath.Join(dir, "p/p.go"), "package p\n\nimport \"example.test/m/a\"\n\nfunc G() { a.F(0) }\n")
	return breakage{"a/a.go", "func F(n int)", "func F(n string)"}
}

// realModule is golang.org/x/tools out of the module cache: over 200,000 lines.
func realModule(b *testing.B, dir string) breakage {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "golang.org/x/tools").Output()
	src := strings.TrimSpace(string(out))
	if err != nil || src == "" {
		b.Skip("golang.org/x/tools is not in the module cache")
	}
	if err := os.CopyFS(dir, os.DirFS(src)); err != nil {
		b.Fatal(err)
	}
	if out, err := exec.Command("chmod", "-R", "u+w", dir).CombinedOutput(); err != nil {
		b.Fatalf("%v: %s", err, out)
	}
	return breakage{"internal/versions/versions.go", "func Lang(x string) string {", "func Lang(x, y string) string {"}
}

// elsewhere reports whether a publication tells errors of another folder than
// the broken one's.
func elsewhere(method string, body []byte, dir string) (uri string, bad, ok bool) {
	if !strings.HasSuffix(method, "publishDiagnostics") {
		return "", false, false
	}
	var m struct {
		Params struct {
			URI         string
			Diagnostics []struct{ Severity int }
		}
	}
	if json.Unmarshal(body, &m) != nil || strings.Contains(m.Params.URI, "/"+dir+"/") {
		return "", false, false
	}
	for _, d := range m.Params.Diagnostics {
		bad = bad || d.Severity == 1
	}
	return m.Params.URI, bad, true
}

func bareFeedback(b *testing.B, gopls, dir string, br breakage, rounds int) (out []time.Duration) {
	cmd := exec.Command(filepath.Join(gopls, "gopls"), "serve")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	c := lsptest.NewClient(in, stdout)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	text, err := os.ReadFile(filepath.Join(dir, br.file))
	must(err)
	good := string(text)
	bad := strings.Replace(good, br.old, br.new, 1)
	uri := "file://" + dir
	must(c.Send(map[string]any{"id": 1, "method": "initialize", "params": json.RawMessage(`{"rootUri":"` + uri +
		`","capabilities":{"window":{"workDoneProgress":true},"workspace":{"configuration":true},"textDocument":{"publishDiagnostics":{"versionSupport":true}}},` +
		`"initializationOptions":{"diagnosticsDelay":"0s","verboseWorkDoneProgress":true}}`)}))
	must(c.Until(func(_ string, body []byte) bool { return strings.Contains(string(body), `"capabilities"`) }))
	must(c.Send(map[string]any{"method": "initialized", "params": map[string]any{}}))
	must(c.Send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{
		"textDocument": map[string]any{"uri": uri + "/" + br.file, "languageId": "go", "version": 1, "text": good}}}))
	must(c.Until(func(m string, body []byte) bool {
		return strings.HasSuffix(m, "publishDiagnostics") && strings.Contains(string(body), br.file)
	}))
	folder, broken := filepath.Dir(br.file), ""
	for v := range rounds {
		for i, text := range []string{bad, good} {
			start := time.Now()
			must(c.Send(map[string]any{"method": "textDocument/didChange", "params": map[string]any{
				"textDocument":   map[string]any{"uri": uri + "/" + br.file, "version": 2 + 2*v + i},
				"contentChanges": []any{map[string]any{"text": text}}}}))
			must(c.Until(func(m string, body []byte) bool {
				at, bad, ok := elsewhere(m, body, folder)
				if i == 0 && ok && bad {
					broken = at
					return true
				}
				return i == 1 && ok && !bad && at == broken
			}))
			if i == 0 {
				out = append(out, time.Since(start))
			}
		}
	}
	return out
}

// BenchmarkFeedback compares an Edit through the protocol whose report shows
// the errors in the packages that it broke, to a bare client's wait for the
// first of them.
func BenchmarkFeedback(b *testing.B) {
	gopls := findGopls()
	if gopls == "" {
		b.Skip("no gopls")
	}
	for name, module := range map[string]func(*testing.B, string) breakage{"small": smallModule, "x-tools": realModule} {
		b.Run(name, func(b *testing.B) {
			work := own(b)
			br := module(b, work)
			b.Setenv("PATH", gopls+string(filepath.ListSeparator)+os.Getenv("PATH"))
			const rounds = 20
			for b.Loop() {
				s := startMCP(b, "--root", work)
				file := filepath.Join(work, br.file)
				mustCall(b, s, "Read", map[string]any{"file_path": file})
				mustCall(b, s, "Diagnostics", map[string]any{})
				var ours []time.Duration
				for n := range rounds + 1 {
					text, took := mustCall(b, s, "Edit", map[string]any{"file_path": file, "old_string": br.old, "new_string": br.new})
					if !strings.Contains(text, "This edit caused:") {
						b.Fatal(text)
					}
					if n > 0 { // the first one opens the file
						ours = append(ours, took)
					}
					if text, _ = mustCall(b, s, "Edit", map[string]any{"file_path": file, "old_string": br.new, "new_string": br.old}); !strings.Contains(text, "Resolved:") {
						b.Fatal(text)
					}
				}
				s.Close()
				bare := bareFeedback(b, gopls, work, br, rounds)
				b.ReportMetric(float64(p50(bare).Microseconds())/1000, "bare-ms")
				b.ReportMetric(float64(p50(ours).Microseconds())/1000, "edit-ms")
				b.ReportMetric(float64(p50(ours))/float64(p50(bare)), "ratio")
			}
		})
	}
}
