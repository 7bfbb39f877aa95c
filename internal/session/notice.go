package session

import (
	"context"

	"coedit/document"
	"coedit/edits"
)

// An External is a change that somebody else made to a document which the
// agent had seen.
type External struct {
	Path     document.Path
	Origin   document.Origin
	Sessions []string // when coedit made all of it: for which sessions
	Change   string   // "modified", "created" or "deleted"
	Back     bool     // the agent was told of another change, and the text it had seen is back
	Hunks    []edits.Hunk
	Cut      bool // the change is larger than what Hunks show, or its text is not known any more
	whole    bool // Hunks are all of it
	size     int  // bytes of Hunks
}

// ShownBytes is how many bytes of a change every answer has room for: what is
// longer may be cut, so it does not count as seen.
const ShownBytes = 2 << 10

// maxNotices bounds the changes told with hunks in one answer; the rest are
// named only.
const maxNotices = 20

// external describes the change from a baseline to now. The lock is held.
func (s *Session) external(p document.Path, base baseline, now document.Snapshot) External {
	e := External{Path: p, Origin: now.Origin, Change: "modified"}
	switch {
	case !now.Exists():
		e.Change = "deleted"
	case base.Revision.IsZero():
		e.Change = "created"
	}
	if !base.HasText || now.Problem != nil || !now.Exists() {
		e.Cut = now.Exists()
		return e
	}
	change := edits.Diff(base.Text, now.Text)
	if e.Hunks, e.whole = bound(edits.Hunks(base.Text, change, 2)); !e.whole { // the lines around it may be the long ones
		e.Hunks, e.whole = bound(edits.Hunks(base.Text, change, 0))
	}
	e.Cut = !e.whole
	for _, h := range e.Hunks {
		for _, l := range h.Lines {
			e.size += len(l) + 1
		}
	}
	return e
}

// bound cuts hunks to what fits in an answer, and says whether that was all.
func bound(hunks []edits.Hunk) ([]edits.Hunk, bool) {
	lines, size := 0, 0
	for i, h := range hunks {
		lines += len(h.Lines)
		for _, l := range h.Lines {
			size += len(l)
		}
		if lines > maxShown || size > 16<<10 {
			return hunks[:i], false
		}
	}
	return hunks, true
}

// Notices finds the documents that the agent had read and that somebody else
// changed since they were told of last. Each change is told once. Documents
// of skip were part of the answer already. Past a bound they are named without
// hunks.
func (s *Session) Notices(ctx context.Context, skip ...document.Path) (out []External) {
	if s.o.Held != nil && s.o.Held() {
		return nil
	}
	s.mu.Lock()
	var paths []document.Path
	for p := range s.seen.All() {
		paths = append(paths, p)
	}
	s.mu.Unlock()
	done := map[document.Path]bool{}
	for _, p := range skip {
		done[p] = true
	}
	for _, p := range paths {
		if done[p] {
			continue
		}
		snap, err := s.o.Workspace.Snapshot(ctx, p)
		if err != nil {
			continue // too large now, or a folder: the next Read says so
		}
		if e, ok := s.notice(snap, len(out) < maxNotices); ok {
			out = append(out, e)
		}
	}
	return out
}

// manyFiles is from how many files on a change by others is told in sum.
const manyFiles = 50

// Outside returns how many files others changed since the last time it told of
// any, 0 when they are few or still being changed.
func (s *Session) Outside() int {
	if s.o.Held != nil && s.o.Held() {
		return 0
	}
	now := s.o.Workspace.Outside()
	s.mu.Lock()
	defer s.mu.Unlock()
	n := now - s.outside
	s.outside = now
	if n < manyFiles {
		return 0
	}
	return int(n)
}

func (s *Session) notice(snap document.Snapshot, hunks bool) (External, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := snap.Path
	base, ok := s.seen.Baseline(p)
	told, was := s.told[p]
	if !ok || s.MayLook(p) != nil || was && told == snap.Revision {
		return External{}, false
	}
	if base.Revision == snap.Revision {
		delete(s.told, p)
		s.dirty = s.dirty || was
		return External{Path: p, Origin: snap.Origin, Change: "modified", Back: true}, was
	}
	s.dirty = true
	steps, own := s.o.Workspace.OwnSince(p, base.Revision)
	if own && onlyBy(steps, own, s.o.Name) {
		return External{}, false
	}
	s.told[p] = snap.Revision
	if !hunks {
		base.HasText = false
	}
	e := s.external(p, base, snap)
	if own {
		e.Sessions = sessionsOf(steps)
	}
	return e, true
}
