package session

import (
	"context"
	"errors"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/workspace"
	"coedit/readstate"
)

// A sight is one document as a call found it: its text, what the agent knows
// of it, and the foreign change between the two, if any.
type sight struct {
	snap     document.Snapshot
	base     readstate.Baseline
	known    bool          // the agent has a baseline
	since    []edits.Edit  // of base.Text; the change that the plan must keep clear of
	over     bool          // since may be planned over
	external *External     // since, as the agent is told of it; nil when it made since itself
	lines    edits.LineMap // of since
	back     *External     // the agent was told of another text, and this one is back
}

// told reports whether the agent knows the lines of since: it wrote them, or
// the answer shows them whole.
func (x sight) told() bool {
	return x.external == nil || x.external.whole && x.external.size <= ShownBytes
}

// seen reports whether the agent knows line n of the current text: it saw it,
// wrote it, or the answer shows it.
func (x sight) seen(n int) bool {
	if !x.known {
		return !x.snap.Exists()
	}
	if !x.over {
		return x.base.Seen(n)
	}
	if old, ok := x.lines.Old(n); ok {
		return x.base.Seen(old)
	}
	return x.told()
}

// look takes the snapshots of the intent's documents and checks each against
// what the agent has seen.
func (a *attempt) look(ctx context.Context, w door) ([]sight, error) {
	out := make([]sight, 0, len(a.in.Paths))
	for _, p := range a.in.Paths {
		snap, err := w.Snapshot(ctx, p)
		if err != nil {
			return nil, err
		}
		x, err := a.sight(snap)
		if err != nil {
			return nil, err
		}
		out = append(out, x)
	}
	return out, nil
}

func (a *attempt) sight(snap document.Snapshot) (sight, error) {
	s := a.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := a.first[snap.Path]; !ok {
		a.first[snap.Path] = snap.Revision
	}
	x := sight{snap: snap}
	x.base, x.known = s.seen.Baseline(snap.Path)
	if snap.Problem != nil {
		return x, &document.Error{Name: snap.Path.Name(), Err: snap.Problem}
	}
	err := s.seen.Check(snap)
	switch {
	case errors.Is(err, readstate.ErrUnread):
		if !snap.Exists() {
			return x, nil
		}
		return x, &UnreadError{Path: snap.Path}
	case errors.Is(err, readstate.ErrStale):
		if err := a.stale(&x); err != nil {
			return x, err
		}
	default:
		s.seen.Record(snap) // a baseline from before a restart gets its text back
		x.base, _ = s.seen.Baseline(snap.Path)
		if told, ok := s.told[snap.Path]; ok && told != snap.Revision {
			x.back = &External{Path: snap.Path, Origin: snap.Origin, Change: "modified", Back: true}
		}
	}
	if a.in.Whole && snap.Exists() && !x.base.Whole {
		return x, &UnreadError{Path: snap.Path, Lines: x.base.Unseen(document.Lines(x.snap.Text).Count())}
	}
	return x, nil
}

// stale decides whether a changed document may be planned over: coedit itself
// made all the changes, they came during this very call, or the agent said so.
// A plan for a whole text rests on all of it, so that one is refused unless
// this session made all the changes.
// The session's lock is held.
func (a *attempt) stale(x *sight) error {
	s, p := a.s, x.snap.Path
	ext := a.s.external(p, x.base, x.snap)
	if _, behind := s.o.Workspace.OwnSince(p, x.snap.Revision); behind {
		// coedit itself changed it since this call looked, and another call
		// of the session has recorded that already: look again.
		return &document.Error{Name: p.Name(), Err: workspace.ErrConflict}
	}
	steps, own := s.o.Workspace.OwnSince(p, x.base.Revision)
	if own {
		ext.Sessions = sessionsOf(steps)
	}
	during := a.first[p] == x.base.Revision
	mine := onlyBy(steps, own, s.o.Name)
	if a.in.Whole && !mine {
		return s.refuse(x, ext)
	}
	if x.base.HasText && x.snap.Exists() && (own || during || a.in.Rebase) {
		x.since = edits.Diff(x.base.Text, x.snap.Text)
		x.over = true
		x.lines = edits.NewLineMap(x.base.Text, x.since)
		if !mine {
			x.external = &ext
		}
		return nil
	}
	return s.refuse(x, ext)
}

// refuse makes the error for a document that changed, and moves the baseline
// to the current text when the change is shown whole. The lock is held.
func (s *Session) refuse(x *sight, ext External) error {
	e := &StaleError{External: ext}
	s.told[x.snap.Path] = x.snap.Revision
	s.dirty = true
	switch {
	case !x.snap.Exists():
		s.seen.Record(x.snap)
		e.Moved = true
	case x.base.HasText && x.snap.Problem == nil && ext.whole:
		since := edits.Diff(x.base.Text, x.snap.Text)
		m := edits.NewLineMap(x.base.Text, since)
		spans := readstate.Moved(spansOf(x.base, x.base.Text), m.Line, added(x.snap.Text, since, x.base.Text))
		s.seen.Record(x.snap, spans...)
		e.Moved = true
	}
	return e
}

// overlap refuses a plan that touches lines which somebody else changed, and
// notes the changes that it keeps clear of.
func (a *attempt) overlap(plan edits.Plan, seen []sight, out *Outcome) error {
	for i := range seen {
		x := &seen[i]
		if x.back != nil {
			out.External = append(out.External, *x.back)
		}
		if !x.over || a.in.Whole {
			continue
		}
		since := edits.Invert(x.base.Text, x.since) // as edits of the current text
		for _, c := range plan.Changes {
			if c.Path() == x.snap.Path && !edits.Disjoint(x.snap.Text, c.Edits, since) {
				a.s.mu.Lock()
				defer a.s.mu.Unlock()
				ext := a.s.external(x.snap.Path, x.base, x.snap)
				if steps, own := a.s.o.Workspace.OwnSince(x.snap.Path, x.base.Revision); own {
					ext.Sessions = sessionsOf(steps)
				}
				return a.s.refuse(x, ext)
			}
		}
		if x.external != nil && len(out.External) >= maxNotices {
			x.external.whole = false // named only
		}
		if x.external != nil {
			out.External = append(out.External, *x.external)
		}
	}
	return nil
}

// record notes what the agent has seen now: what it had, moved over the
// changes, the lines of others that it is told of, and the lines it wrote.
func (s *Session) record(seen []sight, plan edits.Plan, applied workspace.Applied, out *Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dirty = true
	for i, c := range plan.Changes {
		p, before, after := c.Path(), applied.Before[i], applied.After[i]
		delete(s.repeats, p)
		var x sight
		for _, y := range seen {
			if y.snap.Path == p {
				x = y
			}
		}
		for _, r := range edits.Lines(before.Text, c.Edits) {
			for n := r.First; n <= r.Last; n++ {
				if before.Exists() && !x.seen(n) {
					out.Unseen[p] = append(out.Unseen[p], readstate.Span{First: n, Last: n})
				}
			}
		}
		out.Unseen[p] = readstate.Union(nil, out.Unseen[p])
		if len(out.Unseen[p]) == 0 {
			delete(out.Unseen, p)
		}
		if s.recorded[p] > applied.Seq {
			continue // a later change of this session is recorded already
		}
		s.recorded[p] = applied.Seq
		s.told[p] = after.Revision
		s.seen.Record(after, moved(x, c, before, after)...)
	}
}

// moved returns the lines of after that the agent knows.
func moved(x sight, c edits.Change, before, after document.Snapshot) []readstate.Span {
	if !before.Exists() {
		return []readstate.Span{{First: 1, Last: max(1, document.Lines(after.Text).Count())}}
	}
	if len(before.Text)+edits.Grow(c.Edits) != len(after.Text) {
		after.Text = "\ufeff" + after.Text // as the edits made it: a mark is no text
	}
	spans := spansOf(x.base, before.Text)
	if x.over {
		var theirs []readstate.Span
		if x.told() {
			theirs = added(before.Text, x.since, x.base.Text)
		}
		spans = readstate.Moved(spansOf(x.base, x.base.Text), x.lines.Line, theirs)
	}
	m := edits.NewLineMap(before.Text, c.Edits)
	return readstate.Moved(spans, m.Line, written(x, c, before, after))
}

// written returns the lines of after that c wrote and the agent knows: all of
// them where it knew what stood there or the answer is short enough to show
// them, else none, since the rest of a line that was never shown stays unseen.
func written(x sight, c edits.Change, before, after document.Snapshot) []readstate.Span {
	lines := added(after.Text, c.Edits, before.Text)
	size, index := 0, document.Lines(after.Text)
	for _, s := range lines {
		start, _ := index.Bounds(s.First)
		_, end := index.Bounds(s.Last)
		size += end - start
	}
	for _, e := range c.Edits {
		size += e.End - e.Start
	}
	if size <= ShownBytes {
		return lines
	}
	for _, r := range edits.Lines(before.Text, c.Edits) {
		for n := r.First; n <= r.Last; n++ {
			if !x.seen(n) {
				return nil
			}
		}
	}
	return lines
}

// added returns the lines of the text after list that list wrote.
func added(after string, list []edits.Edit, before string) []readstate.Span {
	var out []readstate.Span
	for _, r := range edits.Lines(after, edits.Invert(before, list)) {
		if r.Last >= r.First {
			out = append(out, readstate.Span{First: r.First, Last: r.Last})
		}
	}
	return out
}

// spansOf returns the lines of text, which is b's, that were shown.
func spansOf(b readstate.Baseline, text string) []readstate.Span {
	if b.Whole {
		return []readstate.Span{{First: 1, Last: max(1, document.Lines(text).Count())}}
	}
	return b.Spans
}

func sessionsOf(steps []workspace.Step) []string {
	var out []string
	for _, st := range steps {
		if len(out) == 0 || out[len(out)-1] != st.Session {
			out = append(out, st.Session)
		}
	}
	return out
}

// onlyBy reports whether the session called name made all the steps.
func onlyBy(steps []workspace.Step, own bool, name string) bool {
	for _, st := range steps {
		if st.Session != name {
			return false
		}
	}
	return own
}
