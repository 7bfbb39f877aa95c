package tools

import (
	"context"
	"fmt"
	"path"
	"strings"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/session"

	"github.com/google/jsonschema-go/jsonschema"
)

type writeArgs struct {
	FilePath string `json:"file_path"`
	Content  string `json:"content"`
	commonArgs
}

func writeTool() *tool {
	return &tool{
		name: "Write",
		description: "Creates a file (and its folders) or replaces one whole, and tells what that broke or fixed. An existing file must have been read in full first. " +
			"Prefer Edit for changes of existing files.",
		destructive: true, idempotent: true, byDefault: true,
		input: object([]string{"file_path", "content"}, withCommon(map[string]*jsonschema.Schema{
			"file_path": str("The file, best as an absolute path."),
			"content":   str("The whole text."),
		}, false)),
		output: outputOf("text", "filePath", "type", "replacements", "structuredPatch", "userModified", "appliedVia", "saved", "encoding", "lineEndings", "diagnostics", "historyId", "dryRun"),
		run:    runWrite,
	}
}

func runWrite(ctx context.Context, c *call) (Result, error) {
	a, err := decode[writeArgs](c)
	if err != nil {
		return Result{}, err
	}
	if len(a.Content) > MaxArguments {
		return Result{}, &codedError{"too_large", fmt.Sprintf("the content is %d bytes, at most %d are written at once", len(a.Content), MaxArguments)}
	}
	if strings.ContainsRune(a.Content, 0) {
		return Result{}, &argumentError{"content holds a NUL character: the file would not be text"}
	}
	p, err := c.resolve(a.FilePath)
	if err != nil {
		return Result{}, err
	}
	if strings.EqualFold(path.Ext(p.Rel()), ".ipynb") {
		return Result{}, &codedError{"use_notebook_edit", p.Rel() + " is a notebook. Notebook editing is not built yet; nothing was changed."}
	}
	if err := c.lookalikeOnce(ctx, p); err != nil {
		return Result{}, err
	}
	in := a.intent()
	in.Paths, in.Whole = []document.Path{p}, true
	in.Plan = func(_ context.Context, looked []session.Looked) (edits.Plan, error) {
		return planWrite(looked[0], a.Content)
	}
	out, err := c.s.Edit(ctx, in)
	if err != nil {
		return Result{}, err
	}
	verb := "Updated "
	if out.Plan.Changes[0].Kind() == edits.Create {
		verb = "Created "
	}
	if a.DryRun {
		verb = "Would write "
	}
	r := c.editResult(out, 0, a.DryRun, verb+c.show(p)+".", len(out.Plan.Changes[0].Edits))
	return c.withReport(r, out), nil
}

// planWrite replaces the whole text, keeping uniform line ends: content that
// has a \r itself is taken as meant.
func planWrite(l session.Looked, content string) (edits.Plan, error) {
	c := edits.Change{From: l.Path, To: l.Path, Base: l.Revision}
	if !l.Exists() {
		c.From = document.Path{}
		if content != "" {
			c.Edits = []edits.Edit{{New: content}}
		}
		return edits.Plan{Changes: []edits.Change{c}}, nil
	}
	if document.LineEndsOf(l.Text) == document.CRLF && !strings.Contains(content, "\r") {
		content = strings.ReplaceAll(content, "\n", "\r\n")
	}
	if l.BOM {
		content = strings.TrimPrefix(content, "\ufeff")
	}
	if content == l.Text {
		return edits.Plan{}, &codedError{"no_change", path.Base(l.Path.Rel()) + " already has exactly this content: nothing would change."}
	}
	c.Edits = edits.Diff(l.Text, content)
	return edits.Plan{Changes: []edits.Change{c}}, nil
}

// lookalikeOnce refuses, once, to create a file whose name differs from an
// existing one only in composition or blanks.
func (c *call) lookalikeOnce(ctx context.Context, p document.Path) error {
	snap, err := c.s.Snapshot(ctx, p)
	if err != nil || snap.Exists() {
		return nil // the pipeline meets the error itself
	}
	like := lookalikes(p, false)
	if len(like) == 0 || !c.s.FirstTime("lookalike "+p.Name()) {
		return nil
	}
	for i := range like {
		like[i] = escapeName(shortest(like[i], p.Rel()))
	}
	return &codedError{"already_exists", fmt.Sprintf("%s does not exist, but %s looks the same. Nothing was written. If you mean that file, use its exact name; to create a second one, send the call again.", escapeName(path.Base(p.Rel())), strings.Join(like, " and "))}
}
