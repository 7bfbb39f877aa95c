package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"coedit/document"
)

// news says what it was told to, once.
type news struct {
	dir   string
	names []string
	all   bool
	taken chan bool // nil, or sent to when the news is taken
}

func (n *news) Take(context.Context) ([]string, bool, error) {
	if n.taken != nil {
		n.taken <- true
	}
	var out []string
	for _, name := range n.names {
		out = append(out, filepath.Join(n.dir, name))
	}
	all := n.all
	n.names, n.all = nil, false
	return out, all, nil
}

func newsWorld(t *testing.T, files map[string]string) (*world, *news) {
	x := newWorld(t, files)
	n := &news{dir: x.root.Dir()}
	x.w = New(Options{Target: x.target, Servers: x.told, News: n})
	x.scan() // the first one looks at everything, whatever the news
	return x, n
}

// A scan looks where the news says, and at everything when it can't say.
func TestScanByNews(t *testing.T) {
	x, n := newsWorld(t, map[string]string{"a": "1", "b": "1", "d/x": "1", "d/y": "1", "f": "1"})
	x.write("a", "22")
	x.write("b", "22")
	n.names = []string{"a"}
	x.scan()
	if x.toldOf("a") != 1 || x.toldOf("b") != 0 {
		t.Errorf("a was told %d times, b %d", x.toldOf("a"), x.toldOf("b"))
	}
	n.all = true
	x.scan()
	if x.toldOf("b") != 1 {
		t.Errorf("b was told %d times", x.toldOf("b"))
	}

	// Folders that came, went, and became files; and a file that became one.
	x.write("new/deep/x", "1")
	n.names = []string{"new"}
	x.scan()
	if x.toldOf("new/deep/x") != 1 {
		t.Errorf("a file in a new folder was told %d times", x.toldOf("new/deep/x"))
	}
	if err := errors.Join(os.RemoveAll(filepath.Join(n.dir, "d")), os.Remove(filepath.Join(n.dir, "f")), os.RemoveAll(filepath.Join(n.dir, "new"))); err != nil {
		t.Fatal(err)
	}
	x.write("d", "a file")
	x.write("f/z", "1")
	n.names = []string{"d", "f", "new"}
	before := map[string]int{}
	all := []string{"d/x", "d/y", "d", "f", "f/z", "new/deep/x"}
	for _, name := range all {
		before[name] = x.toldOf(name)
	}
	x.scan()
	for _, name := range all {
		if x.toldOf(name) == before[name] {
			t.Errorf("%s was not told", name)
		}
	}
	if last := x.lastOf(filepath.Join(n.dir, "f")); last.After.Exists() {
		t.Errorf("f is a folder now: %+v", last)
	}
	if last := x.lastOf(filepath.Join(n.dir, "f/z")); !last.After.Exists() || last.Before.Exists() {
		t.Errorf("f/z: %+v", last)
	}
}

// News that was taken and not followed up makes the next scan look at
// everything.
func TestScanBehind(t *testing.T) {
	x, n := newsWorld(t, map[string]string{"a": "1", "b": "1"})
	if _, err := x.w.Snapshot(t.Context(), x.path("a")); err != nil {
		t.Fatal(err)
	}
	x.write("a", "22")
	x.write("b", "22")
	held, err := x.w.Hold(t.Context(), []document.Path{x.path("a")})
	if err != nil {
		t.Fatal(err)
	}
	n.names, n.taken = []string{"a", "b"}, make(chan bool)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() {
		_, err := x.w.Scan(ctx, document.Roots{x.root})
		done <- err
	}()
	<-n.taken
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	held.Release()
	n.taken = nil
	x.scan()
	if x.toldOf("a") == 0 || x.toldOf("b") == 0 {
		t.Errorf("told %d and %d times", x.toldOf("a"), x.toldOf("b"))
	}
}

// A document's other names are looked at with it: events come for one name.
func TestScanNewsOfLinks(t *testing.T) {
	x := newWorld(t, map[string]string{"p/a": "1", "q/b": "1"})
	if err := os.Symlink(filepath.Join("..", "p", "a"), filepath.Join(x.root.Dir(), "q", "a")); err != nil {
		t.Skip(err)
	}
	n := &news{dir: x.root.Dir()}
	x.w = New(Options{Target: x.target, Servers: x.told, News: n})
	x.scan()
	x.write("p/a", "22")
	n.names = []string{"p/a"}
	x.scan()
	if x.toldOf("p/a") == 0 || x.toldOf("q/a") == 0 {
		t.Errorf("told %d and %d times", x.toldOf("p/a"), x.toldOf("q/a"))
	}
}

// Many files are told in few notifications, and counted.
func TestScanManyAtOnce(t *testing.T) {
	x, n := newsWorld(t, map[string]string{"known": "1"})
	if _, err := x.w.Snapshot(t.Context(), x.path("known")); err != nil {
		t.Fatal(err)
	}
	const files = tellAtOnce + tellAtOnce/2
	for i := range files {
		name := filepath.Join("d", string(rune('a'+i%26)), "f"+string(rune('0'+i/26%10))+string(rune('0'+i/260)))
		x.write(name, "1")
		n.names = append(n.names, name)
	}
	x.write("known", "22")
	n.names = append(n.names, "known")
	calls := x.told.calls
	x.scan()
	if got := x.told.calls - calls; got > 4 {
		t.Errorf("%d notifications", got)
	}
	if got := x.w.Outside(); got != files+1 {
		t.Errorf("%d files changed, counted %d", files+1, got)
	}
	x.scan()
	if got := x.w.Outside(); got != files+1 {
		t.Errorf("counted %d after nothing changed", got)
	}
}
