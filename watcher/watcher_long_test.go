//go:build long && linux

package watcher

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// More events than the system keeps (16,384 by default) are lost while nobody
// reads them: then everything may have changed.
func TestRealOverflow(t *testing.T) {
	w, dir := start(t, nil)
	w.mu.Lock() // the reader stops at the first event
	for i := range 30_000 {
		put(t, filepath.Join(dir, fmt.Sprint("f", i)), "")
	}
	put(t, filepath.Join(dir, "new/x"), "1")
	w.mu.Unlock()
	if _, all, err := w.Take(t.Context()); !all || err != nil {
		t.Errorf("all %v, %v", all, err)
	}
	for deadline := time.Now().Add(20 * time.Second); ; {
		put(t, filepath.Join(dir, "new/x"), "2")
		names, all, err := w.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if !all && slices.Contains(names, filepath.Join(dir, "new/x")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("a folder made during the overflow is not watched: %v, %q", all, names)
		}
	}
}

// What happens is pushed within the pause for quiet and 10 ms (p99), with five
// times slack.
func TestPushLatency(t *testing.T) {
	w, dir := start(t, nil)
	const quiet = 50 * time.Millisecond
	pushed := make(chan time.Time)
	ctx := t.Context()
	go w.Settle(ctx, Pace{Quiet: quiet, Most: 500 * time.Millisecond}, func() {
		select {
		case pushed <- time.Now():
		case <-ctx.Done():
		}
	})
	// The best of three rounds: a machine that stops for a moment is not the
	// watcher's lateness.
	best := time.Hour
	for range 3 {
		var late []time.Duration
		for i := range 100 {
			began := time.Now()
			if err := os.WriteFile(filepath.Join(dir, "a"), []byte{byte(i)}, 0o644); err != nil {
				t.Fatal(err)
			}
			late = append(late, (<-pushed).Sub(began)-quiet)
		}
		slices.Sort(late)
		t.Logf("after the pause: median %v, p99 %v", late[len(late)/2], late[98])
		if best = min(best, late[98]); best <= 5*10*time.Millisecond {
			return
		}
	}
	t.Errorf("p99 is %v", best)
}
