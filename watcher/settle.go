package watcher

import (
	"context"
	"time"
)

// Pace says when pushes come.
type Pace struct {
	Quiet time.Duration // how long nothing must have happened
	Most  time.Duration // how long something waits at most for quiet
	// Held reports that what happens is half done; pushes wait for its end,
	// at most HeldMost. nil: never.
	Held     func() bool
	HeldMost time.Duration
}

// heldLook is how often Held is asked while it holds.
const heldLook = 20 * time.Millisecond

// Settle calls push whenever something is pending and things have become
// quiet, until ctx ends. push is never concurrent.
func (w *Watcher) Settle(ctx context.Context, p Pace, push func()) {
	settle(ctx, w.hint, p, push)
}

// settle is the timing alone.
func settle(ctx context.Context, hint <-chan struct{}, p Pace, push func()) {
	for {
		select {
		case <-hint:
		case <-ctx.Done():
			return
		}
		latest := time.Now().Add(p.Most)
		for quiet := false; !quiet; {
			wait := min(p.Quiet, time.Until(latest))
			select {
			case <-hint:
				quiet = time.Until(latest) <= 0
			case <-time.After(wait):
				quiet = true
			case <-ctx.Done():
				return
			}
		}
		for end := time.Now().Add(p.HeldMost); p.Held != nil && p.Held() && time.Now().Before(end); {
			select {
			case <-time.After(heldLook):
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-hint: // what came while it was held is pushed with the rest
		default:
		}
		push()
	}
}
