// Package lsp talks to language servers: it starts them, keeps their view of
// documents in step, and tells what an edit did to the diagnostics and how far
// that can be relied on.
package lsp

import (
	"context"
	"log/slog"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"coedit/document"
	"coedit/edits"
	"coedit/lsp/profile"
)

// Limits bound how long anything waits. A zero field means its default.
type Limits struct {
	LoadedWait   time.Duration // for a server that is loaded: 10 s
	IndexingWait time.Duration // for one that is loading: 30 s
	TotalWait    time.Duration // in all: 45 s, since hosts give up at 60 s
	Settle       time.Duration // quiet that counts as settled: 150 ms
	SettleMax    time.Duration // the longest wait for it: 1 s
	AfterTimeout time.Duration // after a timeout, until the server is heard again: 1 s
	BaselineWait time.Duration // for what holds before an edit: 2 s
	LaunchWait   time.Duration // for an executable to be found, before "installing" is said: 2 s
	WriteTimeout time.Duration // a server that does not read for so long is ended: 10 s
}

func (l Limits) withDefaults() Limits {
	for _, f := range []struct {
		field *time.Duration
		value time.Duration
	}{
		{&l.LoadedWait, 10 * time.Second}, {&l.IndexingWait, 30 * time.Second}, {&l.TotalWait, 45 * time.Second},
		{&l.Settle, 150 * time.Millisecond}, {&l.SettleMax, time.Second}, {&l.AfterTimeout, time.Second},
		{&l.BaselineWait, 2 * time.Second}, {&l.LaunchWait, 2 * time.Second}, {&l.WriteTimeout, 10 * time.Second},
	} {
		if *f.field <= 0 {
			*f.field = f.value
		}
	}
	return l
}

// A Command starts a server. A nil Env means this process's environment; in
// both cases only the usual variables and the profile's are passed on.
type Command struct {
	Path      string
	Args, Env []string
}

// Options tell New what it works with.
type Options struct {
	Roots    []document.Root
	Profiles []profile.Profile
	Source   document.Source // the text of files that diagnostics name; nil: their columns are the server's
	// Launch finds the executable of a server, or fetches it, which may take
	// minutes the first time.
	Launch  func(ctx context.Context, p profile.Profile, root string) (Command, error)
	Trusted func(root string) bool // nil: no root is trusted
	Log     *slog.Logger           // nil: discard
	Limits  Limits
}

// Servers are the language servers of a workspace. They start when a document
// that they serve is opened or edited.
type Servers struct {
	opts Options

	mu     sync.Mutex
	byKey  map[key]*server
	ending sync.WaitGroup // servers replaced because their root became trusted, or no longer is
	closed bool
}

type key struct{ profile, root string }

// New makes the Servers. Whoever calls New calls Close.
func New(o Options) *Servers {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Trusted == nil {
		o.Trusted = func(string) bool { return false }
	}
	o.Limits = o.Limits.withDefaults()
	return &Servers{opts: o, byKey: map[key]*server{}}
}

// A Changed is one document's step from one snapshot to the next.
type Changed struct {
	Before, After document.Snapshot
	Edits         []edits.Edit // of Before.Text; nil when unknown
	// Other is the absolute name of a file that no path names: another name of
	// a document, by a link, or one that is gone because a folder above it
	// became something else. Whether it was and is there is all that counts.
	Other string
}

func (c Changed) name() string {
	if c.Other != "" {
		return c.Other
	}
	if c.After.Path.IsZero() {
		return c.Before.Path.Name()
	}
	return c.After.Path.Name()
}

// A Mark is a point in the order of what the servers were told.
type Mark struct {
	list    []Changed
	targets []target
}

type target struct {
	sv  *server
	seq uint64
}

// A Baseline is what the servers held at a moment.
type Baseline struct{ held map[*server]holding } // missing: not known

// profilesFor returns the profiles that serve the file called rel, a name with
// slashes below its root.
func (s *Servers) profilesFor(rel string) []profile.Profile {
	var out []profile.Profile
	for _, p := range s.opts.Profiles {
		if p.Serves(rel) && !p.Skips(rel) {
			out = append(out, p)
		}
	}
	return out
}

// need returns the servers of the document called rel below root, started if
// they may be.
func (s *Servers) need(root, rel string) []*server {
	var out []*server
	for _, prof := range s.profilesFor(rel) {
		trusted := s.opts.Trusted(root)
		if !trusted && prof.Runs != profile.RunsNone {
			continue
		}
		s.mu.Lock()
		k := key{prof.Name, root}
		sv := s.byKey[k]
		if sv != nil && sv.trusted != trusted && !s.closed {
			old := sv
			sv = nil
			old.stop()
			s.ending.Add(1)
			go func() { <-old.done; s.ending.Done() }()
		}
		if sv == nil && !s.closed {
			sv = newServer(&s.opts, prof, root, trusted)
			s.byKey[k] = sv
		}
		s.mu.Unlock()
		if sv != nil {
			sv.revive()
			out = append(out, sv)
		}
	}
	return out
}

// Open starts the servers of snap's document and opens it there, in the
// background.
func (s *Servers) Open(snap document.Snapshot) { s.openAll([]document.Snapshot{snap}) }

// openAll opens the documents and returns what to wait for.
func (s *Servers) openAll(snaps []document.Snapshot) map[*server][]string {
	out := map[*server][]string{}
	for _, snap := range snaps {
		for _, sv := range s.need(snap.Path.Root(), snap.Path.Rel()) {
			sv.mu.Lock()
			sv.open(snap)
			sv.mu.Unlock()
			out[sv] = append(out[sv], snap.Path.Name())
		}
	}
	return out
}

// Before returns what the servers hold for these documents and everything
// else. It opens them where they are not, and waits for a bounded time; what
// is not known then stays unknown.
func (s *Servers) Before(ctx context.Context, snaps []document.Snapshot) Baseline {
	b := Baseline{held: map[*server]holding{}}
	var mu sync.Mutex
	var wg sync.WaitGroup
	start := time.Now()
	need := s.openAll(snaps)
	for _, sv := range s.running() { // those that only hear of the files speak of what follows, too
		sv.mu.Lock()
		for _, snap := range snaps {
			if name := snap.Path.Name(); need[sv] == nil && under(sv.root, name) && sv.watches(name) {
				need[sv] = []string{name}
			}
		}
		sv.mu.Unlock()
	}
	for sv, names := range need {
		wg.Go(func() {
			seq := sv.position()
			w, held := sv.await(ctx, seq, names, start, true)
			if w.Freshness == Fresh || w.Freshness == Settled {
				mu.Lock()
				b.held[sv] = held
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	return b
}

// Changed tells all running servers what changed. It only queues: it can be
// called under a lock, and no server can block it.
func (s *Servers) Changed(list []Changed) Mark {
	m := Mark{list: slices.DeleteFunc(slices.Clone(list), func(c Changed) bool { return c.Other != "" })}
	for _, sv := range s.running() {
		own := slices.DeleteFunc(slices.Clone(list), func(c Changed) bool { return !under(sv.root, c.name()) })
		if len(own) == 0 {
			continue
		}
		sv.mu.Lock()
		if sv.apply(own) {
			m.targets = append(m.targets, target{sv, sv.enqueued})
		}
		sv.mu.Unlock()
	}
	return m
}

// running returns all servers there are.
func (s *Servers) running() []*server {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]*server, 0, len(s.byKey))
	for _, sv := range s.byKey {
		out = append(out, sv)
	}
	return out
}

func under(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// Status describes the servers, by name and root.
func (s *Servers) Status() []Status {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Status
	for _, sv := range s.byKey {
		sv.mu.Lock()
		out = append(out, Status{Name: sv.prof.Name, Root: sv.root, State: sv.phase.String(), Note: sv.why,
			Documents: len(sv.docs), Restarts: sv.restarts})
		sv.mu.Unlock()
	}
	slices.SortFunc(out, func(a, b Status) int {
		if a.Name != b.Name {
			if a.Name < b.Name {
				return -1
			}
			return 1
		}
		if a.Root < b.Root {
			return -1
		}
		return 1
	})
	return out
}

// Close ends every server and what it started. It returns ctx's error when
// that takes longer than ctx allows; the ending goes on then.
func (s *Servers) Close(ctx context.Context) error {
	s.mu.Lock()
	s.closed = true
	all := make([]*server, 0, len(s.byKey))
	for _, sv := range s.byKey {
		sv.stop()
		all = append(all, sv)
	}
	s.mu.Unlock()
	ended := make(chan struct{})
	go func() {
		for _, sv := range all {
			<-sv.done
		}
		s.ending.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
