package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/permission"
	"coedit/internal/session"
	"coedit/internal/workspace"
	"coedit/readstate"
)

// An argumentError says what is wrong with a call's arguments.
type argumentError struct{ text string }

func (e *argumentError) Error() string { return e.text }

// A codedError is an error that a tool makes itself.
type codedError struct{ code, text string }

func (e *codedError) Error() string { return e.text }

// failure is the one table from an error to its code and advice.
func (c *call) failure(err error) Result {
	code, text := c.explain(err)
	r := Result{IsError: true, Code: code, Text: "[" + code + "] " + text, Meta: map[string]any{"code": code}}
	var stale *session.StaleError
	if errors.As(err, &stale) {
		r.quotes = append(r.quotes, stale.Path)
	}
	return r
}

func (c *call) explain(err error) (code, text string) {
	var (
		arg     *argumentError
		coded   *codedError
		stale   *session.StaleError
		unread  *session.UnreadError
		denied  *session.DeniedError
		match   *edits.MatchError
		partial *workspace.PartialError
		indexed *indexedError
	)
	switch {
	case errors.As(err, &indexed):
		code, text = c.explain(indexed.err)
		return code, fmt.Sprintf("edits[%d]: %s\nNothing was changed: the edits are applied all or not at all.", indexed.index, text)
	case errors.As(err, &arg):
		return "invalid_arguments", arg.text
	case errors.As(err, &coded):
		return coded.code, coded.text
	case errors.As(err, &stale):
		return "stale", c.explainStale(stale)
	case errors.As(err, &unread):
		return "not_read", c.explainUnread(unread)
	case errors.As(err, &denied):
		return c.explainDenied(denied)
	case errors.As(err, &match):
		return matchCode(match), match.Error()
	case errors.As(err, &partial):
		return "io", partial.Error() + ". Read the named files before you go on."
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout", "the call took too long and was ended; nothing was changed"
	case errors.Is(err, context.Canceled):
		return "cancelled", "the call was cancelled; nothing was changed"
	}
	return c.explainDocument(err)
}

func matchCode(e *edits.MatchError) string {
	switch e.Reason {
	case edits.NoMatch:
		return "no_match"
	case edits.Ambiguous:
		return "ambiguous_match"
	case edits.NoChange:
		return "no_change"
	}
	return "invalid_arguments"
}

func (c *call) explainStale(e *session.StaleError) string {
	name := c.show(e.Path)
	if e.Change == "deleted" {
		return fmt.Sprintf("%s no longer exists: it was deleted since you read it. Nothing was changed. If it should exist again, send a Write: it creates the file.", name)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s: file has been modified since read, %s. Nothing was changed.", name, by(e.External))
	if len(e.Hunks) > 0 {
		b.WriteString(" What changed since you saw it:\n")
		b.WriteString(hunkText(e.Hunks))
	}
	if e.Moved {
		b.WriteString("\nYou have now seen this change: send the call again if it still holds, adapted to the new text where it must be.")
	} else {
		b.WriteString("\nRead the file again before you edit it.")
		if e.Cut && len(e.Hunks) > 0 {
			b.WriteString(" (The change is larger than what is shown.)")
		}
	}
	return b.String()
}

func (c *call) explainUnread(e *session.UnreadError) string {
	name := c.show(e.Path)
	if len(e.Lines) == 0 {
		return fmt.Sprintf("%s: file has not been read yet. Read it first, then send the call again.", name)
	}
	return fmt.Sprintf("%s: file has not been read yet in full: you have not seen %s. Read those lines, or use Edit, which needs only the lines it changes.", name, spanText(e.Lines))
}

func (c *call) explainDenied(e *session.DeniedError) (string, string) {
	name := c.show(e.Verdict.Path)
	if e.Verdict.Decision == permission.Ask {
		return "permission_denied", fmt.Sprintf("%s is protected (%s), so a person must agree, and nobody can be asked here. Nothing was changed. The person can change the file, or start coedit with --permission-mode bypassPermissions.", name, e.Verdict.Why)
	}
	if e.Mode == permission.Plan {
		return "permission_denied", "plan mode: nothing is changed. Tell the person what you would do; they can start coedit with another --permission-mode."
	}
	return "permission_denied", fmt.Sprintf("%s: not allowed (%s).", name, e.Verdict.Why)
}

// documentCodes maps what can be wrong with a file.
var documentCodes = []struct {
	err          error
	code, advice string
}{
	{document.ErrOutside, "outside_workspace", "Only files below the workspace's folders are served; start coedit with another --root to add one."},
	{document.ErrNotFound, "not_found", "Check the name; Write creates a file."},
	{document.ErrIsDirectory, "is_directory", "Name a file; list a directory with Glob or ls."},
	{document.ErrNotDirectory, "not_directory", "Check the name."},
	{document.ErrNotRegular, "not_regular", "Only regular files are read and edited."},
	{document.ErrBadPath, "bad_path", "Use another name."},
	{document.ErrTooLarge, "too_large", "Read it in part with offset and limit; it can't be edited."},
	{document.ErrBinary, "binary", "It holds NUL bytes, so it is not text. Use a program that knows its format."},
	{document.ErrEncoding, "unsupported_encoding", "Set the file's charset in .editorconfig (charset = …), or convert the file; nothing was changed."},
	{document.ErrReadOnly, "read_only", "Nothing was changed. Make it writable first (chmod u+w)."},
	{document.ErrNoSpace, "no_space", "Nothing was changed. Free space or raise the limit, then send the call again."},
	{document.ErrConflict, "conflict", "Nothing was changed: the file keeps changing while it is edited. Read it again when that has stopped."},
	{document.ErrPermission, "io", "Nothing was changed."},
	{fs.ErrExist, "already_exists", "Read it and use Edit."},
	{readstate.ErrUnread, "not_read", "Read the file first."},
}

func (c *call) explainDocument(err error) (code, text string) {
	for _, d := range documentCodes {
		if errors.Is(err, d.err) {
			return d.code, c.document(err) + ". " + d.advice
		}
	}
	return "io", c.document(err)
}

// document words an error about a file with a name a model knows.
func (c *call) document(err error) string {
	var de *document.Error
	if !errors.As(err, &de) {
		return Visible(err.Error())
	}
	text := c.showName(de.Name) + ": "
	switch {
	case errors.Is(de.Err, document.ErrNotDirectory) && de.Detail != "":
		return text + Visible(de.Detail)
	case errors.Is(de.Err, document.ErrOutside):
		if de.Detail != "" && de.Detail != de.Name {
			return text + "outside the workspace (it is " + Visible(de.Detail) + ")"
		}
	}
	text += Visible(de.Err.Error())
	if de.Detail != "" {
		text += " (" + Visible(de.Detail) + ")"
	}
	return text
}

// An indexedError is the failure of one edit of several.
type indexedError struct {
	index int
	err   error
}

func (e *indexedError) Error() string { return fmt.Sprintf("edits[%d]: %v", e.index, e.err) }
func (e *indexedError) Unwrap() error { return e.err }
