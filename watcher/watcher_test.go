package watcher

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fsnotify/fsnotify"
)

// start watches a folder that has been walked.
func start(t testing.TB, change func(*Options)) (*Watcher, string) {
	t.Helper()
	if !ordered {
		t.Skip("the order of events is not known on this system")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Dirs: []string{dir}, Cookies: filepath.Join(t.TempDir(), "cookies"),
		Skip: func(base string) bool { return base == "skip" }, Ignore: func(base string) bool { return strings.HasSuffix(base, ".tmp") }}
	if change != nil {
		change(&o)
	}
	w, err := Start(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
	ready(t, w)
	return w, dir
}

// ready waits until all folders have been walked, and takes the answer that
// everything may have changed.
func ready(t testing.TB, w *Watcher) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !w.Status().Ready; {
		select {
		case <-w.hint:
		case <-time.After(time.Until(deadline)):
			t.Fatal("never ready")
		}
	}
	if _, all, err := w.Take(t.Context()); !all || err != nil {
		t.Fatalf("the first Take after the walk: all %v, %v", all, err)
	}
}

func put(t testing.TB, name, text string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// take returns the names below dir.
func take(t testing.TB, w *Watcher, dir string) []string {
	t.Helper()
	names, all, err := w.Take(t.Context())
	if err != nil || all {
		t.Fatalf("all %v, %v", all, err)
	}
	for i := range names {
		names[i] = strings.TrimPrefix(names[i], dir+string(filepath.Separator))
	}
	return names
}

func want(t testing.TB, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("took %q, want %q", got, want)
	}
}

func TestTake(t *testing.T) {
	w, dir := start(t, nil)
	want(t, take(t, w, dir))
	put(t, filepath.Join(dir, "a"), "1")
	put(t, filepath.Join(dir, "b.tmp"), "1")
	want(t, take(t, w, dir), "a")
	want(t, take(t, w, dir))
	put(t, filepath.Join(dir, "a"), "2")
	want(t, take(t, w, dir), "a")
	if err := os.Rename(filepath.Join(dir, "b.tmp"), filepath.Join(dir, "a")); err != nil { // an atomic save
		t.Fatal(err)
	}
	want(t, take(t, w, dir), "a")
	if err := os.Remove(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	want(t, take(t, w, dir), "a")
}

// A folder's name stands for all below it, however fast that was made; what
// happens there afterwards is seen by name.
func TestTakeNewFolders(t *testing.T) {
	w, dir := start(t, nil)
	for round := range 100 {
		top := fmt.Sprint("n", round)
		put(t, filepath.Join(dir, top, "b/c/c.go"), "1")
		if got := take(t, w, dir); !slices.Contains(got, top) {
			t.Fatalf("round %d: took %q", round, got)
		}
		put(t, filepath.Join(dir, top, "b/c/c.go"), "2")
		if got := take(t, w, dir); !slices.Contains(got, filepath.Join(top, "b/c/c.go")) {
			t.Fatalf("round %d: took %q", round, got)
		}
	}
	put(t, filepath.Join(dir, "skip/x"), "1")
	want(t, take(t, w, dir), "skip")
	put(t, filepath.Join(dir, "skip/x"), "2")
	want(t, take(t, w, dir))
}

// A folder that was renamed is watched under its new name only.
func TestTakeRenamedFolder(t *testing.T) {
	w, dir := start(t, nil)
	put(t, filepath.Join(dir, "a/b/x"), "1")
	take(t, w, dir)
	n := w.Status().Watches
	if err := os.Rename(filepath.Join(dir, "a"), filepath.Join(dir, "z")); err != nil {
		t.Fatal(err)
	}
	want(t, take(t, w, dir), "a", "z")
	put(t, filepath.Join(dir, "z/b/x"), "2")
	want(t, take(t, w, dir), "z/b/x")
	if got := w.Status().Watches; got != n {
		t.Errorf("%d watches, before the rename %d", got, n)
	}
	if err := os.Rename(filepath.Join(dir, "z"), filepath.Join(t.TempDir(), "out")); err != nil {
		t.Fatal(err)
	}
	want(t, take(t, w, dir), "z")
	if got := w.Status().Watches; got != n-2 {
		t.Errorf("%d watches after the folders left, want %d", got, n-2)
	}
}

// Events that were lost: everything may have changed, and folders made
// meanwhile are watched from then on.
func TestOverflow(t *testing.T) {
	w, dir := start(t, nil)
	w.mu.Lock() // as if nobody read events
	put(t, filepath.Join(dir, "new/x"), "1")
	w.mu.Unlock()
	w.overflow(fsnotify.ErrEventOverflow)
	if _, all, err := w.Take(t.Context()); !all || err != nil {
		t.Errorf("all %v, %v", all, err)
	}
	put(t, filepath.Join(dir, "new/x"), "2")
	want(t, take(t, w, dir), "new/x")
}

// More than is kept is everything.
func TestTooMuch(t *testing.T) {
	w, _ := start(t, nil)
	for i := range maxPending + 1 {
		w.note(fmt.Sprint("/n", i))
	}
	if _, all, _ := w.Take(t.Context()); !all {
		t.Error("names were dropped without a word")
	}
	if len(w.pending) != 0 {
		t.Errorf("%d names are kept", len(w.pending))
	}
}

// With too few watches the answer is always everything, and the reason is
// told.
func TestBudget(t *testing.T) {
	if !ordered {
		t.Skip("the order of events is not known on this system")
	}
	dir := t.TempDir()
	for i := range minBudget + 10 {
		put(t, filepath.Join(dir, fmt.Sprint("d", i), "x"), "1")
	}
	w, err := Start(Options{Dirs: []string{dir}, Cookies: filepath.Join(t.TempDir(), "c"), Budget: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	ready(t, w)
	for range 2 {
		if _, all, err := w.Take(t.Context()); !all || err != nil {
			t.Errorf("all %v, %v", all, err)
		}
	}
	if s := w.Status(); s.Watches != minBudget+1 || !strings.Contains(s.Partial, "max_user_watches") {
		t.Errorf("%+v", s)
	}
}

func TestTakeEnds(t *testing.T) {
	w, _ := start(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := w.Take(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
}

// 20,000 files in 500 new folders, folder renames and atomic saves: whoever
// looks at what Take names knows every file.
func TestManyFiles(t *testing.T) {
	w, dir := start(t, nil)
	for d := range 500 {
		for f := range 40 {
			put(t, filepath.Join(dir, fmt.Sprint("d", d%20), fmt.Sprint("e", d), fmt.Sprint("f", f)), "1")
		}
	}
	for d := range 5 {
		if err := os.Rename(filepath.Join(dir, fmt.Sprint("d", d)), filepath.Join(dir, fmt.Sprint("r", d))); err != nil {
			t.Fatal(err)
		}
	}
	known := map[string]bool{}
	look := func() {
		names, all, err := w.Take(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if all {
			names = []string{dir}
		}
		for _, name := range names {
			if known[name] {
				delete(known, name)
			} else {
				for k := range known {
					if strings.HasPrefix(k, name+"/") {
						delete(known, k)
					}
				}
			}
			_ = filepath.WalkDir(name, func(p string, d os.DirEntry, err error) error {
				if err == nil && !d.IsDir() {
					known[p] = true
				}
				return nil
			})
		}
	}
	look()
	if len(known) != 20_000 {
		t.Errorf("%d files are known", len(known))
	}
	for k := range known {
		if _, err := os.Lstat(k); err != nil {
			t.Fatalf("%s is known, and gone", k)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "r4/e4/f0.tmp"), []byte("2"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(dir, "r4/e4/f0.tmp"), filepath.Join(dir, "r4/e4/f0")); err != nil {
		t.Fatal(err)
	}
	if got := take(t, w, dir); !slices.Equal(got, []string{"r4/e4/f0"}) {
		t.Errorf("took %q", got)
	}
}

func BenchmarkTake(b *testing.B) {
	w, _ := start(b, nil)
	for b.Loop() {
		if _, _, err := w.Take(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
