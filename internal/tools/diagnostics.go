package tools

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"coedit/document"
	"coedit/lsp"

	"github.com/google/jsonschema-go/jsonschema"
)

type diagnosticsArgs struct {
	FilePath string `json:"file_path"`
	Severity string `json:"severity"`
}

func diagnosticsTool() *tool {
	return &tool{
		name: "Diagnostics",
		description: "Tells the errors and warnings that language servers see now, in a file, below a folder, or in the whole workspace. " +
			"Editing tools report what an edit changed by themselves; use this to see what holds as a whole.",
		readOnly: true, idempotent: true, byDefault: true,
		input: object(nil, map[string]*jsonschema.Schema{
			"file_path": str("A file or folder; none for the whole workspace."),
			"severity":  oneOf("The least severity to list (default warning).", "error", "warning", "information", "hint"),
		}),
		output: outputOf("text", "freshness", "items", "total", "truncated", "servers"),
		run:    runDiagnostics,
	}
}

func runDiagnostics(ctx context.Context, c *call) (Result, error) {
	a, err := decode[diagnosticsArgs](c)
	if err != nil {
		return Result{}, err
	}
	least := map[string]lsp.Severity{"": 2, "error": 1, "warning": 2, "information": 3, "hint": 4}[a.Severity]
	var file, folder document.Path
	scope := ""
	if a.FilePath != "" {
		p, err := c.resolve(a.FilePath)
		if err != nil {
			return Result{}, err
		}
		scope = p.Name()
		info, err := os.Stat(scope)
		if err != nil {
			return Result{}, c.notFound(ctx, p)
		}
		if info.IsDir() {
			folder = p
		} else {
			file = p
		}
	}
	report, all, err := c.s.Diagnostics(ctx, file, folder)
	if err != nil {
		return Result{}, err
	}
	var shown []lsp.Diagnostic
	hidden := 0
	for _, d := range all {
		if scope != "" && d.Name != scope && !strings.HasPrefix(d.Name, scope+string(filepath.Separator)) {
			continue
		}
		if !d.Path.IsZero() && c.s.MayLook(d.Path) != nil {
			hidden++
			continue
		}
		if d.Severity <= least {
			shown = append(shown, d)
		}
	}
	what := "the files of this workspace"
	switch {
	case !file.IsZero():
		what = "this file"
	case !folder.IsZero():
		what = "the files of this folder"
	}
	return c.diagnosticsResult(report, what, shown, hidden), nil
}

// maxListed bounds the diagnostics listed by the Diagnostics tool.
const maxListed = 100

func (c *call) diagnosticsResult(report lsp.Report, what string, shown []lsp.Diagnostic, hidden int) Result {
	var b strings.Builder
	if report.Freshness == lsp.Unsupported {
		fmt.Fprintf(&b, "No language server checks %s.\n", what)
	} else if s := freshnessText(report); s != "" {
		b.WriteString(s + "\n")
	} else if report.Freshness == lsp.Skipped {
		b.WriteString("No language server is running here.\n")
	}
	known := report.Freshness == lsp.Fresh || report.Freshness == lsp.Settled
	for i, d := range shown {
		if i == maxListed {
			fmt.Fprintf(&b, "… and %d more\n", len(shown)-i)
			break
		}
		b.WriteString(c.diagnosticLine(d) + "\n")
	}
	if len(shown) == 0 && known {
		names := make([]string, len(report.Servers))
		for i, ev := range report.Servers {
			names[i] = ev.Name
		}
		fmt.Fprintf(&b, "Clean: %s says nothing of this severity.\n", strings.Join(names, ", "))
	}
	if hidden > 0 {
		fmt.Fprintf(&b, "(%s in files that may not be looked at)\n", count(hidden, "diagnostic"))
	}
	servers := c.structuredReport(report)["servers"]
	items := []map[string]any{}
	for _, d := range shown[:min(len(shown), maxListed)] {
		items = append(items, c.structuredDiagnostics([]lsp.Diagnostic{d})...)
	}
	return Result{Text: strings.TrimSuffix(b.String(), "\n"), Structured: map[string]any{
		"freshness": string(report.Freshness), "items": items, "total": len(shown), "truncated": len(shown) > maxListed || report.Truncated, "servers": servers}}
}
