package lsp

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/wire"
	"coedit/lsp/profile"

	"go.lsp.dev/protocol"
)

const (
	methodOpen    = "textDocument/didOpen"
	methodChange  = "textDocument/didChange"
	methodSave    = "textDocument/didSave"
	methodClose   = "textDocument/didClose"
	methodWatched = "workspace/didChangeWatchedFiles"
	methodFolders = "workspace/didChangeWorkspaceFolders"
)

// syncable reports whether s can be open in a server: it exists and is text.
func syncable(s document.Snapshot) bool { return s.Exists() && s.Problem == nil }

// open queues what makes snap open. One that is open stays as it is: every
// change of it comes through apply, in the order in which it became true, and
// snap may be older. mu is held.
func (sv *server) open(snap document.Snapshot) {
	name := snap.Path.Name()
	if d, ok := sv.docs[name]; ok {
		d.used = sv.enqueued
		return
	}
	if syncable(snap) && sv.serves(name) {
		sv.enqueued++
		sv.push(sv.openNote(snap))
		sv.closeOldest()
	}
}

// openNote makes snap's document open and returns what to send. mu is held.
func (sv *server) openNote(snap document.Snapshot) note {
	name := snap.Path.Name()
	d := &doc{snap: snap, lang: sv.prof.LanguageID(name), version: 1, used: sv.enqueued}
	if sv.prof.SecondRound {
		sv.opened[name] = true
	}
	sv.docs[name] = d
	return note{method: methodOpen, name: name, lang: d.lang, version: 1, after: snap.Text}
}

// closeOldest keeps the number of open documents bounded. mu is held.
func (sv *server) closeOldest() {
	for len(sv.docs) > openLimit {
		oldest := ""
		for name, d := range sv.docs {
			if oldest == "" || d.used < sv.docs[oldest].used {
				oldest = name
			}
		}
		delete(sv.docs, oldest)
		delete(sv.results, oldest)
		sv.store.set(sv.store.pull, oldest, nil)
		sv.push(note{method: methodClose, name: oldest})
	}
}

// maxNews is how many notifications of changed files wait for a server that
// is not running. It reads the disk when it starts.
const maxNews = 1000

// push queues n as part of item enqueued. For a server that is not running
// only news of files is kept: documents are opened when it begins. mu is held.
func (sv *server) push(n note) {
	if sv.phase != phaseRunning && (n.method != methodWatched || len(sv.queue) >= maxNews) {
		return
	}
	n.seq = sv.enqueued
	sv.queue = append(sv.queue, n)
	sv.kick()
}

// apply queues what the changes mean to this server, as one item: closes,
// then news of the disk in one notification, then opens and changes. It
// reports whether they mean anything. mu is held.
func (sv *server) apply(list []Changed) bool {
	var closes, opens, changes []note
	var events []protocol.FileEvent
	for _, c := range list {
		name := c.name()
		d, open := sv.docs[name]
		wanted := sv.serves(name) || sv.watches(name) && !sv.skips(name)
		if open && c.Other != "" {
			continue // an open document's own changes come by its path
		}
		if open && syncable(c.After) && d.snap.Text == c.After.Text || !open && c.Before.Revision == c.After.Revision {
			continue
		}
		switch {
		case open && syncable(c.After):
			sv.came = sv.came || sv.prof.Header(d.snap.Text) != sv.prof.Header(c.After.Text)
			changes = append(changes, sv.changeNotes(d, c)...)
			continue
		case open:
			delete(sv.docs, name)
			closes = append(closes, note{method: methodClose, name: name})
		case !wanted:
			if sv.prof.Embeds != "" && kindOf(c) != protocol.FileChangeTypeChanged && len(sv.beside) <= maxBeside {
				sv.beside = append(sv.beside, name)
			}
			continue
		}
		kind := kindOf(c)
		if kind == protocol.FileChangeTypeDeleted {
			sv.store.forget(name)
			delete(sv.results, name)
			delete(sv.opened, name)
		}
		sv.came = sv.came || kind != protocol.FileChangeTypeChanged
		events = append(events, protocol.FileEvent{URI: wire.FileURI(name), Type: kind})
		if kind == protocol.FileChangeTypeCreated && syncable(c.After) && sv.serves(name) && len(opens) < openLimit/4 {
			opens = append(opens, sv.openNote(c.After))
		}
	}
	if len(closes)+len(events)+len(opens)+len(changes) == 0 {
		return false
	}
	sv.enqueued++
	for _, n := range closes {
		sv.push(n)
	}
	if len(events) > 0 {
		sv.push(note{method: methodWatched, events: events})
	}
	for _, n := range append(opens, changes...) {
		sv.push(n)
	}
	sv.closeOldest()
	return true
}

func kindOf(c Changed) protocol.FileChangeType {
	switch {
	case !c.After.Exists():
		return protocol.FileChangeTypeDeleted
	case !c.Before.Exists():
		return protocol.FileChangeTypeCreated
	}
	return protocol.FileChangeTypeChanged
}

// changeNotes moves the open document d on and returns what to send. mu is
// held.
func (sv *server) changeNotes(d *doc, c Changed) []note {
	n := note{method: methodChange, name: c.After.Path.Name(), before: d.snap.Text, after: c.After.Text, edits: c.Edits}
	if d.snap.Text != c.Before.Text || c.Edits == nil {
		n.edits = oneEdit(d.snap.Text, c.After.Text)
	}
	d.version++
	d.snap = c.After
	n.version = d.version
	if profile.MatchBase(sv.prof.NoSave, n.name) {
		return []note{n}
	}
	return []note{n, {method: methodSave, name: n.name}}
}

// oneEdit returns the single edit between what two texts have in common at
// their ends.
func oneEdit(before, after string) []edits.Edit {
	if before == after {
		return []edits.Edit{}
	}
	n := min(len(before), len(after))
	i := 0
	for i < n && before[i] == after[i] {
		i++
	}
	for i > 0 && !boundary(before, i) {
		i--
	}
	j := 0
	for j < n-i && before[len(before)-1-j] == after[len(after)-1-j] {
		j++
	}
	for j > 0 && !(boundary(before, len(before)-j) && boundary(after, len(after)-j)) {
		j--
	}
	return []edits.Edit{{Start: i, End: len(before) - j, New: after[i : len(after)-j]}}
}

// boundary reports whether a position can name byte offset off: not inside a
// character, not between \r and \n.
func boundary(s string, off int) bool {
	if off <= 0 || off >= len(s) {
		return true
	}
	return utf8.RuneStart(s[off]) && !(s[off] == '\n' && s[off-1] == '\r')
}

// params encodes what n says.
func (n note) params(caps capabilities) (any, error) {
	id := protocol.TextDocumentIdentifier{URI: wire.FileURI(n.name)}
	switch n.method {
	case "initialized":
		return wire.Raw("{}"), nil
	case methodOpen:
		return &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{
			URI: id.URI, LanguageID: protocol.LanguageKind(n.lang), Version: n.version, Text: n.after,
		}}, nil
	case methodSave:
		p := &protocol.DidSaveTextDocumentParams{TextDocument: id}
		return p, nil
	case methodClose:
		return &protocol.DidCloseTextDocumentParams{TextDocument: id}, nil
	case methodFolders:
		folder := []any{map[string]any{"uri": id.URI, "name": "root"}}
		b, err := json.Marshal(map[string]any{"event": map[string]any{"removed": folder, "added": folder}})
		return wire.Raw(b), err
	case methodWatched:
		return &protocol.DidChangeWatchedFilesParams{Changes: n.events}, nil
	}
	p := &protocol.DidChangeTextDocumentParams{TextDocument: protocol.VersionedTextDocumentIdentifier{
		TextDocumentIdentifier: id, Version: n.version,
	}}
	p.ContentChanges = contentChanges(n, caps)
	return p, nil
}

// contentChanges gives the edits from the last to the first, so that each
// one's range is right in the text that those before it made. The whole text
// is sent where ranges would be understood differently: a lone \r, an edit
// that parts \r\n.
func contentChanges(n note, caps capabilities) []protocol.TextDocumentContentChangeEvent {
	whole := []protocol.TextDocumentContentChangeEvent{&protocol.TextDocumentContentChangeWholeDocument{Text: n.after}}
	if !caps.incremental || wire.LoneCR(n.before) || wire.LoneCR(n.after) {
		return whole
	}
	m := wire.NewMapper(n.before, caps.encoding)
	out := make([]protocol.TextDocumentContentChangeEvent, 0, len(n.edits))
	last := 0
	for _, e := range n.edits {
		if e.Start < last || e.End < e.Start || e.End > len(n.before) || !boundary(n.before, e.Start) || !boundary(n.before, e.End) ||
			strings.HasPrefix(e.New, "\n") && e.Start > 0 && n.before[e.Start-1] == '\r' {
			return whole
		}
		last = e.End
	}
	for i := len(n.edits) - 1; i >= 0; i-- {
		e := n.edits[i]
		out = append(out, &protocol.TextDocumentContentChangePartial{
			Range: protocol.Range{Start: m.Position(e.Start), End: m.Position(e.End)}, Text: e.New,
		})
	}
	if len(out) == 0 {
		return whole
	}
	return out
}

// serves reports whether the server wants the file called name open.
func (sv *server) serves(name string) bool { return sv.prof.Serves(name) && !sv.skips(name) }

// skips reports whether the server is silent on the file called name.
func (sv *server) skips(name string) bool {
	rel, err := filepath.Rel(sv.root, name)
	return err == nil && sv.prof.Skips(filepath.ToSlash(rel))
}
