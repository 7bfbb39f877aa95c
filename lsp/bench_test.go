package lsp_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"coedit/document"
	"coedit/edits"
	"coedit/lsp"
	"coedit/lsp/lsptest"
)

// dependents is a module in which many packages use one function; filler
// packages of 500 lines each stand beside them.
func dependents(filler int) map[string]string {
	files := map[string]string{"go.mod": "module example.test/m\n\ngo 1.22\n", "a/a.go": "package a\n\nfunc F(n int) {}\n"}
	for i := range 20 {
		n := itoa(i)
		files["p"+n+"/p.go"] = "package p" + n + "\n\nimport \"example.test/m/a\"\n\nfunc G() { a.F(0) }\n"
	}
	for i := range filler {
		var b strings.Builder
		b.WriteString("package f" + itoa(i) + "\n\n")
		for k := range 166 {
			b.WriteString("func F" + itoa(k) + "(n int) int {\n\treturn n * " + itoa(k) + "\n}\n")
		}
		files["f"+itoa(i)+"/f.go"] = b.String()
	}
	return files
}

const (
	goodText = "package a\n\nfunc F(n int) {}\n"
	badText  = "package a\n\nfunc F(n string) {}\n"
)

// bareWaits measures the time from a change to the error in p7, which is
// never opened.
func bareWaits(b *testing.B, rounds, filler int) []time.Duration {
	dir := newBench(b, dependents(filler), func(*lsp.Options) {}).root.Dir()
	cmd := exec.Command(needGopls(b), "serve")
	cmd.Dir = dir
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	defer cmd.Wait()
	defer cmd.Process.Kill()
	c := lsptest.NewClient(in, out)
	must := func(err error) {
		if err != nil {
			b.Fatal(err)
		}
	}
	uri := "file://" + dir
	must(c.Send(map[string]any{"id": 1, "method": "initialize", "params": json.RawMessage(`{"processId":` + strconv.Itoa(os.Getpid()) +
		`,"rootUri":"` + uri + `","capabilities":{"window":{"workDoneProgress":true},"workspace":{"configuration":true},` +
		`"textDocument":{"publishDiagnostics":{"versionSupport":true}}},` +
		`"initializationOptions":{"diagnosticsDelay":"0s","verboseWorkDoneProgress":true}}`)}))
	must(c.Until(func(_ string, body []byte) bool { return strings.Contains(string(body), `"capabilities"`) }))
	must(c.Send(map[string]any{"method": "initialized", "params": map[string]any{}}))
	doc := map[string]any{"uri": uri + "/a/a.go", "languageId": "go", "version": 1, "text": goodText}
	must(c.Send(map[string]any{"method": "textDocument/didOpen", "params": map[string]any{"textDocument": doc}}))
	must(c.Until(func(_ string, body []byte) bool { return strings.Contains(string(body), "/a/a.go") }))
	var out2 []time.Duration
	for v := range rounds {
		for i, text := range []string{badText, goodText} {
			start := time.Now()
			must(c.Send(map[string]any{"method": "textDocument/didChange", "params": map[string]any{
				"textDocument":   map[string]any{"uri": uri + "/a/a.go", "version": 2 + 2*v + i},
				"contentChanges": []any{map[string]any{"text": text}}}}))
			must(c.Until(func(m string, body []byte) bool {
				return strings.HasSuffix(m, "publishDiagnostics") && strings.Contains(string(body), "/p7/") &&
					strings.Contains(string(body), `"severity"`) == (i == 0)
			}))
			if i == 0 {
				out2 = append(out2, time.Since(start))
			}
		}
	}
	return out2
}

// ourWaits measures the same through a report. The file is not written, which
// both leave out.
func ourWaits(b *testing.B, rounds, filler int) []time.Duration {
	w := goplsBench(b, dependents(filler))
	good := w.snap("a/a.go")
	bad, err := good.WithText(badText, document.Origin{})
	if err != nil {
		b.Fatal(err)
	}
	w.servers.Current(b.Context(), []document.Snapshot{good})
	at := strings.Index(goodText, "int")
	var out []time.Duration
	for range rounds {
		start := time.Now()
		base := w.servers.Before(b.Context(), []document.Snapshot{good})
		m := w.servers.Changed([]lsp.Changed{{Before: good, After: bad, Edits: []edits.Edit{{Start: at, End: at + 3, New: "string"}}}})
		r := w.servers.Diagnose(b.Context(), m, base)
		out = append(out, time.Since(start))
		if r.Freshness != lsp.Fresh || len(r.New) != 20 {
			b.Fatalf("%s, %d new", r.Freshness, len(r.New))
		}
		base = w.servers.Before(b.Context(), []document.Snapshot{bad})
		w.servers.Diagnose(b.Context(), w.servers.Changed([]lsp.Changed{{Before: bad, After: good}}), base)
	}
	return out
}

// BenchmarkDependentError compares an edit's report, with an error in a
// package that nobody opened, to a bare client's wait for that publication.
func BenchmarkDependentError(b *testing.B) {
	const rounds = 60
	for _, filler := range []int{0, 420} { // 420 packages are over 200,000 lines
		b.Run(itoa(filler*500)+"lines", func(b *testing.B) {
			for b.Loop() {
				bare, ours := bareWaits(b, rounds, filler), ourWaits(b, rounds, filler)
				slices.Sort(bare)
				slices.Sort(ours)
				b.ReportMetric(float64(bare[rounds/2].Microseconds())/1000, "bare-ms")
				b.ReportMetric(float64(ours[rounds/2].Microseconds())/1000, "report-ms")
				b.ReportMetric(float64(ours[rounds/2])/float64(bare[rounds/2]), "ratio")
			}
		})
	}
}
