package workspace

import (
	"context"
	"maps"
	"slices"

	"coedit/document"
	"coedit/lsp"
)

// A Lister is a Target that can tell which files a root holds, each with a
// value that changes when the file may have.
type Lister interface {
	List(ctx context.Context, root document.Root) (files map[string]uint64, complete bool, err error)
}

// listing is what a scan saw, by name below the root.
type listing map[string]uint64

// unknownRevision stands for the text of a file that was there before but
// never looked at. No text has it.
var unknownRevision = document.RevisionOf([]byte("\x00coedit: a text that was not looked at"))

// Scan finds the files of the roots that were made, changed or removed since
// the last scan, and tells the language servers. The first one only notes
// what is there. Without a watcher this is how a file that nobody named is
// found; complete is false when a root was too large to be listed whole.
func (w *Workspace) Scan(ctx context.Context, roots document.Roots) (complete bool, err error) {
	l, ok := w.target.(Lister)
	if !ok {
		return false, nil
	}
	complete = true
	for _, root := range roots {
		files, whole, err := l.List(ctx, root)
		if err != nil {
			return false, err
		}
		complete = complete && whole
		w.mu.Lock()
		old, had := w.scans[root.Dir()]
		w.scans[root.Dir()] = listed(old, files, whole)
		w.mu.Unlock()
		if !had {
			continue
		}
		if err := w.changed(ctx, root, old, files, whole); err != nil {
			return false, err
		}
	}
	return complete, nil
}

// listed is what is known after a scan: one that was cut says nothing of the
// files it does not name.
func listed(old, now listing, whole bool) listing {
	if whole {
		return now
	}
	out := maps.Clone(now)
	for name, v := range old {
		if _, ok := out[name]; !ok {
			out[name] = v
		}
	}
	return out
}

func (w *Workspace) changed(ctx context.Context, root document.Root, old, now listing, whole bool) error {
	names := map[string]bool{}
	for name, v := range now {
		if o, ok := old[name]; !ok || o != v {
			names[name] = ok
		}
	}
	if whole {
		for name := range old {
			if _, ok := now[name]; !ok {
				names[name] = true
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(names)) {
		p, err := root.Resolve(name)
		if err != nil {
			continue // gone again, or a link out of the root: nothing to tell
		}
		if err := w.reconcile(ctx, p, names[name]); err != nil && ctx.Err() != nil {
			return err
		}
	}
	return nil
}

// Reconcile looks at paths again and publishes what changed.
func (w *Workspace) Reconcile(ctx context.Context, paths []document.Path) error {
	for _, p := range paths {
		if err := w.reconcile(ctx, p, true); err != nil {
			return err
		}
	}
	return nil
}

// reconcile looks at p in its lane; a file that was never looked at is told
// as well, with was saying whether it existed before.
func (w *Workspace) reconcile(ctx context.Context, p document.Path, was bool) error {
	release, err := w.lanes.take(ctx, p)
	if err != nil {
		return err
	}
	defer release()
	w.mu.Lock()
	_, known := w.known[p]
	w.mu.Unlock()
	s, err := w.look(ctx, p)
	if err != nil || known {
		return err
	}
	before := document.Snapshot{Path: p}
	if was {
		before.Revision = unknownRevision
	}
	if before.Exists() || s.Exists() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tell([]lsp.Changed{{Before: before, After: s}})
	}
	return nil
}
