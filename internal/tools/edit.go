package tools

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/session"
	"coedit/readstate"

	"github.com/google/jsonschema-go/jsonschema"
)

// maxOriginal is the size up to which the text before an edit is handed to
// hosts that ask for it.
const maxOriginal = 256 << 10

type commonArgs struct {
	DryRun      bool   `json:"dry_run"`
	Diagnostics string `json:"diagnostics"`
	OnStale     string `json:"on_stale"`
}

func (a commonArgs) intent() session.Intent {
	return session.Intent{DryRun: a.DryRun, Wait: a.Diagnostics != "skip", Rebase: a.OnStale == "rebase"}
}

type replacement struct {
	FilePath   string `json:"file_path"`
	OldString  string `json:"old_string"`
	NewString  string `json:"new_string"`
	ReplaceAll bool   `json:"replace_all"`
}

type editArgs struct {
	replacement
	commonArgs
}

func replacementSchema() map[string]*jsonschema.Schema {
	return map[string]*jsonschema.Schema{
		"file_path":   str("The file, best as an absolute path."),
		"old_string":  str("The exact text to replace, without line-number prefixes; unique in the file unless replace_all. Empty creates the file."),
		"new_string":  str("The text to put there, taken literally."),
		"replace_all": boolean("Replace every occurrence."),
	}
}

func editTool() *tool {
	return &tool{
		name: "Edit",
		description: "Replaces a string in a file and tells what that broke or fixed in the whole project. Read the file first: an edit of text that changed since is refused, with what changed. " +
			"old_string must match exactly, indentation too; take it from Read without the line number and tab. Prefer Edit over Write for existing files. " +
			"The answer shows the new lines with their numbers, so there is no need to read again. Several edits may run in parallel.",
		destructive: true, byDefault: true,
		input:  object([]string{"file_path", "old_string", "new_string"}, withCommon(replacementSchema(), true)),
		output: outputOf("text", "filePath", "type", "replacements", "structuredPatch", "userModified", "appliedVia", "saved", "encoding", "lineEndings", "unseenLines", "diagnostics", "historyId", "dryRun"),
		run:    runEdit,
	}
}

func runEdit(ctx context.Context, c *call) (Result, error) {
	a, err := decode[editArgs](c)
	if err != nil {
		return Result{}, err
	}
	in := a.intent()
	steps, err := c.steps([]replacement{a.replacement}, "", false)
	if err != nil {
		return Result{}, err
	}
	return c.edit(ctx, in, steps, false)
}

// A step is one replacement with its confined path.
type step struct {
	replacement
	path  document.Path
	match edits.Match
	made  bool // it made the file
}

// steps resolves the paths of replacements.
func (c *call) steps(list []replacement, base string, many bool) ([]*step, error) {
	out := make([]*step, len(list))
	for i, r := range list {
		name := r.FilePath
		if name == "" {
			name = base
		}
		if name == "" {
			return nil, &argumentError{fmt.Sprintf("edits[%d] names no file_path, and there is none beside the edits", i)}
		}
		p, err := c.resolve(name)
		if err == nil && strings.ContainsRune(r.NewString, 0) {
			err = &argumentError{"new_string holds a NUL character: the file would not be text any more"}
		}
		if err == nil && strings.EqualFold(path.Ext(p.Rel()), ".ipynb") {
			err = &codedError{"use_notebook_edit", p.Rel() + " is a notebook: editing its JSON as text would break it. Notebook editing is not built yet; nothing was changed."}
		}
		if err != nil && many {
			return nil, &indexedError{i, err}
		}
		if err != nil {
			return nil, err
		}
		out[i] = &step{replacement: r, path: p}
	}
	return out, nil
}

// edit runs replacements, in order, as one plan.
func (c *call) edit(ctx context.Context, in session.Intent, steps []*step, many bool) (Result, error) {
	for _, s := range steps {
		if !contains(in.Paths, s.path) {
			in.Paths = append(in.Paths, s.path)
		}
	}
	in.Plan = func(ctx context.Context, looked []session.Looked) (edits.Plan, error) {
		return planReplacements(ctx, looked, steps, many)
	}
	out, err := c.s.Edit(ctx, in)
	var de *document.Error
	if errors.As(err, &de) && errors.Is(de.Err, document.ErrNotFound) && !many {
		return Result{}, c.notFound(ctx, in.Paths[0])
	}
	if err != nil {
		return Result{}, err
	}
	if many {
		return c.multiResult(out, steps, in.DryRun), nil
	}
	r := c.editResult(out, 0, in.DryRun, c.headline(out, 0, steps, in.DryRun), replacements(steps))
	return c.withReport(r, out), nil
}

func contains(list []document.Path, p document.Path) bool {
	for _, q := range list {
		if p == q {
			return true
		}
	}
	return false
}

func replacements(steps []*step) int {
	n := 0
	for _, s := range steps {
		n += len(s.match.Edits)
	}
	return n
}

// planReplacements makes one plan of all steps; each document's are in order,
// each on the result of those before it.
func planReplacements(ctx context.Context, looked []session.Looked, steps []*step, many bool) (edits.Plan, error) {
	texts := map[document.Path]*edits.Sequence{}
	at := map[document.Path]session.Looked{}
	for _, l := range looked {
		texts[l.Path], at[l.Path] = edits.NewSequence(l.Text), l
	}
	for i, s := range steps {
		if err := ctx.Err(); err != nil {
			return edits.Plan{}, err
		}
		if err := s.replace(at[s.path], texts[s.path]); err != nil {
			if many {
				err = &indexedError{i, err}
			}
			return edits.Plan{}, err
		}
	}
	var plan edits.Plan
	for _, l := range looked {
		c := edits.Change{From: l.Path, To: l.Path, Base: l.Revision, Edits: texts[l.Path].Edits()}
		if !l.Exists() {
			c.From = document.Path{}
		} else if texts[l.Path].Text() == l.Text {
			if !many {
				return plan, &edits.MatchError{Reason: edits.NoChange}
			}
			continue
		}
		plan.Changes = append(plan.Changes, c)
	}
	if len(plan.Changes) == 0 {
		return plan, &edits.MatchError{Reason: edits.NoChange}
	}
	return plan, nil
}

// replace plans one step on the text as it is after those before it.
func (s *step) replace(l session.Looked, text *edits.Sequence) error {
	s.match, s.made = edits.Match{}, false
	if s.OldString == "" {
		if text.Text() != "" {
			return &codedError{"already_exists", path.Base(s.path.Rel()) + " exists and is not empty, so an empty old_string can't create it. Name the text to replace, or use Write to replace the whole file."}
		}
		if s.NewString == "" && l.Exists() {
			return &edits.MatchError{Reason: edits.NoChange}
		}
		s.made = !l.Exists()
		s.match = edits.Match{Edits: []edits.Edit{{New: s.NewString}}, Lines: []int{1}}
		if s.NewString == "" {
			return nil
		}
		return text.Apply(s.match.Edits)
	}
	if !l.Exists() && text.Text() == "" {
		return &document.Error{Name: s.path.Name(), Err: document.ErrNotFound}
	}
	seen := l.Seen
	if len(text.Edits()) > 0 {
		seen = func(n int) bool {
			old, ok := text.Origin(n)
			return !ok || l.Seen(old)
		}
	}
	m, err := text.Replace(s.OldString, s.NewString, s.ReplaceAll)
	var me *edits.MatchError
	if errors.As(err, &me) {
		for _, n := range me.Lines {
			if !seen(n) {
				me.Unseen = append(me.Unseen, n)
			}
		}
	}
	s.match = m
	return err
}

// headline says in one line what happened to one file.
func (c *call) headline(out session.Outcome, i int, steps []*step, dry bool) string {
	p := out.Plan.Changes[i].Path()
	verb := "Updated "
	if out.Plan.Changes[i].Kind() == edits.Create {
		verb = "Created "
	}
	if dry {
		verb = map[string]string{"Updated ": "Would update ", "Created ": "Would create "}[verb]
	}
	s := verb + c.show(p)
	n, all := 0, false
	var lines, over []int
	for _, st := range steps {
		if st.path == p {
			n += len(st.match.Edits)
			all = all || st.ReplaceAll
			lines = append(lines, st.match.Lines...)
			over = append(over, st.match.Overlapped...)
		}
	}
	if all && len(steps) == 1 {
		word := "lines"
		if len(lines) == 1 {
			word = "line"
		}
		s += fmt.Sprintf(": %s, %s %s", count(n, "replacement"), word, numbers(lines))
	} else if n > 1 {
		s += fmt.Sprintf(": %s", count(n, "replacement"))
	}
	if len(over) > 0 {
		s += fmt.Sprintf(" (%s overlapping one that was replaced left out, on line %s)", count(len(over), "occurrence"), numbers(over))
	}
	for _, st := range steps {
		if st.path == p && st.match.Quotes {
			s += " (the file's typographic quotes were kept)"
			break
		}
	}
	return s + "."
}

// editResult is the answer for change i of an outcome, without the report.
func (c *call) editResult(out session.Outcome, i int, dry bool, headline string, n int) Result {
	change, before, after := out.Plan.Changes[i], out.Before[i], out.After[i]
	p := change.Path()
	hunks := edits.Hunks(before.Text, change.Edits, 2)
	r := Result{quotes: []document.Path{p}, Text: headline}
	kind := "update"
	if change.Kind() == edits.Create {
		kind, hunks = "create", nil
		r.Text += fmt.Sprintf(" %s, %s.", count(document.Lines(after.Text).Count(), "line"), count(len(after.Bytes), "byte"))
	}
	if len(hunks) > 0 {
		text, left := textHunks(hunks, maxHunkBytes)
		r.Text += "\n" + text
		if left > 0 {
			r.Text += "\n  (more was changed than is shown)"
		}
	}
	small, _ := boundHunks(hunks, 1200)
	r.Structured = map[string]any{
		"filePath": p.Name(), "type": kind, "replacements": n, "structuredPatch": structuredHunks(small), "userModified": false,
		"appliedVia": "disk", "saved": !dry, "encoding": string(after.Encoding), "lineEndings": string(document.LineEndsOf(after.Text)),
	}
	if dry {
		r.Structured["dryRun"] = true
	}
	if unseen := out.Unseen[p]; len(unseen) > 0 {
		r.Text += fmt.Sprintf("\nNote: you had not seen %s.", spanText(unseen))
		r.Structured["unseenLines"] = pairs(unseen)
	}
	if kind == "create" {
		r.Meta = map[string]any{"originalFile": nil}
	} else if len(before.Text) <= maxOriginal {
		r.Meta = map[string]any{"originalFile": before.Text}
	}
	if out.Entry != "" {
		r.Structured["historyId"] = string(out.Entry)
	}
	return r
}

func pairs(spans []readstate.Span) [][2]int {
	out := [][2]int{}
	for i, s := range spans {
		if i == 50 {
			break
		}
		out = append(out, [2]int{s.First, s.Last})
	}
	return out
}

// withReport adds the diagnostics, the notices and what was planned over.
func (c *call) withReport(r Result, out session.Outcome) Result {
	for _, n := range out.Notices {
		r.Text += "\nNote: " + Visible(n) + "."
	}
	if text := c.reportText(out.Report); text != "" {
		r.Text += "\n" + text
	}
	r.Structured["diagnostics"] = c.structuredReport(out.Report)
	r.notices = append(r.notices, out.External...)
	for _, e := range out.External {
		r.skip = append(r.skip, e.Path)
	}
	return r
}

type multiArgs struct {
	FilePath string        `json:"file_path"`
	Edits    []replacement `json:"edits"`
	commonArgs
}

func multiEditTool() *tool {
	one := 1
	item := object([]string{"old_string", "new_string"}, replacementSchema())
	return &tool{
		name: "MultiEdit",
		description: "Makes several replacements in one or more files, all or nothing, with one report at the end. Each works on the result of those before it. " +
			"Rules as for Edit; every existing file must have been read.",
		destructive: true, byDefault: true,
		input: object([]string{"edits"}, withCommon(map[string]*jsonschema.Schema{
			"file_path": str("The file of the edits that name none."),
			"edits":     {Type: "array", Items: item, MinItems: &one, Description: "The replacements, in order."},
		}, true)),
		output: outputOf("text", "files", "diagnostics", "historyId", "dryRun"),
		run: func(ctx context.Context, c *call) (Result, error) {
			a, err := decode[multiArgs](c)
			if err != nil {
				return Result{}, err
			}
			steps, err := c.steps(a.Edits, a.FilePath, true)
			if err != nil {
				return Result{}, err
			}
			return c.edit(ctx, a.intent(), steps, true)
		},
	}
}

// multiResult is the answer of a plan over several files.
func (c *call) multiResult(out session.Outcome, steps []*step, dry bool) Result {
	r := Result{Structured: map[string]any{}}
	files := []map[string]any{}
	var parts []string
	for i, ch := range out.Plan.Changes {
		n := 0
		for _, s := range steps {
			if s.path == ch.Path() {
				n += len(s.match.Edits)
			}
		}
		one := c.editResult(out, i, dry, c.headline(out, i, steps, dry), n)
		parts = append(parts, one.Text)
		files = append(files, one.Structured)
		r.quotes = append(r.quotes, one.quotes...)
	}
	r.Text = strings.Join(parts, "\n")
	r.Structured["files"] = files
	if dry {
		r.Structured["dryRun"] = true
	}
	if out.Entry != "" {
		r.Structured["historyId"] = string(out.Entry)
	}
	return c.withReport(r, out)
}
