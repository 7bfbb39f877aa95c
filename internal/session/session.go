// Package session is one agent's dealings with a workspace, step by step, and
// its read-state file.
package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/history"
	"coedit/internal/permission"
	"coedit/internal/workspace"
	"coedit/lsp"
	"coedit/readstate"
)

// Servers are the language servers as a session needs them.
type Servers interface {
	Open(document.Snapshot)
	Before(context.Context, []document.Snapshot) lsp.Baseline
	Diagnose(context.Context, lsp.Mark, lsp.Baseline) lsp.Report
	Needed(root string, files []string) (open []string, served int)
	Current(ctx context.Context, snaps []document.Snapshot, roots ...string) (lsp.Report, []lsp.Diagnostic)
}

// Options join a Session to what it works on.
type Options struct {
	Name      string // stable over restarts of the host
	Roots     document.Roots
	Dir       string // what relative names start from
	Workspace *workspace.Workspace
	Servers   Servers // nil: every report is skipped
	Rules     permission.Rules
	StateFile string // keeps the read state over restarts; "" for nowhere
	// Held reports that files are being changed in one go just now, as by a
	// checkout: what changed is told when that is over. nil: never.
	Held func() bool
}

// A Session is safe for concurrent calls.
type Session struct {
	o Options

	mu         sync.Mutex // guards what follows; never held over I/O
	seen       readstate.Ledger
	recorded   map[document.Path]uint64 // the sequence of the last own change recorded
	told       map[document.Path]document.Revision
	repeats    map[document.Path]repeat
	introduced lsp.Introduced
	once       map[string]bool
	outside    uint64 // files changed by others that it was told of in sum
	dirty      bool

	saving  sync.Mutex
	listed  sync.Once
	opening sync.WaitGroup
}

// maxTries is how often a call begins anew when a document changes under it.
const maxTries = 5

// maxShown bounds the lines of a foreign change that are shown, and with that
// whether the baseline moves to it.
const maxShown = 400

// New returns a Session with the read state that an earlier run left.
func New(o Options) *Session {
	s := &Session{o: o, recorded: map[document.Path]uint64{}, told: map[document.Path]document.Revision{}, repeats: map[document.Path]repeat{}}
	if o.Workspace != nil {
		s.outside = o.Workspace.Outside()
	}
	s.load()
	return s
}

// Name returns the session's name.
func (s *Session) Name() string { return s.o.Name }

// Dir returns the folder that relative names start from.
func (s *Session) Dir() string { return s.o.Dir }

// Resolve confines a name to the roots; see document.Roots.
func (s *Session) Resolve(name string) (document.Path, error) {
	return s.o.Roots.Resolve(s.o.Dir, name)
}

// Close waits for what the session left running and keeps its read state.
func (s *Session) Close() error {
	s.opening.Wait()
	return s.save()
}

// A DeniedError says that the rules refuse, or that they ask and nobody can
// answer.
type DeniedError struct {
	Verdict permission.Verdict
	Mode    permission.Mode
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("%s: permission denied (%s)", e.Verdict.Path, e.Verdict.Why)
}

// An UnreadError says that the agent has not seen a document, or not all of it.
type UnreadError struct {
	Path  document.Path
	Lines []readstate.Span // those not seen, when it has seen others
}

func (e *UnreadError) Error() string { return fmt.Sprintf("%s: %v", e.Path, readstate.ErrUnread) }

// Is reports that every UnreadError is readstate.ErrUnread.
func (e *UnreadError) Is(target error) bool { return target == readstate.ErrUnread }

// A StaleError says what changed since the agent saw a document. It is
// readstate.ErrStale.
type StaleError struct {
	External
	Moved bool // the baseline is the current text now: the call can be sent again
}

func (e *StaleError) Error() string { return fmt.Sprintf("%s: %v", e.Path, readstate.ErrStale) }

// Is reports that every StaleError is readstate.ErrStale.
func (e *StaleError) Is(target error) bool { return target == readstate.ErrStale }

// Snapshot looks at a document as it is now, if the rules let the agent.
func (s *Session) Snapshot(ctx context.Context, p document.Path) (document.Snapshot, error) {
	if err := s.MayLook(p); err != nil {
		return document.Snapshot{}, err
	}
	return s.o.Workspace.Snapshot(ctx, p)
}

// MayLook asks the rules whether the text of p may leave.
func (s *Session) MayLook(p document.Path) error {
	if v := s.o.Rules.Look(p); v.Decision != permission.Allow {
		return &DeniedError{Verdict: v, Mode: s.o.Rules.Mode}
	}
	return nil
}

// Shown records that the agent was shown lines of snap, and opens the document
// in its language server in the background. key names how it was read; Shown
// reports whether the same key at the same revision was shown the time before
// (then nothing is recorded and the caller says so in one line instead).
func (s *Session) Shown(snap document.Snapshot, key string, spans []readstate.Span) (repeated bool) {
	if s.shown(snap, key, spans) {
		return true
	}
	if s.o.Servers != nil && snap.Problem == nil {
		s.opening.Go(func() {
			// listed before the first server starts, so that what changes from
			// then on is found
			s.listed.Do(func() { _, _ = s.o.Workspace.Scan(context.Background(), s.o.Roots) })
			s.open(snap)
		})
	}
	return false
}

func (s *Session) shown(snap document.Snapshot, key string, spans []readstate.Span) (repeated bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := repeat{revision: snap.Revision, key: key}
	if s.repeats[snap.Path] == now && s.seen.Check(snap) == nil {
		delete(s.repeats, snap.Path)
		return true
	}
	s.repeats[snap.Path] = now
	s.seen.Record(snap, spans...)
	s.told[snap.Path] = snap.Revision
	s.dirty = true
	return false
}

// open opens documents in their servers, with the text that is current when
// they have it.
func (s *Session) open(snaps ...document.Snapshot) {
	for _, snap := range snaps {
		s.o.Servers.Open(snap)
		s.o.Workspace.Catch(snap)
	}
}

// A repeat is how a document was read last.
type repeat struct {
	revision document.Revision
	key      string
}

// Looked is a document as a plan sees it.
type Looked struct {
	document.Snapshot
	Seen func(line int) bool // whether the agent has seen line, counted in Text
}

// An Intent is what a tool call wants done.
type Intent struct {
	Paths  []document.Path // named by the agent; must have been read where they exist
	Whole  bool            // the plan replaces whole texts: every line must have been seen
	Rebase bool            // plan over a foreign change that the plan's places do not touch
	DryRun bool            // plan and check, change nothing
	Wait   bool            // wait for diagnostics
	// Plan makes the changes, without effects. It may run several times.
	Plan func(context.Context, []Looked) (edits.Plan, error)
}

// An Outcome is what became of an intent.
type Outcome struct {
	Plan     edits.Plan
	Before   []document.Snapshot // by change of the plan
	After    []document.Snapshot
	Unseen   map[document.Path][]readstate.Span // lines changed that the agent had not seen
	External []External                         // changes by others that were planned over
	Notices  []string                           // what the rules say beside their consent
	Entry    history.ID
	Report   lsp.Report
}

// Edit is the life of an edit: look, plan, permit, apply, record, diagnose.
// A document that changes meanwhile makes it begin anew, at most 5 times.
func (s *Session) Edit(ctx context.Context, in Intent) (Outcome, error) {
	for _, p := range in.Paths {
		if err := s.MayLook(p); err != nil {
			return Outcome{}, err
		}
	}
	a := &attempt{s: s, in: in, first: map[document.Path]document.Revision{}}
	var out Outcome
	var err error
	for try := 0; try < maxTries; try++ {
		if out, err = a.run(ctx, try > 0); !errors.Is(err, workspace.ErrConflict) {
			break
		}
	}
	if err != nil || in.DryRun {
		out.Report = lsp.Report{Freshness: lsp.Skipped}
		return out, err
	}
	out.Report = s.diagnose(ctx, in, a, out)
	return out, nil
}

// diagnose waits for what the edit broke or fixed, outside every lock.
func (s *Session) diagnose(ctx context.Context, in Intent, a *attempt, out Outcome) lsp.Report {
	if s.o.Servers == nil || !in.Wait {
		return lsp.Report{Freshness: lsp.Skipped}
	}
	r := s.o.Servers.Diagnose(ctx, a.mark, a.before)
	changed := make([]lsp.Changed, len(out.Plan.Changes))
	for i, c := range out.Plan.Changes {
		changed[i] = lsp.Changed{Before: out.Before[i], After: out.After[i], Edits: c.Edits}
	}
	doubt(&r, a.part)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.introduced.Fold(&r, changed)
	s.dirty = true
	return r
}

// doubt takes the word "fresh" from a report where files may have changed
// unseen.
func doubt(r *lsp.Report, part bool) {
	if part && r.Freshness == lsp.Fresh {
		r.Freshness, r.Note = lsp.Settled, "not all files of the workspace could be listed"
	}
}

// An attempt is one intent on its way through the pipeline.
type attempt struct {
	s      *Session
	in     Intent
	first  map[document.Path]document.Revision // what the call saw when it began
	mark   lsp.Mark
	before lsp.Baseline
	asked  bool
	part   bool // not all files could be listed: changes by others may be unknown
}

// A door is a Workspace, or one whose lanes are held.
type door interface {
	Snapshot(context.Context, document.Path) (document.Snapshot, error)
	Apply(ctx context.Context, by string, p edits.Plan) (workspace.Applied, error)
}

func (a *attempt) run(ctx context.Context, again bool) (Outcome, error) {
	s := a.s
	var w door = s.o.Workspace
	if again {
		held, err := s.o.Workspace.Hold(ctx, a.in.Paths)
		if err != nil {
			return Outcome{}, err
		}
		defer held.Release()
		w = held
	}
	seen, err := a.look(ctx, w)
	if err != nil {
		return Outcome{}, err
	}
	looked := make([]Looked, len(seen))
	for i, x := range seen {
		looked[i] = Looked{Snapshot: x.snap, Seen: x.seen}
	}
	plan, err := a.in.Plan(ctx, looked)
	if err != nil {
		return Outcome{}, err
	}
	out := Outcome{Plan: plan, Unseen: map[document.Path][]readstate.Span{}}
	if err := a.overlap(plan, seen, &out); err != nil {
		return Outcome{}, err
	}
	v := s.o.Rules.Do(plan)
	if v.Decision != permission.Allow {
		return Outcome{}, &DeniedError{Verdict: v, Mode: s.o.Rules.Mode}
	}
	if v.Notice != "" {
		out.Notices = append(out.Notices, v.Path.Rel()+": "+v.Notice)
	}
	if a.in.DryRun {
		return out, a.preview(plan, seen, &out)
	}
	a.ask(ctx, seen)
	applied, err := w.Apply(ctx, s.o.Name, plan)
	if err != nil && applied.After == nil {
		return Outcome{}, err
	}
	if err != nil { // the change was made all the same
		out.Notices = append(out.Notices, err.Error())
	}
	a.mark = applied.Mark
	out.Before, out.After, out.Entry = applied.Before, applied.After, applied.Entry
	s.record(seen, plan, applied, &out)
	return out, nil
}

// ask finds out what the servers hold before the change, once: a call that
// begins anew must not wait for a server while it holds lanes.
func (a *attempt) ask(ctx context.Context, seen []sight) {
	if a.asked || !a.in.Wait || a.s.o.Servers == nil {
		return
	}
	a.asked = true
	whole, err := a.s.o.Workspace.Scan(ctx, a.s.o.Roots)
	a.part = !whole || err != nil
	snaps := make([]document.Snapshot, len(seen))
	for i, x := range seen {
		snaps[i] = x.snap
	}
	a.s.open(snaps...)
	a.before = a.s.o.Servers.Before(ctx, snaps)
}

// preview fills the texts a dry run would have led to.
func (a *attempt) preview(plan edits.Plan, seen []sight, out *Outcome) error {
	for _, c := range plan.Changes {
		before := document.Snapshot{Path: c.Path()}
		for _, x := range seen {
			if x.snap.Path == c.Path() {
				before = x.snap
			}
		}
		text, err := edits.Apply(before.Text, c.Edits)
		if err != nil {
			return err
		}
		after, err := before.WithText(text, document.Origin{Kind: document.OriginSession, Session: a.s.o.Name})
		if err != nil {
			return &document.Error{Name: c.Path().Name(), Err: err}
		}
		out.Before, out.After = append(out.Before, before), append(out.After, after)
	}
	return nil
}

// Open opens a document for reading in part, whatever its size.
func (s *Session) Open(ctx context.Context, p document.Path) (io.ReadCloser, int64, error) {
	if err := s.MayLook(p); err != nil {
		return nil, 0, err
	}
	return s.o.Workspace.Open(ctx, p)
}

// FirstTime reports whether the session is asked about key for the first time
// since it began: for refusals that hold once.
func (s *Session) FirstTime(key string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.once[key] {
		return false
	}
	if s.once == nil || len(s.once) > 1000 {
		s.once = map[string]bool{}
	}
	s.once[key] = true
	return true
}
