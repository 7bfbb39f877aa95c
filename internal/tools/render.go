package tools

import (
	"fmt"
	"strings"
	"time"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/session"
	"coedit/lsp"
	"coedit/readstate"
)

// hunkText shows hunks as a person reads them, new lines with their numbers.
func hunkText(hunks []edits.Hunk) string {
	var b strings.Builder
	for i, h := range hunks {
		if i > 0 {
			b.WriteString("  ...\n")
		}
		n := max(1, h.NewStart)
		if h.NewLines == 0 {
			n = h.NewStart + 1
		}
		for _, l := range h.Lines {
			switch l[0] {
			case '-':
				fmt.Fprintf(&b, "       - %s\n", strings.TrimSuffix(l[1:], "\r"))
			case '+', ' ':
				fmt.Fprintf(&b, "%6d %c %s\n", n, l[0], strings.TrimSuffix(l[1:], "\r"))
				n++
			default:
				fmt.Fprintf(&b, "         %s\n", l)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// maxHunkBytes bounds the hunks of one answer.
const maxHunkBytes = 12 << 10

// textHunks words the hunks that fit in budget bytes, long lines in part where
// they don't fit else.
func textHunks(hunks []edits.Hunk, budget int) (text string, left int) {
	shown, left := boundHunks(hunks, budget)
	if left > 0 {
		shown, left = boundHunks(shortHunks(hunks), budget)
	}
	return hunkText(shown), left
}

// boundHunks cuts a list of hunks and says how many are left out.
func boundHunks(hunks []edits.Hunk, budget int) (shown []edits.Hunk, left int) {
	size := 0
	for i, h := range hunks {
		for _, l := range h.Lines {
			size += len(l) + 1
		}
		if size > budget {
			if i == 0 && len(h.Lines) > 0 { // a single large hunk is shown in part
				n, size := 0, 0
				for n < len(h.Lines) && size+len(h.Lines[n]) < budget {
					size += len(h.Lines[n]) + 1
					n++
				}
				h.Lines = h.Lines[:n]
				return []edits.Hunk{h}, len(hunks)
			}
			return hunks[:i], len(hunks) - i
		}
	}
	return hunks, 0
}

func structuredHunks(hunks []edits.Hunk) []map[string]any {
	out := []map[string]any{}
	for _, h := range hunks {
		out = append(out, map[string]any{"oldStart": h.OldStart, "oldLines": h.OldLines, "newStart": h.NewStart, "newLines": h.NewLines, "lines": h.Lines})
	}
	return out
}

// by says who changed a document.
func by(e session.External) string {
	switch {
	case len(e.Sessions) > 0:
		return "by another session (" + Visible(strings.Join(e.Sessions, ", ")) + ")"
	case e.Origin.Kind == document.OriginSession:
		return "by another session (" + Visible(e.Origin.Session) + ") and outside of it"
	case e.Origin.Kind == document.OriginEditor:
		return "by a person in the editor"
	case e.Origin.Kind == document.OriginCommand:
		return "by your own command " + Visible(e.Origin.Command)
	}
	return "on disk, by a person or another program"
}

const (
	maxExternal = 20  // changes of others shown with their hunks
	maxNamed    = 100 // changes of others named; more are counted
)

// externals words the changes of others, in one block, and lists them for the
// structured form.
func (c *call) externals(list []session.External) (string, []map[string]any) {
	var b strings.Builder
	b.WriteString("Changed since you saw it (not by you):")
	out := []map[string]any{}
	for i, e := range list {
		if c.s.MayLook(e.Path) != nil {
			continue
		}
		m := map[string]any{"filePath": e.Path.Name(), "change": e.Change, "origin": originOf(e)}
		out = append(out, m)
		switch {
		case i >= maxNamed:
			continue
		case e.Back:
			fmt.Fprintf(&b, "\n- %s: what you were told of was taken back, it is as you saw it before", c.show(e.Path))
			continue
		}
		fmt.Fprintf(&b, "\n- %s: %s %s", c.show(e.Path), e.Change, by(e))
		if i >= maxExternal {
			continue
		}
		if len(e.Hunks) == 0 {
			continue
		}
		text, left := textHunks(e.Hunks, 2<<10)
		b.WriteString("\n" + text)
		if left > 0 || e.Cut {
			b.WriteString("\n  (the change is larger than what is shown)")
		}
		hunks, _ := boundHunks(e.Hunks, 2<<10)
		m["hunks"] = structuredHunks(hunks)
	}
	if n := len(list) - maxNamed; n > 0 {
		fmt.Fprintf(&b, "\n- and %d more files", n)
	}
	return b.String(), out
}

func originOf(e session.External) map[string]any {
	m := map[string]any{"kind": string(e.Origin.Kind)}
	if len(e.Sessions) > 0 {
		m["kind"], m["session"] = "session", strings.Join(e.Sessions, ", ")
	} else if e.Origin.Kind == document.OriginSession {
		m["kind"] = "disk"
	}
	return m
}

// spanText words line spans.
func spanText(spans []readstate.Span) string {
	var parts []string
	for i, s := range spans {
		if i == 10 {
			parts = append(parts, fmt.Sprintf("… (%d more)", len(spans)-i))
			break
		}
		if s.First == s.Last {
			parts = append(parts, fmt.Sprint(s.First))
		} else {
			parts = append(parts, fmt.Sprintf("%d-%d", s.First, s.Last))
		}
	}
	if len(spans) == 1 && spans[0].First == spans[0].Last {
		return "line " + parts[0]
	}
	return "lines " + strings.Join(parts, ", ")
}

// maxEntries bounds the diagnostics of one answer.
const maxEntries = 20

// freshnessText says what a report is worth, "" when it is fresh.
func freshnessText(r lsp.Report) string {
	note := ""
	if r.Note != "" {
		note = ": " + Visible(r.Note)
	}
	switch r.Freshness {
	case lsp.Fresh, lsp.Skipped:
		return ""
	case lsp.Settled:
		return "Diagnostics have settled, which is no proof that they are complete" + note + "."
	case lsp.Timeout:
		return "Diagnostics timed out: the language server has not answered, so whether this edit broke something is not known" + note + "."
	case lsp.Indexing:
		return "The language server is still loading the project: whether this edit broke something is not known yet" + note + "."
	case lsp.Installing:
		return "The language server is being installed: no diagnostics yet" + note + "."
	case lsp.Unavailable:
		return "The language server is unavailable: no diagnostics" + note + "."
	case lsp.Untrusted:
		return "No diagnostics: the workspace is not trusted" + note + ". A person can run: coedit trust"
	case lsp.Unsupported:
		return "No language server checks this file."
	}
	return string(r.Freshness) + note
}

// diagnosticLine is one diagnostic as compilers print it.
func (c *call) diagnosticLine(d lsp.Diagnostic) string {
	tag := ""
	switch {
	case d.Source != "" && d.Code != "":
		tag = " [" + d.Source + " " + d.Code + "]"
	case d.Source != "" || d.Code != "":
		tag = " [" + d.Source + d.Code + "]"
	}
	s := fmt.Sprintf("%s:%d:%d %s%s %s", c.showName(d.Name), d.Line, d.Column, severity(d.Severity), Visible(tag), oneLine(d.Message))
	if d.Transient {
		s += " (probably transient)"
	}
	return s
}

// oneLine shows a message of a server on one line, cut at its end.
func oneLine(s string) string {
	s = Visible(strings.Join(strings.Fields(s), " "))
	if r := []rune(s); len(r) > 300 {
		s = string(r[:300]) + fmt.Sprintf("… (%d more characters)", len(r)-300)
	}
	return s
}

func severity(s lsp.Severity) string {
	return [...]string{"error", "error", "warning", "information", "hint"}[min(max(int(s), 0), 4)]
}

// reportText words a report: new first, then resolved, yours, counts, and how
// far it can be relied on.
func (c *call) reportText(r lsp.Report) string {
	if r.Freshness == lsp.Skipped || r.Freshness == "" {
		return ""
	}
	r = c.visibleReport(r)
	var b strings.Builder
	left := maxEntries
	list := func(title string, ds []lsp.Diagnostic) {
		if len(ds) == 0 {
			return
		}
		b.WriteString(title + "\n")
		for i, d := range ds {
			if left == 0 {
				fmt.Fprintf(&b, "  … and %d more\n", len(ds)-i)
				break
			}
			left--
			b.WriteString("  " + c.diagnosticLine(d) + "\n")
		}
	}
	known := r.Freshness == lsp.Fresh || r.Freshness == lsp.Settled
	if s := freshnessText(r); s != "" {
		b.WriteString(s + "\n")
	}
	if n := len(r.Unchecked); n > 0 && r.Freshness != lsp.Unsupported {
		names := make([]string, min(n, 10))
		for i := range names {
			names[i] = c.showName(r.Unchecked[i])
		}
		more := ""
		if n > len(names) {
			more = fmt.Sprintf(" and %d more", n-len(names))
		}
		fmt.Fprintf(&b, "No language server checks %s%s.\n", strings.Join(names, ", "), more)
	}
	if r.BaselineKnown {
		title := "This edit caused:"
		if r.Shared {
			title = "This edit, or what others changed meanwhile, caused:"
		}
		list(title, r.New)
	} else if known {
		list("What held before the edit is not known; these hold now:", serious(r.Current))
	}
	if n := len(r.Resolved); n > 0 {
		fmt.Fprintf(&b, "Resolved: %d (%s)\n", n, c.resolvedText(r.Resolved))
	}
	list("Still there from your earlier edits:", r.Yours)
	errs, warns := r.Remaining.Errors, r.Remaining.Warnings
	switch {
	case !known:
	case errs+warns == 0:
		b.WriteString("Diagnostics: clean, no errors or warnings.")
	case len(r.New) == 0 && r.BaselineKnown:
		fmt.Fprintf(&b, "Nothing new. Now in all: %s, %s.", count(errs, "error"), count(warns, "warning"))
	default:
		fmt.Fprintf(&b, "Now in all: %s, %s.", count(errs, "error"), count(warns, "warning"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// serious leaves hints and information out: they are never told unasked.
func serious(list []lsp.Diagnostic) []lsp.Diagnostic {
	var out []lsp.Diagnostic
	for _, d := range list {
		if d.Severity <= 2 {
			out = append(out, d)
		}
	}
	return out
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func (c *call) resolvedText(list []lsp.Diagnostic) string {
	var parts []string
	for i, d := range list {
		if i == 3 {
			parts = append(parts, "…")
			break
		}
		parts = append(parts, fmt.Sprintf("%s: %s", c.showName(d.Name), oneLine(d.Message)))
	}
	return strings.Join(parts, "; ")
}

// visibleReport leaves out what the rules do not let the agent see.
func (c *call) visibleReport(r lsp.Report) lsp.Report {
	keep := func(list []lsp.Diagnostic) []lsp.Diagnostic {
		out := make([]lsp.Diagnostic, 0, len(list))
		for _, d := range list {
			if d.Path.IsZero() || c.s.MayLook(d.Path) == nil {
				out = append(out, d)
			}
		}
		return out
	}
	r.New, r.Resolved, r.Yours, r.Current = keep(r.New), keep(r.Resolved), keep(r.Yours), keep(r.Current)
	return r
}

// structuredReport is the report of the contract.
func (c *call) structuredReport(r lsp.Report) map[string]any {
	r = c.visibleReport(r)
	baseline := "unknown"
	if r.BaselineKnown {
		baseline = "known"
	}
	servers := []map[string]any{}
	for _, e := range r.Servers {
		m := map[string]any{"name": Visible(e.Name), "waitedMs": e.Waited.Round(time.Millisecond).Milliseconds()}
		if e.How != "" {
			m["how"] = e.How
		}
		servers = append(servers, m)
	}
	out := map[string]any{
		"freshness": string(r.Freshness), "baseline": baseline, "servers": servers,
		"new": c.structuredDiagnostics(r.New), "resolved": c.structuredDiagnostics(r.Resolved), "yours": c.structuredDiagnostics(r.Yours),
		"remaining": map[string]any{"errors": r.Remaining.Errors, "warnings": r.Remaining.Warnings},
	}
	if n := len(r.Unchecked); n > 0 {
		names := make([]string, min(n, maxEntries))
		for i := range names {
			names[i] = Visible(r.Unchecked[i])
		}
		out["unchecked"] = names
	}
	if n := len(r.New) + len(r.Resolved) + len(r.Yours); n > 3*maxEntries || len(r.New) > maxEntries || r.Truncated {
		out["truncated"] = true
	}
	return out
}

func (c *call) structuredDiagnostics(list []lsp.Diagnostic) []map[string]any {
	out := []map[string]any{}
	for i, d := range list {
		if i == maxEntries {
			break
		}
		m := map[string]any{"filePath": Visible(d.Name), "line": d.Line, "column": d.Column, "endLine": d.EndLine, "endColumn": d.EndColumn,
			"severity": severity(d.Severity), "source": Visible(d.Source), "message": oneLine(d.Message)}
		if d.Code != "" {
			m["code"] = Visible(d.Code)
		}
		if d.Transient {
			m["transient"] = true
		}
		out = append(out, m)
	}
	return out
}
