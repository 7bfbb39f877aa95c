package lsp

import (
	"cmp"
	"context"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/wire"
)

// Diagnose waits until the servers have said what the changes of m cause, and
// compares with b, moved through the edits. It returns within the limits; a
// timeout is data.
func (s *Servers) Diagnose(ctx context.Context, m Mark, b Baseline) Report {
	targets := map[*server]uint64{}
	names := map[*server][]string{}
	for _, t := range m.targets {
		targets[t.sv] = t.seq
	}
	served := false
	var unchecked []string
	for _, c := range m.list {
		p := c.After.Path
		if p.IsZero() {
			p = c.Before.Path
		}
		if len(s.profilesFor(p.Rel())) == 0 {
			unchecked = append(unchecked, p.Name())
			continue
		}
		served = true
		for _, sv := range s.need(p.Root(), p.Rel()) {
			if _, ok := targets[sv]; !ok { // it was started after the change, or stopped since
				sv.mu.Lock()
				sv.open(c.After)
				targets[sv] = sv.enqueued
				sv.mu.Unlock()
			}
			names[sv] = append(names[sv], c.name())
		}
	}
	if len(targets) == 0 {
		if served {
			return Report{Freshness: Untrusted, Note: untrustedNote}
		}
		return Report{Freshness: Unsupported, Unchecked: unchecked}
	}
	r := Report{BaselineKnown: true, Unchecked: unchecked}
	cs := comparison{m: m, s: s}
	for _, res := range s.awaitAll(ctx, targets, names) {
		r.Servers = append(r.Servers, res.ev)
		old, known := b.held[res.sv]
		r.BaselineKnown = r.BaselineKnown && known
		// Without the server's word on the new text its findings still have
		// the lines of the old one: comparing would make up differences.
		known = known && (res.ev.Freshness == Fresh || res.ev.Freshness == Settled)
		cs.add(ctx, &r, res, old, known)
	}
	r.finish()
	return r
}

const untrustedNote = "the language server for these files runs code of the project, and the folder is not trusted: `coedit trust` allows it"

type result struct {
	sv   *server
	ev   Evidence
	held holding
}

// awaitAll waits for several servers at a time.
func (s *Servers) awaitAll(ctx context.Context, targets map[*server]uint64, names map[*server][]string) []result {
	var mu sync.Mutex
	var wg sync.WaitGroup
	var out []result
	start := time.Now()
	for sv, seq := range targets {
		wg.Go(func() {
			r := result{sv: sv}
			r.ev, r.held = sv.await(ctx, seq, names[sv], start, false)
			mu.Lock()
			out = append(out, r)
			mu.Unlock()
		})
	}
	wg.Wait()
	slices.SortFunc(out, func(a, b result) int { return cmp.Compare(a.ev.Name, b.ev.Name) })
	return out
}

// Needed tells which of the files called rels, names with slashes below root,
// to open so that a server speaks of all of them: one below each folder that
// is a project's top, and one in each folder that is part of no project.
// served is how many of rels there is a server for, be it that it may not be
// started.
func (s *Servers) Needed(root string, rels []string) (open []string, served int) {
	tops := map[string]map[string]bool{} // profile → folders that hold a root marker
	for _, rel := range rels {
		for _, p := range s.opts.Profiles {
			if slices.Contains(p.RootMarkers, path.Base(rel)) && !p.Skips(rel) {
				if tops[p.Name] == nil {
					tops[p.Name] = map[string]bool{}
				}
				tops[p.Name][path.Dir(rel)] = true
			}
		}
	}
	type project struct{ profile, top string }
	best := map[project]string{}
	for _, rel := range rels {
		list := s.profilesFor(rel)
		if len(list) > 0 {
			served++
		}
		for _, p := range list {
			if p.LanguageID(rel) != p.LanguageID(p.Files[0]) {
				continue // go.mod alone opens no package
			}
			pr := project{p.Name, path.Dir(rel)}
			for dir := pr.top; ; dir = path.Dir(dir) {
				if tops[p.Name][dir] {
					pr.top = dir
					break
				}
				if dir == "." {
					break
				}
			}
			if have := best[pr]; have == "" || plainer(rel, have) {
				best[pr] = rel
			}
		}
	}
	return slices.Sorted(maps.Values(best)), served
}

// plainer reports whether a's name has fewer parts than b's: a_windows_test.go
// is for one system or for tests alone, and says little of its project.
func plainer(a, b string) bool {
	return strings.Count(path.Base(a), "_") < strings.Count(path.Base(b), "_")
}

// Current returns all that the servers say now of these documents, opened
// first, and of all others below roots, waiting as Diagnose does.
func (s *Servers) Current(ctx context.Context, snaps []document.Snapshot, roots ...string) (Report, []Diagnostic) {
	names := s.openAll(snaps)
	targets := map[*server]uint64{}
	s.mu.Lock()
	for _, sv := range s.byKey {
		if _, ok := names[sv]; ok || slices.Contains(roots, sv.root) {
			targets[sv] = 0
		}
	}
	s.mu.Unlock()
	for sv := range targets {
		targets[sv] = sv.position()
		if slices.Contains(roots, sv.root) {
			names[sv] = nil
			sv.mu.Lock()
			for name := range sv.docs {
				names[sv] = append(names[sv], name)
			}
			sv.mu.Unlock()
		}
	}
	if len(targets) == 0 {
		for _, snap := range snaps {
			if len(s.profilesFor(snap.Path.Rel())) > 0 {
				return Report{Freshness: Untrusted, Note: untrustedNote}, nil
			}
		}
		return Report{Freshness: Unsupported}, nil
	}
	r := Report{}
	cs := comparison{s: s}
	for _, res := range s.awaitAll(ctx, targets, names) {
		r.Servers = append(r.Servers, res.ev)
		cs.add(ctx, &r, res, holding{}, false)
	}
	r.finish()
	return r, r.Current
}

// finish sorts, counts, and names the worst freshness.
func (r *Report) finish() {
	order := []Freshness{Fresh, Settled, Timeout, Indexing, Installing, Unavailable}
	worst := -1
	for _, ev := range r.Servers {
		if i := slices.Index(order, ev.Freshness); i > worst {
			worst, r.Freshness, r.Note = i, ev.Freshness, ev.Note
		}
	}
	if r.Truncated && r.Freshness == Fresh {
		r.Freshness, r.Note = Settled, "the server has more to say than is kept"
	}
	for _, list := range [][]Diagnostic{r.New, r.Resolved, r.Current} {
		slices.SortStableFunc(list, compareDiagnostics)
	}
	for _, d := range r.Current {
		switch d.Severity {
		case Error:
			r.Remaining.Errors++
		case Warning:
			r.Remaining.Warnings++
		}
	}
}

func compareDiagnostics(a, b Diagnostic) int {
	transient := func(d Diagnostic) int {
		if d.Transient {
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(transient(a), transient(b)), cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Name, b.Name),
		cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column), cmp.Compare(a.Message, b.Message))
}

// comparison turns what servers hold into a report.
type comparison struct {
	s     *Servers
	m     Mark
	texts map[string]*wire.Mapper
	paths map[string]document.Path
}

// identity is what makes two findings of one file the same, besides the line.
// Line numbers inside a message move with the text, so they don't count.
type identity struct {
	severity              Severity
	code, source, message string
}

var lineNumbers = regexp.MustCompile(`:\d+(:\d+)?`)

func identify(d raw) identity {
	return identity{d.severity, d.code, d.source, withoutLines(d.message)}
}

func withoutLines(message string) string {
	if !strings.Contains(message, ":") {
		return message
	}
	return lineNumbers.ReplaceAllString(message, ":#")
}

// add compares what one server holds with what it held.
func (c *comparison) add(ctx context.Context, r *Report, res result, old holding, known bool) {
	r.Truncated = r.Truncated || res.held.truncated
	if old.truncated || res.held.truncated {
		known, r.BaselineKnown = false, false // what was dropped can't be compared
	}
	if known && (c.projectBroken(res.sv, old) || c.projectBroken(res.sv, res.held)) {
		// A server that can't load the project is silent on its files: what it
		// says no more is not resolved, what it says again is not new.
		known, r.BaselineKnown = false, false
	}
	maps, created, shared := c.lineMaps(old, res.held)
	r.Shared = r.Shared || shared
	lesser := func(name string, list []raw) []raw { // a server that gives up at an error takes its hints back
		_, edited := maps[name]
		return slices.DeleteFunc(slices.Clone(list), func(d raw) bool {
			_, left := maps[name].forward(int(d.rng.Start.Line) + 1)
			return d.severity != Error && (!edited || left)
		})
	}
	for name, list := range res.held.list {
		lm := maps[name]
		added := list
		if known {
			var gone []raw
			added, gone = difference(old.list[name], list, lm)
			r.Resolved = c.append(ctx, r.Resolved, res.sv, name, lesser(name, gone))
		}
		r.Current = c.append(ctx, r.Current, res.sv, name, list)
		if !known {
			continue
		}
		added = slices.DeleteFunc(slices.Clone(added), func(d raw) bool {
			if d.severity == Error {
				return false
			}
			hint := d.severity == Hint && d.unnecessary
			_, edited := maps[name]
			return hint || !edited || !created[name] && !lm.touches(int(d.rng.Start.Line)+1)
		})
		r.New = c.append(ctx, r.New, res.sv, name, added)
	}
	if !known {
		return
	}
	for name, list := range old.list {
		if _, ok := res.held.list[name]; !ok {
			r.Resolved = c.append(ctx, r.Resolved, res.sv, name, lesser(name, list))
		}
	}
}

// projectBroken reports whether the server finds an error in a file that marks
// the top of a project which a changed file is part of.
func (c *comparison) projectBroken(sv *server, h holding) bool {
	for name, list := range h.list {
		if !slices.Contains(sv.prof.RootMarkers, filepath.Base(name)) || !slices.ContainsFunc(list, func(d raw) bool { return d.severity == Error }) {
			continue
		}
		for _, ch := range c.m.list {
			if under(filepath.Dir(name), ch.name()) {
				return true
			}
		}
	}
	return false
}

// lineMaps returns how the lines of the files moved between two holdings,
// which files did not exist before, and whether others changed some. Others may have edited a document since
// the first one was taken, or since the edit: then it is the difference of
// the texts that the server spoke of.
func (c *comparison) lineMaps(old, now holding) (maps map[string]lineMap, created map[string]bool, shared bool) {
	maps, created = map[string]lineMap{}, map[string]bool{}
	for _, ch := range c.m.list {
		name := ch.name()
		created[name] = !ch.Before.Exists()
		maps[name] = newLineMap(ch)
		before, had := old.texts[name]
		after, has := now.texts[name]
		if had && has && (before.Text != ch.Before.Text || after.Text != ch.After.Text) {
			maps[name], shared = mapBetween(before, after), true
		}
	}
	for name, before := range old.texts {
		if after, ok := now.texts[name]; ok && before.Text != after.Text {
			if _, ok := maps[name]; !ok {
				maps[name], shared = mapBetween(before, after), true
			}
		}
	}
	return maps, created, shared
}

func mapBetween(before, after document.Snapshot) lineMap {
	return newLineMap(Changed{Before: before, After: after, Edits: edits.Diff(before.Text, after.Text)})
}

// difference returns what of list is not in old and what of old is not in
// list, as multisets. An old finding whose line the edit left alone must be
// where that line is now; one whose line was edited may be on any edited line.
func difference(old, list []raw, lm lineMap) (added, gone []raw) {
	type place struct {
		identity
		line int // 0: an edited line
	}
	left := map[place][]raw{}
	for _, d := range old {
		line, ok := lm.forward(int(d.rng.Start.Line) + 1)
		if !ok {
			line = 0
		}
		p := place{identify(d), line}
		left[p] = append(left[p], d)
	}
	for _, d := range list {
		line := int(d.rng.Start.Line) + 1
		if lm.touches(line) {
			line = 0
		}
		p := place{identify(d), line}
		if n := len(left[p]); n > 0 {
			left[p] = left[p][:n-1]
			continue
		}
		added = append(added, d)
	}
	for _, rest := range left {
		gone = append(gone, rest...)
	}
	return added, gone
}

// append converts list for people and appends it.
func (c *comparison) append(ctx context.Context, to []Diagnostic, sv *server, name string, list []raw) []Diagnostic {
	if len(list) == 0 {
		return to
	}
	m, path := c.text(ctx, sv, name)
	for _, d := range list {
		out := Diagnostic{
			Name: name, Path: path, Severity: d.severity, Code: d.code, Source: d.source, Message: d.message,
			Unnecessary: d.unnecessary, Server: sv.prof.Name,
			Line: int(d.rng.Start.Line) + 1, Column: int(d.rng.Start.Character) + 1,
			EndLine: int(d.rng.End.Line) + 1, EndColumn: int(d.rng.End.Character) + 1,
		}
		if m != nil {
			if line, column := m.LineColumn(d.rng.Start); line == out.Line {
				out.Column = column
			}
			if line, column := m.LineColumn(d.rng.End); line == out.EndLine {
				out.EndColumn = column
			}
		}
		to = append(to, out)
	}
	return to
}

// text returns the text of a file that diagnostics name, if it can be had,
// and its path in the roots.
func (c *comparison) text(ctx context.Context, sv *server, name string) (*wire.Mapper, document.Path) {
	sv.mu.Lock()
	d, open := sv.docs[name]
	enc := sv.caps.encoding
	var snap document.Snapshot
	if open {
		snap = d.snap
	}
	sv.mu.Unlock()
	id := name + "\x00" + string(enc)
	if m, ok := c.texts[id]; ok {
		return m, c.paths[name]
	}
	if c.texts == nil {
		c.texts, c.paths = map[string]*wire.Mapper{}, map[string]document.Path{}
	}
	p := snap.Path
	if !open {
		var err error
		if p, err = document.Roots(c.s.opts.Roots).Resolve("", name); err == nil && c.s.opts.Source != nil {
			snap, err = c.s.opts.Source.Snapshot(ctx, p)
		}
		if err != nil {
			snap = document.Snapshot{}
		}
	}
	var m *wire.Mapper
	if syncable(snap) {
		m = wire.NewMapper(snap.Text, enc)
	}
	c.texts[id], c.paths[name] = m, p
	return m, p
}
