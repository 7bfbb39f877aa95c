package workspace

import (
	"context"
	"errors"
	"maps"
	"path/filepath"
	"slices"

	"coedit/document"
	"coedit/lsp"
)

// A Lister is a Target that can tell which files a root holds, each with a
// value that changes when the file may have, and which of them are links to
// another one of the root.
type Lister interface {
	List(ctx context.Context, root document.Root) (files map[string]uint64, links []string, complete bool, err error)
}

// listing is what a scan saw, by name below the root.
type listing map[string]uint64

// unknownRevision stands for the text of a file that was there before but
// never looked at. No text has it.
var unknownRevision = document.RevisionOf([]byte("\x00coedit: a text that was not looked at"))

// unreadRevision stands for the text of a file that is there and can't be
// looked at.
var unreadRevision = document.RevisionOf([]byte("\x00coedit: a text that can't be looked at"))

// scanResult is the answer of the scan that covers all tickets up to ticket.
type scanResult struct {
	ticket   uint64
	roots    document.Roots
	complete bool
}

// Scan finds the files of the roots that were made, changed or removed since
// the last scan, and tells the language servers. The first one only notes
// what is there. Without a watcher this is how a file that nobody named is
// found; complete is false when a root could not be listed whole. Calls at
// the same time share the next scan.
func (w *Workspace) Scan(ctx context.Context, roots document.Roots) (complete bool, err error) {
	l, ok := w.target.(Lister)
	if !ok {
		return false, nil
	}
	ticket := w.tickets.Add(1)
	select {
	case <-w.scanning:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { w.scanning <- struct{}{} }()
	if w.scanned.ticket >= ticket && slices.Equal(w.scanned.roots, roots) {
		return w.scanned.complete, nil // it began after this call did
	}
	result := scanResult{ticket: w.tickets.Load(), roots: roots, complete: true}
	for _, root := range roots {
		files, links, whole, err := l.List(ctx, root)
		if err != nil {
			return false, err
		}
		result.complete = result.complete && whole
		w.mu.Lock()
		old, had := w.scans[root.Dir()]
		if !had {
			w.scans[root.Dir()] = files
		}
		w.links[root.Dir()] = namesOf(root, links)
		w.mu.Unlock()
		if !had {
			continue
		}
		if err := w.changed(ctx, root, old, files, whole); err != nil {
			return false, err
		}
	}
	w.scanned = result
	return result.complete, nil
}

// Files returns the files that the last scan saw below root, names with
// slashes, sorted.
func (w *Workspace) Files(root string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.scans[root]))
}

// changed reconciles what differs between two listings. What was told is
// noted file by file, so that a call which is cancelled loses nothing.
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
		v, is := now[name]
		if err := w.scannedFile(ctx, root, name, names[name], is); err != nil {
			return err
		}
		w.mu.Lock()
		if is {
			old[name] = v
		} else {
			delete(old, name)
		}
		w.mu.Unlock()
	}
	return nil
}

// scannedFile tells of one file that a scan found to differ; was and is say
// whether it was listed before and now.
func (w *Workspace) scannedFile(ctx context.Context, root document.Root, name string, was, is bool) error {
	p, err := root.Resolve(name)
	if err == nil && p.Rel() == name {
		return w.reconcile(ctx, p, was)
	}
	if was || is { // a link, or a folder above it is a file or a link now
		w.mu.Lock()
		defer w.mu.Unlock()
		w.tell([]lsp.Changed{otherName(filepath.Join(root.Dir(), filepath.FromSlash(name)), was, is)})
	}
	return nil
}

// otherName is the news of a file that no path names.
func otherName(name string, was, is bool) lsp.Changed {
	c := lsp.Changed{Other: name}
	if was {
		c.Before.Revision = unknownRevision
	}
	if is {
		c.After.Revision, c.After.Problem = unreadRevision, errOtherName
	}
	return c
}

var errOtherName = errors.New("the document has another name")

// namesOf returns the links of a root by the absolute name that each stands
// for.
func namesOf(root document.Root, links []string) map[string][]string {
	out := map[string][]string{}
	for _, name := range links {
		if p, err := root.Resolve(name); err == nil {
			out[p.Name()] = append(out[p.Name()], filepath.Join(root.Dir(), filepath.FromSlash(name)))
		}
	}
	return out
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

// reconcile looks at p in its lane; a file that the servers heard nothing of
// since a scan saw it is told as well, with was saying whether it existed then.
// Only a call that is cancelled fails.
func (w *Workspace) reconcile(ctx context.Context, p document.Path, was bool) error {
	release, err := w.lanes.take(ctx, p)
	if err != nil {
		return err
	}
	defer release()
	s, err := w.look(ctx, p)
	if err != nil {
		if ctx.Err() != nil {
			return err
		}
		s = document.Snapshot{Path: p, Revision: unreadRevision, Problem: err}
		if errors.Is(err, document.ErrIsDirectory) || errors.Is(err, document.ErrNotRegular) {
			s.Revision = document.Revision{}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.known[p]
	if err == nil && r != nil && r.told {
		return nil // look told it, or nothing changed since it was told
	}
	before := document.Snapshot{Path: p}
	if was {
		before.Revision = unknownRevision
	}
	if r != nil {
		r.told = err == nil
	}
	if before.Exists() || s.Exists() {
		w.tell([]lsp.Changed{{Before: before, After: s}})
	}
	return nil
}
