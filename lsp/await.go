package lsp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coedit/document"
	"coedit/internal/wire"

	"go.lsp.dev/protocol"
)

// position returns the number of the last item queued.
func (sv *server) position() uint64 {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.enqueued
}

// A holding is what a server says at one moment, and of which texts.
type holding struct {
	list      map[string][]raw             // by absolute file name
	texts     map[string]document.Snapshot // of the documents that are open
	truncated bool                         // something was dropped
}

// held returns what the server says now. mu is held.
func (sv *server) held() holding {
	h := holding{list: sv.store.all(), texts: make(map[string]document.Snapshot, len(sv.docs)), truncated: len(sv.store.dropped) > 0}
	for name, d := range sv.docs {
		h.texts[name] = d.snap
	}
	return h
}

// look is one glance at how far the server is.
type look struct {
	verdict
	phase    phase
	why      string
	since    time.Time
	timedOut bool
	changed  <-chan struct{}
	conn     *wire.Conn
	asked    uint64   // for a barrier
	held     holding  // where the verdict is the last one
	beside   []string // files to look for embeddings of
}

func (sv *server) look(now time.Time, seq uint64, names []string) look {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	l := look{phase: sv.phase, why: sv.why, since: sv.since, timedOut: sv.timedOut, changed: sv.changed, conn: sv.conn}
	if sv.phase == phaseRunning {
		l.verdict = sv.mach.verdict(now, max(seq, sv.again), sv.relevant(names))
		if l.state == fresh && l.how == "progress" {
			switch {
			case len(sv.opened) > 0:
				sv.tellAgain()
				l.verdict = verdict{}
			case sv.came && sv.lost():
				sv.tellFolder()
				l.verdict = verdict{}
			case len(sv.beside) > 0:
				l.beside, sv.beside = sv.beside, nil
				l.verdict = verdict{}
			}
		}
		if l.barrier {
			l.asked = sv.mach.barrierAsked()
		}
		if l.state == fresh || l.state == settled {
			l.held = sv.held()
		}
	}
	return l
}

// tellAgain queues news of the files that were opened or created since the
// last time; see profile.SecondRound. mu is held.
func (sv *server) tellAgain() {
	var events []protocol.FileEvent
	for name := range sv.opened {
		events = append(events, protocol.FileEvent{URI: wire.FileURI(name), Type: protocol.FileChangeTypeChanged})
	}
	clear(sv.opened)
	sv.enqueued++
	sv.again = sv.enqueued
	sv.push(note{method: methodWatched, events: events})
}

// lost reports whether the server says what means that it has lost its view of
// the project; see profile.Lost. mu is held.
func (sv *server) lost() bool {
	for _, list := range sv.store.push {
		for _, d := range list {
			for _, part := range sv.prof.Lost {
				if strings.Contains(d.message, part) {
					return true
				}
			}
		}
	}
	return false
}

// tellFolder queues that the folder is gone and is there again, which has the
// server load it anew. It happens once after files came or went, so that a
// server whose message means something else is not loaded in circles. mu is
// held.
func (sv *server) tellFolder() {
	sv.came = false
	if sv.phase != phaseRunning {
		return
	}
	sv.enqueued++
	sv.again = sv.enqueued
	sv.push(note{method: methodFolders, name: sv.root})
}

const (
	maxBeside    = 200     // files whose embedding is looked for; past that it is taken for granted
	maxEmbedding = 1000    // files looked into for that
	maxEmbedFile = 1 << 20 // bytes of each
)

// embedded has the folder loaded anew where one of the files called names may
// be part of a package that embeds files: a served file in its folder, or in
// one above it, says so.
func (sv *server) embedded(names []string) {
	found := len(names) > maxBeside
	looked := map[string]bool{}
	files := 0
	for _, name := range names {
		for dir := filepath.Dir(name); !found && under(sv.root, dir) && !looked[dir]; dir = filepath.Dir(dir) {
			looked[dir] = true
			entries, err := os.ReadDir(dir)
			if err != nil {
				continue // gone with its folder
			}
			for _, e := range entries {
				if found || !e.Type().IsRegular() || !sv.prof.Serves(e.Name()) {
					continue
				}
				files++
				found = files > maxEmbedding || contains(filepath.Join(dir, e.Name()), sv.prof.Embeds)
			}
		}
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if found {
		sv.tellFolder()
	}
}

// contains reports whether the file holds text, or is too large to tell.
func contains(name, text string) bool {
	f, err := os.Open(name)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxEmbedFile+1))
	return err == nil && (len(b) > maxEmbedFile || strings.Contains(string(b), text))
}

// maxDependents is how many other open documents are pulled again after a
// change, where the server says that files depend on each other.
const maxDependents = 20

// relevant adds to names the open documents whose diagnostics may follow from
// theirs; without names it is all that are open. mu is held.
func (sv *server) relevant(names []string) []string {
	if !sv.caps.pull && len(names) > 0 || len(names) > 0 && !sv.caps.interFile {
		return names
	}
	var others []string
	for name := range sv.docs {
		if !slices.Contains(names, name) {
			others = append(others, name)
		}
	}
	slices.SortFunc(others, func(a, b string) int { return int(int64(sv.docs[b].used) - int64(sv.docs[a].used)) })
	return append(slices.Clip(names), others[:min(len(others), maxDependents)]...)
}

// await waits until the server has said all that follows from item seq, for
// the documents called names, within the limits; it returns what the server
// says then.
func (sv *server) await(ctx context.Context, seq uint64, names []string, start time.Time, baseline bool) (Evidence, holding) {
	ctx, cancel := context.WithCancel(ctx)
	asks := &asks{pulling: map[string]bool{}}
	defer asks.wg.Wait()
	defer cancel()
	limits := sv.opts.Limits
	slow := sv.slow()
	ev := Evidence{Name: sv.prof.Name}
	done := func(f Freshness, l look) (Evidence, holding) {
		ev.Freshness, ev.How, ev.Waited = f, l.how, time.Since(start)
		if f == Fresh || f == Settled {
			sv.heard()
			return ev, l.held
		}
		ev.Note = l.why
		sv.mu.Lock()
		defer sv.mu.Unlock()
		return ev, sv.held()
	}
	loaded := time.Time{} // when it was first seen loaded
	for {
		now := time.Now()
		l := sv.look(now, seq, names)
		if l.beside != nil {
			sv.embedded(l.beside)
			continue
		}
		var until time.Time
		timeout := Timeout
		switch {
		case l.phase == phaseDead:
			return done(Unavailable, l)
		case l.phase == phaseLaunching:
			until, timeout = later(start, l.since).Add(limits.LaunchWait), Installing
		case l.phase == phaseWaiting:
			until, timeout = start.Add(limits.LoadedWait), Unavailable
		case l.phase == phaseInitializing || l.state == loading:
			until, timeout = start.Add(limits.IndexingWait), Indexing
		case l.state == fresh:
			return done(Fresh, l)
		case l.state == settled:
			return done(Settled, l)
		default:
			if loaded.IsZero() {
				loaded = now
			}
			until = loaded.Add(limits.LoadedWait)
		}
		if slow && l.timedOut {
			until = earlier(until, start.Add(limits.AfterTimeout))
		}
		if baseline {
			until = earlier(until, start.Add(limits.BaselineWait))
		}
		until = earlier(until, start.Add(limits.TotalWait))
		if !now.Before(until) {
			if timeout == Timeout && !baseline {
				sv.gaveUp()
			}
			l.how = ""
			return done(timeout, l)
		}
		sv.ask(ctx, asks, l)
		if !l.wake.IsZero() {
			until = earlier(until, l.wake)
		}
		timer := time.NewTimer(time.Until(until))
		select {
		case <-l.changed:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			l.why, l.how = "cancelled", ""
			return done(Timeout, l)
		}
		timer.Stop()
	}
}

func earlier(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// slow reports whether a wait timed out and nothing was heard since.
func (sv *server) slow() bool {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	return sv.timedOut
}

func (sv *server) heard() {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.timedOut = false
}

func (sv *server) gaveUp() {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.timedOut = true
}

// asks are the requests one wait has in flight; it cancels them and waits for
// them when it ends.
type asks struct {
	wg      sync.WaitGroup
	mu      sync.Mutex
	pulling map[string]bool
}

// ask sends the requests that could bring the verdict on.
func (sv *server) ask(ctx context.Context, a *asks, l look) {
	if l.conn == nil {
		return
	}
	if l.barrier {
		a.wg.Go(func() { sv.barrier(ctx, l) })
	}
	for _, name := range l.pull {
		a.mu.Lock()
		busy := a.pulling[name]
		a.pulling[name] = true
		a.mu.Unlock()
		if busy {
			continue
		}
		a.wg.Go(func() {
			sv.pullOne(ctx, l.conn, name)
			a.mu.Lock()
			delete(a.pulling, name)
			a.mu.Unlock()
		})
	}
}

// barrier asks something that is answered in turn; what the answer is does
// not matter, nor does an error.
func (sv *server) barrier(ctx context.Context, l look) {
	err := l.conn.Call(ctx, "$/coedit/barrier", nil, nil)
	var answer *wire.Error
	if err != nil && !errors.As(err, &answer) {
		sv.mu.Lock()
		sv.mach.asked = 0 // ask again when somebody waits again
		sv.mu.Unlock()
		return
	}
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if sv.conn == l.conn {
		sv.mach.barrierAnswered(l.asked)
		sv.timedOut = false
		sv.touch()
	}
}

// pullReport is a textDocument/diagnostic answer, with or without a kind.
type pullReport struct {
	Kind             string                `json:"kind"`
	ResultID         string                `json:"resultId"`
	Items            []protocol.Diagnostic `json:"items"`
	RelatedDocuments map[string]pullReport `json:"relatedDocuments"`
}

// pullTries is how often a pull that the server itself cancelled is repeated.
const pullTries = 3

func (sv *server) pullOne(ctx context.Context, conn *wire.Conn, name string) {
	for try := 0; ; try++ {
		sv.mu.Lock()
		asked, id := sv.mach.sent, sv.results[name]
		sv.mu.Unlock()
		params := map[string]any{"textDocument": map[string]any{"uri": wire.FileURI(name)}}
		if id != "" {
			params["previousResultId"] = id
		}
		b, err := json.Marshal(params)
		if err != nil {
			return
		}
		var answer wire.Raw
		err = conn.Call(ctx, "textDocument/diagnostic", wire.Raw(b), &answer)
		if ctx.Err() != nil {
			return
		}
		var refused *wire.Error
		if errors.As(err, &refused) && (refused.Code == -32802 || refused.Code == -32801) && try < pullTries {
			continue // the server, or a change, cancelled it
		}
		var r pullReport
		if err == nil && string(answer) != "null" {
			err = wire.Unmarshal(answer, &r)
		}
		if err != nil && refused == nil && errors.Is(err, wire.ErrClosed) {
			return
		}
		sv.mu.Lock()
		defer sv.mu.Unlock()
		if sv.conn != conn {
			return
		}
		sv.timedOut = false
		if err == nil {
			sv.takePull(name, r)
		} else {
			sv.log.Warn("pull failed", "name", name, "err", err)
		}
		sv.mach.pulled(time.Now(), name, asked, err != nil)
		sv.touch()
		return
	}
}

// takePull stores what a pull gave. mu is held.
func (sv *server) takePull(name string, r pullReport) {
	if r.Kind != "unchanged" {
		sv.store.set(sv.store.pull, name, rawOf(r.Items))
	}
	if r.ResultID != "" && len(r.ResultID) < 4096 {
		sv.results[name] = r.ResultID
	} else {
		delete(sv.results, name)
	}
	for uri, related := range r.RelatedDocuments {
		if other, ok := wire.FileName(uri); ok && related.Kind == "full" {
			sv.store.set(sv.store.pull, other, rawOf(related.Items))
		}
	}
}
