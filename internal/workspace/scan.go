package workspace

import (
	"context"
	"errors"
	"maps"
	"path"
	"path/filepath"
	"slices"

	"coedit/document"
	"coedit/lsp"
)

// A Lister is a Target that can tell which files a root holds.
// List looks at the file or folder called rel, a name with slashes, "." for the
// whole root.
type Lister interface {
	List(ctx context.Context, root document.Root, rel string) (document.Listing, error)
}

// News tells where to look: a watcher.
type News interface {
	// Take returns the absolute names of the files and folders that may have
	// changed since the last Take, among them whatever changed before the
	// call; or all, when anything may have.
	Take(ctx context.Context) (names []string, all bool, err error)
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
	places, err := w.places(ctx, roots)
	if err != nil {
		return false, err
	}
	w.behind = true // until the news that was taken is followed up
	found := map[document.Root]*difference{}
	for _, at := range places {
		whole, err := w.scanPlace(ctx, l, at, found)
		if err != nil {
			return false, err
		}
		result.complete = result.complete && whole
	}
	for _, root := range roots {
		if d := found[root]; d != nil {
			d.addGone()
			if err := w.changed(ctx, root, d); err != nil {
				return false, err
			}
		}
	}
	w.behind = false
	w.scanned = result
	return result.complete, nil
}

// A place is a file or folder to scan: a name with slashes below a root.
type place struct {
	root document.Root
	rel  string
}

// places returns where to look: what the news names, or the roots as wholes
// where there is no news or a root has never been scanned.
func (w *Workspace) places(ctx context.Context, roots document.Roots) ([]place, error) {
	var names []string
	all := true
	if w.news != nil {
		var err error
		if names, all, err = w.news.Take(ctx); err != nil {
			return nil, err
		}
	}
	all = all || w.behind
	var out []place
	for _, root := range roots {
		w.mu.Lock()
		_, known := w.scans[root.Dir()]
		w.mu.Unlock()
		if all || !known {
			out = append(out, place{root, "."})
			continue
		}
		for _, name := range names {
			rel, err := filepath.Rel(root.Dir(), name)
			if err != nil || !filepath.IsLocal(rel) {
				continue
			}
			out = append(out, place{root, filepath.ToSlash(rel)})
			for _, other := range w.otherNames(root.Dir(), name) {
				if rel, err := filepath.Rel(root.Dir(), other); err == nil {
					out = append(out, place{root, filepath.ToSlash(rel)})
				}
			}
		}
	}
	return out, nil
}

// A difference is what is not as the last scan of a root saw it.
type difference struct {
	old, now listing         // now holds what was listed again
	folders  map[string]bool // listed whole; what is not in now is not there
	names    map[string]bool // that differ; false: that may, having been young when they were listed
}

// scanPlace lists one place, and adds to found what differs from before.
func (w *Workspace) scanPlace(ctx context.Context, l Lister, at place, found map[document.Root]*difference) (whole bool, err error) {
	list, err := l.List(ctx, at.root, at.rel)
	if err != nil {
		return false, err
	}
	files, whole := list.Files, list.Complete
	w.mu.Lock()
	old, had := w.scans[at.root.Dir()]
	if !had {
		w.scans[at.root.Dir()] = files
	}
	if at.rel == "." {
		w.links[at.root.Dir()] = map[string][]string{}
	}
	for target, names := range namesOf(at.root, append(list.Links, list.Folders...)) {
		have := w.links[at.root.Dir()]
		for _, name := range names {
			if !slices.Contains(have[target], name) {
				have[target] = append(have[target], name)
			}
		}
	}
	w.mu.Unlock()
	again := w.young[at.root]
	if again == nil {
		again = map[string]bool{}
		w.young[at.root] = again
	}
	if !had {
		for _, name := range list.Young {
			again[name] = true
		}
		return whole, nil
	}
	d := found[at.root]
	if d == nil {
		d = &difference{old: old, now: listing{}, names: map[string]bool{}, folders: map[string]bool{}}
		found[at.root] = d
	}
	for name, v := range files {
		if o, ok := old[name]; !ok || o != v {
			d.names[name] = true
		} else if again[name] {
			d.names[name] = false
		}
		delete(again, name)
		d.now[name] = v
	}
	for _, name := range list.Young {
		again[name] = true
	}
	if _, was := old[at.rel]; whole && was { // a file: nothing was below it
		if _, is := files[at.rel]; !is {
			d.names[at.rel] = true
		}
	} else if whole {
		d.folders[at.rel] = true
	}
	return whole, nil
}

// addGone adds the files that were in the listed folders, and are not now.
func (d *difference) addGone() {
	if len(d.folders) == 0 {
		return
	}
	for name := range d.old {
		if _, ok := d.now[name]; ok {
			continue
		}
		for dir := name; dir != "."; {
			if dir = path.Dir(dir); d.folders[dir] {
				d.names[name] = true
				break
			}
		}
	}
}

// Files returns the files that the last scan saw below root, names with
// slashes, sorted.
func (w *Workspace) Files(root string) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Sorted(maps.Keys(w.scans[root]))
}

// tellAtOnce is how many files are told in one notification, and how many
// lanes are held for it.
const tellAtOnce = 1000

// changed tells what differs, many files at a time. What was told is noted, so
// that a call which is cancelled loses nothing.
func (w *Workspace) changed(ctx context.Context, root document.Root, d *difference) error {
	for part := range slices.Chunk(slices.Sorted(maps.Keys(d.names)), tellAtOnce) {
		if err := w.changedFiles(ctx, root, part, d); err != nil {
			return err
		}
		w.mu.Lock()
		for _, name := range part {
			if v, ok := d.now[name]; ok {
				d.old[name] = v
			} else {
				delete(d.old, name)
			}
		}
		w.mu.Unlock()
	}
	return nil
}

// changedFiles tells of some files that two listings differ in: of those that
// nobody looked at, that they changed; the others are looked at.
func (w *Workspace) changedFiles(ctx context.Context, root document.Root, names []string, d *difference) error {
	var others []lsp.Changed
	certain := 0
	var known []seenFile
	for _, name := range names {
		_, was := d.old[name]
		_, is := d.now[name]
		abs := filepath.Join(root.Dir(), filepath.FromSlash(name))
		w.mu.Lock()
		r := w.byName[abs]
		w.mu.Unlock()
		for _, other := range w.otherNames(root.Dir(), abs) {
			if _, listed := d.old[below(root, other)]; !listed { // by a link to a folder
				others = append(others, otherName(other, was, is))
			}
		}
		if r == nil {
			if d.names[name] {
				certain++
			}
			others = append(others, otherName(abs, was, is))
			continue
		}
		p, err := root.Resolve(name)
		if err == nil && p.Rel() == name {
			known = append(known, seenFile{p, was})
		} else { // a link now, or a folder above it is a file or a link
			others = append(others, otherName(abs, was, is))
			w.mu.Lock()
			r.told = false // as this name; what it may be again is news
			w.mu.Unlock()
		}
	}
	if len(others) > 0 {
		w.mu.Lock()
		w.outside += uint64(certain)
		w.tell(others)
		w.mu.Unlock()
	}
	return w.reconcile(ctx, known)
}

// A seenFile is a document that was looked at before; was says whether the
// last scan saw its file.
type seenFile struct {
	path document.Path
	was  bool
}

// otherNames returns the absolute names that the file called abs has besides,
// by links to it or to a folder above it, as of the last scan.
func (w *Workspace) otherNames(root, abs string) []string {
	links := w.links[root]
	if len(links) == 0 {
		return nil
	}
	out := slices.Clone(links[abs])
	for dir := filepath.Dir(abs); len(dir) > len(root); dir = filepath.Dir(dir) {
		for _, link := range links[dir] {
			out = append(out, link+abs[len(dir):])
		}
	}
	return out
}

// below returns the name with slashes that abs has below root.
func below(root document.Root, abs string) string {
	rel, err := filepath.Rel(root.Dir(), abs)
	if err != nil {
		return ""
	}
	return filepath.ToSlash(rel)
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

// reconcile looks at documents again, in their lanes, and tells of all that
// changed at once: also of one that the servers heard nothing of since a scan
// saw it. Only a call that is cancelled fails.
func (w *Workspace) reconcile(ctx context.Context, list []seenFile) error {
	if len(list) == 0 {
		return nil
	}
	paths := make([]document.Path, len(list))
	for i, f := range list {
		paths[i] = f.path
	}
	release, err := w.lanes.take(ctx, paths...)
	if err != nil {
		return err
	}
	defer release()
	snaps := make([]document.Snapshot, len(list))
	for i, p := range paths {
		s, err := w.target.Snapshot(ctx, p)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			s = document.Snapshot{Path: p, Revision: unreadRevision, Problem: err}
			if errors.Is(err, document.ErrIsDirectory) || errors.Is(err, document.ErrNotRegular) {
				s.Revision = document.Revision{}
			}
		}
		snaps[i] = s
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var changes []lsp.Changed
	for i, s := range snaps {
		if c, ok := w.found(s, list[i].was); ok {
			changes = append(changes, c)
		}
	}
	if len(changes) > 0 {
		w.outside += uint64(len(changes))
		w.tell(changes)
	}
	return nil
}

// found publishes a document as a scan found it, and says what to tell. mu is
// held.
func (w *Workspace) found(s document.Snapshot, was bool) (lsp.Changed, bool) {
	if s.Revision == unreadRevision { // it can't be looked at: all that is known is that it may have changed
		return lsp.Changed{Before: document.Snapshot{Path: s.Path, Revision: unknownRevision}, After: s}, true
	}
	told := false
	if r := w.known[s.Path]; r != nil {
		told = r.told
	}
	c, changed := w.observe(s)
	r := w.known[s.Path]
	if changed || told {
		return c, changed
	}
	r.told = true
	c = lsp.Changed{Before: document.Snapshot{Path: s.Path}, After: s}
	if was {
		c.Before.Revision = unknownRevision
	}
	return c, c.Before.Exists() || s.Exists()
}

// Outside counts the files that others changed, as far as scans found them.
func (w *Workspace) Outside() uint64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outside
}
