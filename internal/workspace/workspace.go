// Package workspace owns the truth about the roots; it is the only door to
// change it.
package workspace

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"sync/atomic"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/history"
	"coedit/lsp"
)

// ErrConflict says that a document was not at the base of a change. It is
// document.ErrConflict: a Target answers with it.
var ErrConflict = document.ErrConflict

// A Target carries changes out.
type Target interface {
	document.Source
	// Stage prepares a change; see document.Staged. It refuses, then or at the
	// swap, with ErrConflict unless the document is at c.Base.
	Stage(ctx context.Context, c edits.Change, next document.Snapshot) (document.Staged, error)
}

// Servers are told of every change, in the order in which they became true.
type Servers interface {
	// Changed enqueues and returns; it never waits for a server.
	Changed([]lsp.Changed) lsp.Mark
}

// Options join a Workspace to what it owns.
type Options struct {
	Target  Target
	Servers Servers         // nil for none
	Journal history.Journal // nil for none
	News    News            // nil: every scan looks at all files
}

// keepText bounds the texts a Workspace keeps of documents that were looked
// at, in bytes; a text that was let go costs a server a full text later.
const keepText = 64 << 20

// maxKnown bounds the documents a Workspace knows; one that was let go is as
// if it had never been looked at.
const maxKnown = 50_000

// maxSteps bounds the own changes remembered for each document.
const maxSteps = 256

// A Step is one change that coedit itself made to a document.
type Step struct {
	From, To document.Revision
	Session  string
}

// A Workspace is safe for concurrent use. Changes of one document happen one
// after the other, in its lane.
type Workspace struct {
	target  Target
	servers Servers
	journal history.Journal
	news    News

	lanes lanes

	mu      sync.Mutex // the short sequence lock: no I/O while it is held
	seq     uint64
	known   map[document.Path]*record
	byName  map[string]*record // the same, by absolute name
	outside uint64             // files that others changed
	order   list.List          // of *record, the last used last
	texts   list.List          // of *record that hold text, the last used last
	text    int
	scans   map[string]listing
	links   map[string]map[string][]string // by root and name of a document: its other names, as of the last scan

	scanning chan struct{}                     // holds a token while nobody scans
	tickets  atomic.Uint64                     // scans asked for
	scanned  scanResult                        // of the last one; whoever has the token writes it
	behind   bool                              // the next scan must look at everything; likewise
	young    map[document.Root]map[string]bool // files to tell of again: they were listed right after they changed; likewise
}

// A record is what is known of one document.
type record struct {
	snap  document.Snapshot // its texts may have been let go
	told  bool              // the servers heard of snap; else they know what the last scan saw
	steps []Step            // own changes since the last one by somebody else
	held  int               // bytes of text and bytes kept
	at    *list.Element     // in order
	in    *list.Element     // in texts; nil where held is 0
}

// New returns a Workspace.
func New(o Options) *Workspace {
	w := &Workspace{target: o.Target, servers: o.Servers, journal: o.Journal, news: o.News,
		known: map[document.Path]*record{}, byName: map[string]*record{}, young: map[document.Root]map[string]bool{}, scans: map[string]listing{}, links: map[string]map[string][]string{}, scanning: make(chan struct{}, 1)}
	w.scanning <- struct{}{}
	return w
}

// Snapshot looks at the document at p as it is now. A change that coedit did
// not make is found here: it is published with its origin and told to the
// language servers before Snapshot returns.
func (w *Workspace) Snapshot(ctx context.Context, p document.Path) (document.Snapshot, error) {
	release, err := w.lanes.take(ctx, p)
	if err != nil {
		return document.Snapshot{}, err
	}
	defer release()
	return w.look(ctx, p)
}

// look reads p in its lane and publishes what it finds.
func (w *Workspace) look(ctx context.Context, p document.Path) (document.Snapshot, error) {
	s, err := w.target.Snapshot(ctx, p)
	if err != nil {
		return document.Snapshot{}, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if c, changed := w.observe(s); changed {
		w.tell([]lsp.Changed{c})
	}
	return w.known[p].snap, nil
}

// observe publishes a document as it was found, and reports whether that is
// another text than the one known: c must be told then. mu is held.
func (w *Workspace) observe(s document.Snapshot) (c lsp.Changed, changed bool) {
	r := w.known[s.Path]
	if r == nil {
		w.publish(s)
		return lsp.Changed{}, false
	}
	before, had := r.snap, r.held > 0 || !r.snap.Exists()
	if before.Revision == s.Revision {
		s.Origin = before.Origin
		w.publish(s)
		// The same bytes can be another text, in the charset configured now.
		if before.Encoding == s.Encoding || !had {
			return lsp.Changed{}, false
		}
	} else {
		w.publish(s)
		r.steps = nil
	}
	r.told = true
	return lsp.Changed{Before: before, After: s}, true
}

// Catch tells the servers of the document that snap is of, when it has moved
// on since: whoever gives them a text outside the order of changes calls it
// afterwards.
func (w *Workspace) Catch(snap document.Snapshot) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.known[snap.Path]
	if r == nil || r.snap.Revision == snap.Revision && r.snap.Encoding == snap.Encoding || r.snap.Exists() && r.held == 0 {
		return
	}
	r.told = true
	w.tell([]lsp.Changed{{Before: snap, After: r.snap}})
}

// publish makes s what is known of its document. The sequence lock is held.
func (w *Workspace) publish(s document.Snapshot) {
	r := w.known[s.Path]
	if r == nil {
		r = &record{}
		w.known[s.Path], w.byName[s.Path.Name()] = r, r
		r.at = w.order.PushBack(r)
	}
	w.seq++
	w.dropText(r)
	w.order.MoveToBack(r.at)
	r.snap = s
	if r.held = len(s.Bytes) + len(s.Text); r.held > 0 {
		w.text += r.held
		r.in = w.texts.PushBack(r)
	}
	for w.text > keepText && w.texts.Len() > 1 {
		oldest := w.texts.Front().Value.(*record)
		w.dropText(oldest)
		oldest.snap.Bytes, oldest.snap.Text = nil, ""
	}
	for len(w.known) > maxKnown {
		oldest := w.order.Front().Value.(*record)
		w.dropText(oldest)
		w.order.Remove(oldest.at)
		delete(w.known, oldest.snap.Path)
		delete(w.byName, oldest.snap.Path.Name())
	}
}

// dropText no longer counts r's texts as kept.
func (w *Workspace) dropText(r *record) {
	if r.in != nil {
		w.texts.Remove(r.in)
		w.text -= r.held
	}
	r.in, r.held = nil, 0
}

func (w *Workspace) tell(list []lsp.Changed) lsp.Mark {
	if w.servers == nil {
		return lsp.Mark{}
	}
	return w.servers.Changed(list)
}

// OwnSince returns the changes that lead from revision rev to the document's
// known current one, if coedit made them all.
func (w *Workspace) OwnSince(p document.Path, rev document.Revision) ([]Step, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.known[p]
	if r == nil {
		return nil, false
	}
	want := r.snap.Revision
	for i := len(r.steps) - 1; i >= 0; i-- {
		if r.steps[i].To != want {
			return nil, false
		}
		want = r.steps[i].From
		if want == rev {
			return slices.Clone(r.steps[i:]), true
		}
	}
	return nil, false
}

// Applied is what became of a plan.
type Applied struct {
	Entry  history.ID
	Before []document.Snapshot // in the order of the plan's changes
	After  []document.Snapshot
	Mark   lsp.Mark
	Seq    uint64 // rises with every change published: orders what sessions record
}

// A PartialError says that a plan over several documents failed in the middle
// and could not be undone everywhere.
type PartialError struct {
	Cause         error
	Undone, Stuck []document.Path // written and restored, written and not restorable
}

func (e *PartialError) Error() string {
	return fmt.Sprintf("%v; restored: %v; left changed, since they could not be restored: %v", e.Cause, e.Undone, e.Stuck)
}

// Unwrap returns the cause. A conflict is none of it: a plan that is done in
// part must not be tried again.
func (e *PartialError) Unwrap() error {
	if errors.Is(e.Cause, ErrConflict) {
		return nil
	}
	return e.Cause
}

// Hold takes the lanes of paths, so that what is seen of them stays true
// (as far as coedit is concerned) until release. Apply and Snapshot on the
// returned Held do not take them again.
func (w *Workspace) Hold(ctx context.Context, paths []document.Path) (*Held, error) {
	release, err := w.lanes.take(ctx, paths...)
	if err != nil {
		return nil, err
	}
	return &Held{w: w, release: release}, nil
}

// Held is a Workspace some of whose lanes the caller holds.
type Held struct {
	w       *Workspace
	release func()
}

// Release gives the lanes back.
func (h *Held) Release() { h.release() }

// Snapshot is Workspace.Snapshot inside the lanes.
func (h *Held) Snapshot(ctx context.Context, p document.Path) (document.Snapshot, error) {
	return h.w.look(ctx, p)
}

// Apply is Workspace.Apply inside the lanes.
func (h *Held) Apply(ctx context.Context, by string, p edits.Plan) (Applied, error) {
	return h.w.apply(ctx, by, p)
}

// Apply carries a plan out, all or nothing, for the session called by. It
// refuses with ErrConflict unless every document is at its change's base. An
// error of the journal after the change comes with what was applied.
func (w *Workspace) Apply(ctx context.Context, by string, p edits.Plan) (Applied, error) {
	release, err := w.lanes.take(ctx, p.Paths()...)
	if err != nil {
		return Applied{}, err
	}
	defer release()
	return w.apply(ctx, by, p)
}

// apply runs in the lanes of the plan's paths.
func (w *Workspace) apply(ctx context.Context, by string, p edits.Plan) (Applied, error) {
	origin := document.Origin{Kind: document.OriginSession, Session: by}
	out := Applied{}
	inverse := edits.Plan{}
	for _, c := range p.Changes {
		before, err := w.look(ctx, c.Path())
		if err != nil {
			return Applied{}, err
		}
		if before.Revision != c.Base {
			return Applied{}, &document.Error{Name: c.Path().Name(), Err: ErrConflict, Detail: "it changed since it was looked at"}
		}
		after, undo, err := result(before, c, origin)
		if err != nil {
			return Applied{}, err
		}
		out.Before, out.After = append(out.Before, before), append(out.After, after)
		inverse.Changes = append(inverse.Changes, undo)
	}
	var err error
	if w.journal != nil {
		if out.Entry, err = w.journal.Begin(by, inverse); err != nil {
			return Applied{}, err
		}
	}
	err = w.carryOut(ctx, p, inverse, out)
	if w.journal != nil {
		var partial *PartialError
		ended := w.journal.End(out.Entry, err == nil || errors.As(err, &partial))
		if err == nil && ended != nil {
			return w.changedTo(p, out, by), fmt.Errorf("the change was made, but its entry in the history could not be closed: %w", ended)
		}
		err = errors.Join(err, ended)
	}
	if err != nil {
		return Applied{}, err
	}
	return w.changedTo(p, out, by), nil
}

// changedTo publishes what became of a plan that was carried out and tells the
// servers.
func (w *Workspace) changedTo(p edits.Plan, out Applied, by string) Applied {
	w.mu.Lock()
	defer w.mu.Unlock()
	changed := make([]lsp.Changed, len(p.Changes))
	for i, c := range p.Changes {
		changed[i] = lsp.Changed{Before: out.Before[i], After: out.After[i], Edits: c.Edits}
		if edits.Grow(c.Edits)+len(out.Before[i].Text) != len(out.After[i].Text) {
			changed[i].Edits = nil // a U+FEFF among them is no text
		}
		w.step(out.Before[i].Revision, out.After[i], by)
	}
	for _, c := range p.Changes {
		for _, name := range w.otherNames(c.Path().Root(), c.Path().Name()) {
			changed = append(changed, otherName(name, true, c.Kind() != edits.Delete))
		}
	}
	out.Mark = w.tell(changed)
	out.Seq = w.seq
	return out
}

// step publishes what coedit itself wrote. The sequence lock is held.
func (w *Workspace) step(from document.Revision, s document.Snapshot, by string) {
	w.publish(s)
	r := w.known[s.Path]
	r.told = true
	r.steps = append(r.steps, Step{From: from, To: s.Revision, Session: by})
	if len(r.steps) > maxSteps {
		r.steps = slices.Clone(r.steps[len(r.steps)-maxSteps:])
	}
}

// result computes the snapshot after c, and the change that undoes it.
func result(before document.Snapshot, c edits.Change, by document.Origin) (document.Snapshot, edits.Change, error) {
	switch c.Kind() {
	case edits.Delete:
		gone := document.Snapshot{Path: c.From, Origin: by}
		return gone, edits.Change{To: c.From, Edits: []edits.Edit{{New: before.Text}}}, nil
	case edits.Rename:
		return document.Snapshot{}, edits.Change{}, &document.Error{Name: c.From.Name(), Err: errors.ErrUnsupported, Detail: "rename"}
	}
	if before.Problem != nil {
		return document.Snapshot{}, edits.Change{}, &document.Error{Name: c.Path().Name(), Err: before.Problem}
	}
	text, err := edits.Apply(before.Text, c.Edits)
	if err != nil {
		return document.Snapshot{}, edits.Change{}, &document.Error{Name: c.Path().Name(), Err: err}
	}
	after, err := before.WithText(text, by)
	if err != nil {
		return document.Snapshot{}, edits.Change{}, &document.Error{Name: c.Path().Name(), Err: err}
	}
	if len(after.Bytes) > document.MaxSize {
		return document.Snapshot{}, edits.Change{}, &document.Error{Name: c.Path().Name(), Err: document.ErrTooLarge, Detail: "the result would be over 64 MiB"}
	}
	undo := edits.Change{From: c.To, To: c.To, Base: after.Revision, Edits: edits.Invert(before.Text, c.Edits)}
	if c.Kind() == edits.Create {
		undo = edits.Change{From: c.To, Base: after.Revision}
	}
	return after, undo, nil
}

// carryOut stages everything, then swaps in path order, what is deleted last: a
// file made again has lost its mode and owner, so one that may have to be taken
// back is deleted only when all else is done. A swap that fails undoes those
// before it.
func (w *Workspace) carryOut(ctx context.Context, p, inverse edits.Plan, out Applied) error {
	order := make([]int, len(p.Changes))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		x, y := p.Changes[a], p.Changes[b]
		if gone := x.Kind() == edits.Delete; gone != (y.Kind() == edits.Delete) {
			if gone {
				return 1
			}
			return -1
		}
		return x.Path().Compare(y.Path())
	})
	staged := make([]document.Staged, 0, len(order))
	discard := func(from int) {
		for i := len(staged) - 1; i >= from; i-- {
			staged[i].Discard()
		}
	}
	for _, i := range order {
		s, err := w.target.Stage(ctx, p.Changes[i], out.After[i])
		if err != nil {
			discard(0)
			return err
		}
		staged = append(staged, s)
	}
	for n, s := range staged {
		err := s.Swap(ctx)
		if err == nil {
			continue
		}
		discard(n)
		return w.takeBack(p, inverse, out, order[:n], staged, err)
	}
	return nil
}

// takeBack undoes the swaps of done, under the same comparison. It does not
// stop for a cancelled call: half a plan is worse than a late answer.
func (w *Workspace) takeBack(p, inverse edits.Plan, out Applied, done []int, staged []document.Staged, cause error) error {
	ctx := context.Background()
	partial := &PartialError{Cause: cause}
	for n, i := range slices.Backward(done) {
		path := p.Changes[i].Path()
		s, err := w.target.Stage(ctx, inverse.Changes[i], out.Before[i])
		if err == nil {
			if err = s.Swap(ctx); err != nil {
				s.Discard()
			}
		}
		if err != nil {
			partial.Stuck = append(partial.Stuck, path)
			continue
		}
		staged[n].Discard()
		partial.Undone = append(partial.Undone, path)
	}
	if len(partial.Stuck) == 0 {
		return cause
	}
	for _, p := range partial.Stuck { // what holds there now is published and told
		if _, err := w.look(ctx, p); err != nil {
			partial.Cause = errors.Join(partial.Cause, err)
		}
	}
	return partial
}

// An Opener is a Target that can read a file in part.
type Opener interface {
	Open(ctx context.Context, p document.Path) (io.ReadCloser, int64, error)
}

// Open opens the file at p for reading in part, whatever its size.
func (w *Workspace) Open(ctx context.Context, p document.Path) (io.ReadCloser, int64, error) {
	o, ok := w.target.(Opener)
	if !ok {
		return nil, 0, &document.Error{Name: p.Name(), Err: document.ErrTooLarge}
	}
	return o.Open(ctx, p)
}
