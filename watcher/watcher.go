// Package watcher reports that files may have changed.
package watcher

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/fsnotify/fsnotify"
)

const (
	// maxPending bounds the names kept for Take; past it everything may have
	// changed.
	maxPending = 50_000
	// cookieWait bounds the wait for an event that was lost.
	cookieWait = 2 * time.Second
	// minBudget is how many watches a root gets whatever the user's limit is.
	minBudget = 64
)

// Options say what is watched and how.
type Options struct {
	Dirs    []string               // top folders, absolute and free of links
	Singles []string               // folders watched without what is below them
	Skip    func(base string) bool // folders below the top ones that are left out, with all below them; nil for none
	Ignore  func(base string) bool // names whose events say nothing; nil for none
	Cookies string                 // a folder of the caller's own, made if it is missing; see Take
	Budget  int                    // watches for all top folders together; 0: a quarter of what the system allows a user
	Log     *slog.Logger           // nil: discard
}

// Status tells how far the watching goes.
type Status struct {
	Watches, Budget int
	Ready           bool   // all folders have been walked
	Partial         string // why not every folder is watched; "" when they are
}

// A Watcher collects the names of what may have changed. It is safe for
// concurrent use.
type Watcher struct {
	o      Options
	fs     *fsnotify.Watcher
	budget int
	cancel context.CancelFunc
	done   sync.WaitGroup
	hint   chan struct{} // something is pending

	mu      sync.Mutex
	watched map[string]int // folder → number of its top folder, -1 for singles and cookies
	used    []int          // watches by top folder
	pending map[string]bool
	all     bool // everything may have changed
	ready   bool
	partial string
	cookies map[string]chan struct{}
	closed  bool
}

// Start begins to watch, in the background: until all folders have been
// walked everything may have changed. Whoever calls it calls Close.
func Start(o Options) (*Watcher, error) {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Skip == nil {
		o.Skip = func(string) bool { return false }
	}
	if o.Ignore == nil {
		o.Ignore = func(string) bool { return false }
	}
	if err := os.MkdirAll(o.Cookies, 0o700); err != nil {
		return nil, err
	}
	f, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	if err := f.Add(o.Cookies); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	ctx, cancel := context.WithCancel(context.Background())
	w := &Watcher{o: o, fs: f, budget: o.Budget, cancel: cancel, hint: make(chan struct{}, 1), all: true,
		watched: map[string]int{o.Cookies: -1}, used: make([]int, len(o.Dirs)), pending: map[string]bool{}, cookies: map[string]chan struct{}{}}
	if w.budget == 0 {
		w.budget = Share()
	}
	w.done.Go(w.events)
	w.done.Go(func() {
		for _, dir := range o.Singles {
			w.add(dir, -1)
		}
		for i, dir := range o.Dirs {
			w.walk(ctx, dir, i)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		w.ready, w.all = true, true
		w.wake()
	})
	return w, nil
}

// Close ends the watching.
func (w *Watcher) Close() error {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	w.cancel()
	err := w.fs.Close()
	w.done.Wait()
	return err
}

// Share returns how many watches coedit takes at most: a quarter of what the
// system allows the user.
func Share() int { return allowed() / 4 }

// Status tells how far the watching goes.
func (w *Watcher) Status() Status {
	w.mu.Lock()
	defer w.mu.Unlock()
	return Status{Watches: len(w.watched), Budget: w.budget, Ready: w.ready, Partial: w.partial}
}

// Take returns the absolute names of what may have changed since the last
// Take, files and folders (then with all below them), or that everything may
// have. What happened before the call is in it: a cookie file is written to a
// folder of ours and its event awaited, and events come in one order. Where
// that can't be had (folders not watched, another system than Linux) the
// answer is everything.
func (w *Watcher) Take(ctx context.Context) (names []string, all bool, err error) {
	if ordered {
		err = w.cookie(ctx)
	}
	if ctx.Err() != nil {
		return nil, true, ctx.Err()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	all = w.all || !w.ready || !ordered || w.partial != "" || w.closed
	if err != nil {
		w.o.Log.Warn("watching is out of step", "err", err)
		all = true
	}
	names = slices.Sorted(maps.Keys(w.pending))
	clear(w.pending)
	w.all = false
	if all {
		return nil, true, nil
	}
	return names, false, nil
}

// cookie waits until every event before it has been taken in.
func (w *Watcher) cookie(ctx context.Context) error {
	var id [8]byte
	rand.Read(id[:])
	name := filepath.Join(w.o.Cookies, "cookie-"+hex.EncodeToString(id[:]))
	seen := make(chan struct{})
	w.mu.Lock()
	if !w.ready || w.partial != "" || w.closed {
		w.mu.Unlock()
		return nil
	}
	w.cookies[name] = seen
	w.mu.Unlock()
	defer func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.cookies, name)
	}()
	f, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), os.Remove(name)); err != nil {
		return err
	}
	timer := time.NewTimer(cookieWait)
	defer timer.Stop()
	select {
	case <-seen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return errors.New("the cookie's event never came")
	}
}

// events takes in what the system reports, in order.
func (w *Watcher) events() {
	for {
		select {
		case e, ok := <-w.fs.Events:
			if !ok {
				return
			}
			w.event(e)
		case err, ok := <-w.fs.Errors:
			if !ok {
				return
			}
			w.overflow(err)
		}
	}
}

func (w *Watcher) event(e fsnotify.Event) {
	dir, base := filepath.Split(e.Name)
	if filepath.Clean(dir) == w.o.Cookies {
		w.mu.Lock()
		defer w.mu.Unlock()
		if seen := w.cookies[e.Name]; seen != nil && e.Has(fsnotify.Create) {
			close(seen)
			delete(w.cookies, e.Name)
		}
		return
	}
	if w.o.Ignore(base) {
		return
	}
	if e.Has(fsnotify.Remove) || e.Has(fsnotify.Rename) {
		w.forget(e.Name)
	}
	if e.Has(fsnotify.Create) && !w.o.Skip(base) {
		if info, err := os.Lstat(e.Name); err == nil && info.IsDir() {
			w.mu.Lock()
			top, ok := w.watched[filepath.Clean(dir)]
			w.mu.Unlock()
			if ok && top >= 0 {
				w.forget(e.Name) // another folder had the name
				w.walk(context.Background(), e.Name, top)
			}
		}
	}
	w.note(e.Name)
}

// note keeps a name for Take.
func (w *Watcher) note(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.pending) >= maxPending {
		clear(w.pending)
		w.all = true
	}
	if !w.all {
		w.pending[name] = true
	}
	w.wake()
}

// wake tells Settle that something is pending. mu is held.
func (w *Watcher) wake() {
	select {
	case w.hint <- struct{}{}:
	default:
	}
}

// overflow is what follows an error: events were lost, so everything may have
// changed, and folders may have been made that nobody watches.
func (w *Watcher) overflow(err error) {
	w.o.Log.Warn("watching", "err", err)
	w.mu.Lock()
	w.all = true
	clear(w.pending)
	ready := w.ready
	w.wake()
	w.mu.Unlock()
	if !ready {
		return
	}
	for i, dir := range w.o.Dirs {
		w.forgetGone(dir)
		w.walk(context.Background(), dir, i)
	}
}

// walk watches dir and all folders below it. A folder is watched before it is
// looked into, so that nothing made meanwhile is missed.
func (w *Watcher) walk(ctx context.Context, dir string, top int) {
	if ctx.Err() != nil || !w.add(dir, top) {
		return
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return // gone again; or not to be read, which the listing says
	}
	for _, e := range entries {
		if e.IsDir() && !w.o.Skip(e.Name()) {
			w.walk(ctx, filepath.Join(dir, e.Name()), top)
		}
	}
}

// add watches one folder, and reports whether to go on below it.
func (w *Watcher) add(dir string, top int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	if _, ok := w.watched[dir]; ok {
		return true
	}
	if top >= 0 {
		if w.used[top] >= max(minBudget, w.budget/len(w.o.Dirs)) {
			w.part(fmt.Sprintf("%s has more folders than the %d watches that coedit takes for it, a share of what the system allows (fs.inotify.max_user_watches)", w.o.Dirs[top], w.used[top]))
			return false
		}
	}
	if err := w.fs.Add(dir); err != nil {
		if !errors.Is(err, fs.ErrNotExist) && top >= 0 {
			w.part(reason(dir, err))
		}
		return false
	}
	w.watched[dir] = top
	if top >= 0 {
		w.used[top]++
	}
	return true
}

// part notes why not everything is watched. mu is held.
func (w *Watcher) part(why string) {
	if w.partial == "" {
		w.partial = why
		w.o.Log.Warn("not all folders are watched; files are looked at when a tool is called", "why", why)
	}
}

// forget ends the watches of name and of all below it: after a rename they
// would report names that are not there.
func (w *Watcher) forget(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.watched[name]; !ok {
		return
	}
	for dir := range w.watched {
		if dir == name || strings.HasPrefix(dir, name+string(filepath.Separator)) {
			w.drop(dir)
		}
	}
}

// forgetGone ends the watches below top of folders that are there no more.
func (w *Watcher) forgetGone(top string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for dir := range w.watched {
		if strings.HasPrefix(dir, top+string(filepath.Separator)) {
			if info, err := os.Lstat(dir); err != nil || !info.IsDir() {
				w.drop(dir)
			}
		}
	}
}

// drop ends one watch. mu is held.
func (w *Watcher) drop(dir string) {
	if top := w.watched[dir]; top >= 0 {
		w.used[top]--
	}
	delete(w.watched, dir)
	_ = w.fs.Remove(dir) // it may have ended with its folder
}
