package lsp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/wire"
	"coedit/lsp/profile"

	"go.lsp.dev/protocol"
)

// phase is where a server is in its life.
type phase uint8

const (
	phaseLaunching    phase = iota // finding or fetching the executable
	phaseInitializing              // started, initialize not answered
	phaseRunning
	phaseWaiting // crashed, will be started again
	phaseDead    // given up
)

func (p phase) String() string {
	return [...]string{"installing", "starting", "running", "restarting", "unavailable"}[p]
}

const (
	maxRestarts    = 5
	firstPause     = 250 * time.Millisecond
	steadyAfter    = time.Minute // a server that lived that long has its restarts forgiven; one given up is tried again
	initializeWait = 60 * time.Second
	openLimit      = 300 // documents open at a time
)

// doc is one document that a server holds open, or is to.
type doc struct {
	snap    document.Snapshot
	lang    string
	version int32
	used    uint64 // when it was last wanted, in items
}

// note is one notification to send. Its parameters are made when it is sent.
type note struct {
	method  string
	name    string
	lang    string
	version int32
	before  string // didChange: the text that edits are of
	after   string // didOpen, didChange: the new text
	edits   []edits.Edit
	events  []protocol.FileEvent // didChangeWatchedFiles
	seq     uint64
}

// server is one language server of one root: a process that is started again
// when it dies, and what it was told and said. One goroutine, run, starts it
// and is the only one that sends notifications.
type server struct {
	prof    profile.Profile
	root    string
	trusted bool
	opts    *Options
	log     *slog.Logger

	stop context.CancelFunc
	done chan struct{} // closed when run has returned
	wake chan struct{} // the queue is not empty
	want chan struct{} // somebody needs a server that was given up

	mu        sync.Mutex
	changed   chan struct{} // closed at the next change of anything below
	phase     phase
	why       string // why it is waiting or dead
	since     time.Time
	restarts  int
	docs      map[string]*doc // by absolute name: what is open, as of the last item
	queue     []note
	enqueued  uint64
	conn      *wire.Conn
	caps      capabilities
	watchers  map[string][]watcher // by registration id
	mach      *machine
	store     store
	results   map[string]string // result ids of pulls, by absolute name
	opened    map[string]bool   // files to tell of again after the next round
	again     uint64            // the item that did so last, or told of the folder anew
	came      bool              // files or imports came or went since the folder was last told anew
	beside    []string          // files made or removed that the server is not told of; see profile.Embeds
	refreshed time.Time         // when pulls were last made out of date
	timedOut  bool              // a wait timed out and nothing was heard since
}

func newServer(opts *Options, p profile.Profile, root string, trusted bool) *server {
	ctx, stop := context.WithCancel(context.Background())
	sv := &server{
		prof: p, root: root, trusted: trusted, opts: opts, log: opts.Log.With("server", p.Name, "root", root),
		stop: stop, done: make(chan struct{}), wake: make(chan struct{}, 1), want: make(chan struct{}, 1), changed: make(chan struct{}),
		docs: map[string]*doc{}, opened: map[string]bool{}, store: newStore(), mach: newMachine(machineConfig{}), since: time.Now(),
	}
	go sv.run(ctx)
	return sv
}

// touch tells everybody who waits that something changed. mu is held.
func (sv *server) touch() {
	close(sv.changed)
	sv.changed = make(chan struct{})
}

func (sv *server) setPhase(p phase, why string) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.phase, sv.why, sv.since = p, why, time.Now()
	sv.touch()
}

// run starts the server, and again after it died, with growing pauses. When it
// has died too often, or can't be started, that waits until somebody needs it.
func (sv *server) run(ctx context.Context) {
	defer close(sv.done)
	pause := firstPause
	for ctx.Err() == nil {
		started := time.Now()
		err := sv.once(ctx)
		if ctx.Err() != nil {
			return
		}
		sv.log.Warn("language server ended", "err", err)
		sv.mu.Lock()
		if time.Since(started) > steadyAfter {
			sv.restarts, pause = 0, firstPause
		}
		sv.restarts++
		var launch *launchError
		last := sv.restarts > maxRestarts || errors.As(err, &launch)
		sv.mu.Unlock()
		if last {
			sv.setPhase(phaseDead, err.Error())
			select {
			case <-ctx.Done():
			case <-sv.want:
			}
			sv.mu.Lock()
			sv.restarts, pause = maxRestarts/2, firstPause
			sv.mu.Unlock()
			continue
		}
		sv.setPhase(phaseWaiting, err.Error())
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		pause = min(4*pause, steadyAfter)
	}
}

// revive has a server that was given up a while ago tried again.
func (sv *server) revive() {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	if sv.phase == phaseDead && time.Since(sv.since) > steadyAfter {
		select {
		case sv.want <- struct{}{}:
		default:
		}
	}
}

// launchError means that there was nothing to start.
type launchError struct{ err error }

func (e *launchError) Error() string { return e.err.Error() }
func (e *launchError) Unwrap() error { return e.err }

// once is one life of the process.
func (sv *server) once(ctx context.Context) error {
	sv.mu.Lock()
	if sv.phase != phaseDead {
		sv.phase = phaseLaunching
	}
	sv.touch()
	sv.mu.Unlock()
	cmd, err := sv.opts.Launch(ctx, sv.prof, sv.root)
	if err != nil {
		return &launchError{err}
	}
	if !sv.trusted && inside(cmd.Path, sv.opts.Roots) {
		return &launchError{fmt.Errorf("%s lies inside the workspace, and the workspace is not trusted", cmd.Path)}
	}
	proc, err := startProcess(sv.root, cmd, sv.environment(cmd.Env))
	if err != nil {
		return &launchError{err}
	}
	defer proc.kill()
	sv.setPhase(phaseInitializing, "")
	conn := wire.Connect(proc, wire.Handler{Notify: sv.notified, Request: sv.requested},
		wire.Options{Log: sv.log, WriteTimeout: sv.opts.Limits.WriteTimeout})
	defer func() {
		proc.kill()
		conn.Close()
		sv.mu.Lock()
		sv.conn, sv.store = nil, newStore()
		sv.mu.Unlock()
	}()
	sv.mu.Lock()
	sv.watchers, sv.mach = map[string][]watcher{}, newMachine(machineConfig{})
	sv.mu.Unlock()
	caps, err := sv.initialize(ctx, conn)
	if err != nil {
		return fmt.Errorf("%w%s", err, proc.lastWords())
	}
	sv.begin(conn, caps)
	for {
		select {
		case <-ctx.Done():
			sv.shutdown(conn, proc)
			return ctx.Err()
		case <-conn.Done():
			if err := conn.Err(); err != nil {
				return fmt.Errorf("%w%s", err, proc.lastWords())
			}
			return fmt.Errorf("the language server ended%s", proc.lastWords())
		case <-sv.wake:
			if err := sv.sendQueued(conn); err != nil {
				return fmt.Errorf("%w%s", err, proc.lastWords())
			}
		}
	}
}

// begin makes the server running: what was queued for the former process is
// replaced by opening every document as it is now; news of files on disk is
// kept, since the server may have read them before.
func (sv *server) begin(conn *wire.Conn, caps capabilities) {
	sv.mu.Lock()
	defer sv.mu.Unlock()
	sv.conn, sv.caps, sv.store, sv.timedOut, sv.results = conn, caps, newStore(), false, map[string]string{}
	sv.came, sv.beside = false, nil
	sv.mach = newMachine(machineConfig{
		rounds: sv.prof.Rounds, prefix: sv.prof.ProgressTitle, loading: sv.prof.LoadingTitles,
		pull: caps.pull, push: sv.prof.Push, versionFinal: sv.prof.VersionFinal,
		settle: sv.opts.Limits.Settle, settleMax: sv.opts.Limits.SettleMax,
	})
	old := sv.queue
	sv.enqueued++
	sv.queue = []note{{method: "initialized", seq: sv.enqueued}}
	for name, d := range sv.docs {
		sv.queue = append(sv.queue, note{method: methodOpen, name: name, lang: d.lang, version: d.version, after: d.snap.Text, seq: sv.enqueued})
	}
	for _, n := range old {
		if n.method == methodWatched {
			n.seq = sv.enqueued
			sv.queue = append(sv.queue, n)
		}
	}
	sv.phase, sv.why, sv.since = phaseRunning, "", time.Now()
	sv.kick()
	sv.touch()
}

func (sv *server) kick() {
	select {
	case sv.wake <- struct{}{}:
	default:
	}
}

// sendQueued sends what is queued, in order.
func (sv *server) sendQueued(conn *wire.Conn) error {
	for {
		sv.mu.Lock()
		list := sv.queue
		sv.queue = nil
		caps := sv.caps
		sv.mu.Unlock()
		if len(list) == 0 {
			return nil
		}
		for i, n := range list {
			params, err := n.params(caps)
			if err != nil {
				return err
			}
			if n.method == methodSave && !caps.save {
				params = nil
			}
			sv.mu.Lock()
			if params == nil {
				sv.mach.sent = max(sv.mach.sent, n.seq)
				sv.mu.Unlock()
				continue
			}
			seq := n.seq
			if i+1 < len(list) && list[i+1].seq == seq {
				seq-- // an item is sent when its last notification is
			}
			sv.mach.wasSent(time.Now(), n.method, n.name, n.version)
			sv.mu.Unlock()
			if err := conn.Notify(n.method, params); err != nil {
				return err
			}
			sv.mu.Lock()
			sv.mach.delivered(time.Now(), seq) // not before: a pull must not overtake it
			sv.mu.Unlock()
		}
		sv.mu.Lock()
		sv.touch()
		sv.mu.Unlock()
	}
}

// shutdown asks the server to end, and does not insist on an answer.
func (sv *server) shutdown(conn *wire.Conn, proc *process) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if conn.Call(ctx, "shutdown", nil, nil) == nil {
		conn.Notify("exit", nil)
		select {
		case <-proc.exited:
		case <-ctx.Done():
		}
	}
}
