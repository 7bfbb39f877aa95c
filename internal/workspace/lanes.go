package workspace

import (
	"context"
	"slices"
	"sync"

	"coedit/document"
)

// lanes are locks by document. They are taken in the order of paths, so that
// two plans over the same documents can't wait for each other. A waiting
// receiver of a channel is served in turn, so none is passed over.
type lanes struct {
	mu sync.Mutex
	m  map[document.Path]*lane
}

type lane struct {
	token chan struct{} // holds one value while the lane is free
	users int
}

// take waits for the lanes of all paths. The function it returns gives them
// back.
func (l *lanes) take(ctx context.Context, paths ...document.Path) (release func(), err error) {
	paths = slices.Clone(paths)
	slices.SortFunc(paths, document.Path.Compare)
	paths = slices.Compact(paths)
	var held []document.Path
	release = func() {
		for _, p := range slices.Backward(held) {
			l.leave(p, true)
		}
	}
	for _, p := range paths {
		ln := l.enter(p)
		select {
		case <-ln.token:
			held = append(held, p)
		case <-ctx.Done():
			l.leave(p, false)
			release()
			return nil, ctx.Err()
		}
	}
	return release, nil
}

func (l *lanes) enter(p document.Path) *lane {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[document.Path]*lane{}
	}
	ln := l.m[p]
	if ln == nil {
		ln = &lane{token: make(chan struct{}, 1)}
		ln.token <- struct{}{}
		l.m[p] = ln
	}
	ln.users++
	return ln
}

func (l *lanes) leave(p document.Path, held bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ln := l.m[p]
	if held {
		ln.token <- struct{}{}
	}
	if ln.users--; ln.users == 0 {
		delete(l.m, p)
	}
}
