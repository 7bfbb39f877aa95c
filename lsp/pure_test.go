package lsp

import (
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"coedit/document"
	"coedit/edits"
	"coedit/internal/wire"
	"coedit/lsp/profile"

	"go.lsp.dev/protocol"
)

func changed(before, after string, list []edits.Edit) Changed {
	return Changed{Before: document.Snapshot{Text: before}, After: document.Snapshot{Text: after}, Edits: list}
}

// checkLineMap: a line that the map moves is the same line; one it says was
// made by the edit is reached by none.
func checkLineMap(t *testing.T, before, after string, list []edits.Edit) {
	t.Helper()
	m := newLineMap(changed(before, after, list))
	old, now := strings.SplitAfter(before, "\n"), strings.SplitAfter(after, "\n")
	reached := map[int]bool{}
	for i, line := range old {
		to, ok := m.forward(i + 1)
		if !ok {
			continue
		}
		if to < 1 || to > len(now) || now[to-1] != line {
			t.Fatalf("line %d %q of %q became %d of %q by %+v", i+1, line, before, to, after, m)
		}
		if reached[to] || m.touches(to) {
			t.Fatalf("line %d of %q is made or reached twice", to, after)
		}
		reached[to] = true
	}
	for i := range now {
		if !reached[i+1] && !m.touches(i+1) && now[i] != "" {
			t.Fatalf("line %d %q of %q comes from nowhere: %+v", i+1, now[i], after, m)
		}
	}
}

func TestLineMap(t *testing.T) {
	src := "one\ntwo\nthree\nfour\nfive\n"
	for _, list := range [][]edits.Edit{
		{{Start: 4, End: 4, New: "new\n"}},
		{{Start: 4, End: 8, New: ""}},
		{{Start: 5, End: 6, New: "X\nY"}},
		{{Start: 0, End: 4, New: "1\n"}, {Start: 14, End: 18, New: "a\nb"}},
		{{Start: 3, End: 4, New: ""}},
		{{Start: 5, End: 5, New: "a"}, {Start: 6, End: 6, New: "b\n"}, {Start: 20, End: 24, New: ""}},
		{{Start: 0, End: 0, New: "package x\n\n"}},
		{{Start: 24, End: 24, New: "six"}},
	} {
		after, last := "", 0
		for _, e := range list {
			after += src[last:e.Start] + e.New
			last = e.End
		}
		checkLineMap(t, src, after+src[last:], list)
	}
}

func TestContentChanges(t *testing.T) {
	incremental := capabilities{encoding: wire.UTF16, incremental: true}
	apply := func(text string, events []protocol.TextDocumentContentChangeEvent, enc wire.Encoding) string {
		for _, e := range events {
			switch e := e.(type) {
			case *protocol.TextDocumentContentChangeWholeDocument:
				text = e.Text
			case *protocol.TextDocumentContentChangePartial:
				m := wire.NewMapper(text, enc)
				text = text[:m.Offset(e.Range.Start)] + e.Text + text[m.Offset(e.Range.End):]
			}
		}
		return text
	}
	for _, test := range []struct {
		name, before, after string
		edits               []edits.Edit
		caps                capabilities
		whole               bool
	}{
		{"two", "a🦊b\nc\n", "AA\n🦊b\nC\n", []edits.Edit{{Start: 0, End: 1, New: "AA\n"}, {Start: 7, End: 8, New: "C"}}, incremental, false},
		{"after emoji", "🦊🦊é x", "🦊🦊é y", []edits.Edit{{Start: 11, End: 12, New: "y"}}, incremental, false},
		{"crlf", "a\r\nb\r\n", "a\r\nc\r\n", []edits.Edit{{Start: 3, End: 4, New: "c"}}, incremental, false},
		{"parts crlf", "a\r\nb", "a\nb", []edits.Edit{{Start: 1, End: 2, New: ""}}, incremental, true},
		{"lone cr", "a\rb\nc", "a\rb\nd", []edits.Edit{{Start: 4, End: 5, New: "d"}}, incremental, true},
		{"lone cr goes", "a\rb\nc", "ab\nc", []edits.Edit{{Start: 1, End: 2, New: ""}}, incremental, true},
		{"full sync", "a", "b", []edits.Edit{{Start: 0, End: 1, New: "b"}}, capabilities{}, true},
		{"utf-8", "é x", "é y", []edits.Edit{{Start: 3, End: 4, New: "y"}}, capabilities{encoding: wire.UTF8, incremental: true}, false},
	} {
		events := contentChanges(note{before: test.before, after: test.after, edits: test.edits}, test.caps)
		if got := apply(test.before, events, test.caps.encoding); got != test.after {
			t.Errorf("%s: %q", test.name, got)
		}
		if _, whole := events[0].(*protocol.TextDocumentContentChangeWholeDocument); whole != test.whole {
			t.Errorf("%s: whole %v", test.name, whole)
		}
	}
	e := contentChanges(note{before: "\tprintln(\"🦊🦊é\", nope)\n", after: "\tprintln(\"🦊🦊é\", nope2)\n",
		edits: oneEdit("\tprintln(\"🦊🦊é\", nope)\n", "\tprintln(\"🦊🦊é\", nope2)\n")}, incremental)
	if p := e[0].(*protocol.TextDocumentContentChangePartial); p.Range.Start.Character != 22 {
		t.Errorf("%+v", p)
	}
}

// A change of imports can mend what a server has lost; one below them can't.
func TestHeaderComes(t *testing.T) {
	for _, test := range []struct {
		before, after string
		came          bool
	}{
		{"package a\n\nimport \"b\"\n\nfunc f() {}\n", "package a\n\nfunc f() {}\n", true},
		{"package a\n\nimport \"b\"\n\nfunc f() {}\n", "package a\n\nimport \"b\"\n\nfunc f() { g() }\n", false},
	} {
		p := changed("", "", nil).After.Path
		c := Changed{Before: document.NewSnapshot(p, []byte(test.before), "", document.Origin{}), After: document.NewSnapshot(p, []byte(test.after), "", document.Origin{})}
		sv := &server{prof: profile.Gopls(), docs: map[string]*doc{c.name(): {snap: c.Before}}, store: newStore()}
		sv.apply([]Changed{c})
		if sv.came != test.came {
			t.Errorf("%q: %v", test.after, sv.came)
		}
	}
}

// News of a name that no path has does not close the document that is open
// under it: its own changes come by its path.
func TestOtherNameOfOpen(t *testing.T) {
	c := changed("", "", nil)
	snap := document.NewSnapshot(c.After.Path, []byte("package a\n"), "", document.Origin{})
	sv := &server{prof: profile.Gopls(), docs: map[string]*doc{"/m/a.go": {snap: snap}}, store: newStore()}
	gone := Changed{Other: "/m/a.go", Before: snap}
	if sv.apply([]Changed{gone}) || len(sv.docs) != 1 {
		t.Errorf("%d documents are open", len(sv.docs))
	}
}

// A server that gives up at an error takes its hints on other files back:
// they are not resolved.
func TestLesserFindings(t *testing.T) {
	step := changed("one\ntwo\n", "one\n2\n", nil)
	name := step.name()
	hint := raw{severity: Hint, message: "hint", rng: protocol.Range{Start: protocol.Position{Line: 0}}}
	edited := raw{severity: Warning, message: "on the edited line", rng: protocol.Range{Start: protocol.Position{Line: 1}}}
	old := holding{list: map[string][]raw{"/elsewhere": {hint, rawAt(3, "E")}, name: {hint, edited}}}
	c := comparison{s: &Servers{}, m: Mark{list: []Changed{step}}}
	var r Report
	c.add(t.Context(), &r, result{sv: &server{prof: profile.Gopls()}, held: holding{list: map[string][]raw{}}}, old, true)
	r.finish()
	var got []string
	for _, d := range r.Resolved {
		got = append(got, d.Message)
	}
	if !reflect.DeepEqual(got, []string{"E", "on the edited line"}) {
		t.Errorf("%q", got)
	}
}

func FuzzOneEdit(f *testing.F) {
	f.Add("a\r\nb", "a\nb")
	f.Add("é", "è")
	f.Fuzz(func(t *testing.T, before, after string) {
		if len(before)+len(after) > 1<<16 {
			return
		}
		text, last := "", 0
		for _, e := range oneEdit(before, after) {
			text += before[last:e.Start] + e.New
			last = e.End
		}
		if text+before[last:] != after {
			t.Fatalf("%q → %q gave %q", before, after, text+before[last:])
		}
		events := contentChanges(note{before: before, after: after, edits: oneEdit(before, after)}, capabilities{incremental: true, encoding: wire.UTF16})
		if p, ok := events[0].(*protocol.TextDocumentContentChangePartial); ok {
			m := wire.NewMapper(before, wire.UTF16)
			if got := before[:m.Offset(p.Range.Start)] + p.Text + before[m.Offset(p.Range.End):]; got != after {
				t.Fatalf("%q → %q by %+v gave %q", before, after, p, got)
			}
		}
	})
}

func rawAt(line int, message string) raw {
	return raw{rng: protocol.Range{Start: protocol.Position{Line: uint32(line - 1)}}, severity: Error, message: message}
}

func TestDifference(t *testing.T) {
	src := "1\n2\n3\n4\n5\n"
	insert := newLineMap(changed(src, "0\n"+src, []edits.Edit{{New: "0\n"}}))
	change3 := newLineMap(changed(src, "1\n2\nX\n4\n5\n", []edits.Edit{{Start: 4, End: 5, New: "X"}}))
	for _, test := range []struct {
		name        string
		lm          lineMap
		old, list   []raw
		added, gone int
	}{
		{"moved", insert, []raw{rawAt(2, "E")}, []raw{rawAt(3, "E")}, 0, 0},
		{"moved, another line in the message", insert, []raw{rawAt(2, "E at a.go:5:2")}, []raw{rawAt(3, "E at a.go:6:2")}, 0, 0},
		{"stayed where the text moved", insert, []raw{rawAt(2, "E")}, []raw{rawAt(2, "E")}, 1, 1},
		{"on the edited line", change3, []raw{rawAt(3, "E")}, []raw{rawAt(3, "E")}, 0, 0},
		{"fixed there, new elsewhere", change3, []raw{rawAt(3, "E")}, []raw{rawAt(5, "E")}, 1, 1},
		{"twice where it was once", change3, []raw{rawAt(3, "E")}, []raw{rawAt(3, "E"), rawAt(3, "E")}, 1, 0},
		{"other severity", lineMap{}, []raw{rawAt(1, "E")}, []raw{{severity: Warning, message: "E"}}, 1, 1},
		{"one fewer", lineMap{}, []raw{rawAt(1, "E"), rawAt(1, "E")}, []raw{rawAt(1, "E")}, 0, 1},
	} {
		added, gone := difference(test.old, test.list, test.lm)
		if len(added) != test.added || len(gone) != test.gone {
			t.Errorf("%s: added %v, gone %v", test.name, added, gone)
		}
	}
}

func diag(name string, line int, message string) Diagnostic {
	return Diagnostic{Name: name, Line: line, EndLine: line, Severity: Error, Message: message}
}

func TestIntroduced(t *testing.T) {
	step := func(before, after string) []Changed { return []Changed{changed(before, after, nil)} }
	name := step("", "x")[0].name()
	var in Introduced
	r := Report{Freshness: Fresh, BaselineKnown: true, New: []Diagnostic{diag(name, 2, "mine"), diag(name, 2, "x declared and not used")},
		Current: []Diagnostic{diag(name, 1, "old"), diag(name, 2, "mine")}}
	in.Fold(&r, step("a\nb\n", "a\nB\n"))
	if len(r.Yours) != 0 || r.New[0].Transient || r.New[1].Transient {
		t.Errorf("the first call: yours %+v, new %+v", r.Yours, r.New)
	}
	// A line above: mine moves, and is still mine; an unused import is transient now.
	r = Report{Freshness: Fresh, BaselineKnown: true,
		New:     []Diagnostic{diag(name, 1, `"os" imported and not used`), diag(name, 5, "worse")},
		Current: []Diagnostic{diag(name, 1, `"os" imported and not used`), diag(name, 2, "old"), diag(name, 3, "mine"), diag(name, 5, "worse")}}
	in.Fold(&r, step("a\nB\n", "0\na\nB\n"))
	if !reflect.DeepEqual(r.Yours, []Diagnostic{diag(name, 3, "mine")}) {
		t.Errorf("yours: %+v", r.Yours)
	}
	if len(r.New) != 2 || r.New[0].Message != "worse" || r.New[0].Transient || !r.New[1].Transient {
		t.Errorf("new: %+v", r.New)
	}
	// No word: what is mine is kept in mind, moved, but not claimed to be there.
	r = Report{Freshness: Timeout}
	in.Fold(&r, step("0\na\nB\n", "00\n0\na\nB\n"))
	if len(r.Yours) != 0 {
		t.Errorf("yours after a timeout: %+v", r.Yours)
	}
	r = Report{Freshness: Fresh, Current: []Diagnostic{diag(name, 4, "mine")}}
	in.Fold(&r, step("x\n", "y\n"))
	if !reflect.DeepEqual(r.Yours, []Diagnostic{diag(name, 4, "mine")}) {
		t.Errorf("yours: %+v", r.Yours)
	}
	// What others may have caused elsewhere is not kept as this session's.
	theirs := diag("/theirs", 1, "theirs")
	r = Report{Freshness: Fresh, Shared: true, New: []Diagnostic{theirs}, Current: []Diagnostic{theirs, diag(name, 4, "mine")}}
	in.Fold(&r, step("x\n", "y\n"))
	r = Report{Freshness: Fresh, Current: []Diagnostic{theirs, diag(name, 4, "mine")}}
	in.Fold(&r, nil)
	if !reflect.DeepEqual(r.Yours, []Diagnostic{diag(name, 4, "mine")}) {
		t.Errorf("yours: %+v", r.Yours)
	}
	r = Report{Freshness: Fresh}
	in.Fold(&r, nil)
	r = Report{Freshness: Fresh, Current: []Diagnostic{diag(name, 4, "mine")}}
	in.Fold(&r, nil)
	if len(r.Yours) != 0 {
		t.Errorf("a fixed error came back as yours: %+v", r.Yours)
	}
}

func TestStoreBounds(t *testing.T) {
	s := newStore()
	many := make([]raw, maxHeld+1)
	for i := range many {
		many[i] = raw{severity: Warning, rng: protocol.Range{Start: protocol.Position{Line: uint32(i)}}}
	}
	s.set(s.push, "a", many)
	s.set(s.push, "b", []raw{rawAt(1, "E")})
	if s.lesser != maxHeld || len(s.dropped) != 1 || len(s.push["b"]) != 1 {
		t.Errorf("%d lesser, dropped %v, an error kept for many warnings: %v", s.lesser, s.dropped, s.push["b"])
	}
	s.forget("a")
	if len(s.dropped) != 0 {
		t.Errorf("still truncated: %v", s.dropped)
	}
	s.set(s.push, "b", []raw{rawAt(1, "E"), rawAt(2, "E")})
	s.set(s.pull, "b", []raw{rawAt(2, "E"), rawAt(3, "E")})
	if got := s.all()["b"]; len(got) != 3 || s.errors != 4 || s.lesser != 0 {
		t.Errorf("%v, held %d and %d", got, s.errors, s.lesser)
	}
}

func TestEnvironmentPath(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	outside := t.TempDir()
	link := filepath.Join(outside, "link")
	if err := os.Symlink(root.Dir(), link); err != nil {
		t.Skip(err)
	}
	list := func(dirs ...string) string { return strings.Join(dirs, string(filepath.ListSeparator)) }
	given := []string{"PATH=" + list(root.Dir(), outside, filepath.Join(root.Dir(), "bin"), ".", link), "GOFLAGS=-x", "SECRET=1", "HOME=/h"}
	sv := &server{prof: profile.Gopls(), opts: &Options{Roots: []document.Root{root}}}
	env := sv.environment(given)
	for _, want := range []string{"PATH=" + outside, "HOME=/h", "GOFLAGS=-buildvcs=auto", "GOTOOLCHAIN=local", "GOPACKAGESDRIVER=off"} {
		if !slices.Contains(env, want) {
			t.Errorf("no %s in %q", want, env)
		}
	}
	sv.trusted = true
	env = sv.environment(given)
	if !slices.Contains(env, given[0]) || !slices.Contains(env, "GOFLAGS=-x") || slices.Contains(env, "SECRET=1") {
		t.Errorf("trusted: %q", env)
	}
}

func TestNeeded(t *testing.T) {
	s := New(Options{Profiles: []profile.Profile{profile.Gopls()}})
	for _, test := range []struct {
		name   string
		rels   []string
		open   []string
		served int
	}{
		{"nothing", nil, nil, 0},
		{"nothing served", []string{"README", "docs/x.py"}, nil, 0},
		{"one module", []string{"a/a.go", "b/b.go", "go.mod"}, []string{"a/a.go"}, 3},
		{"nested modules", []string{"a.go", "go.mod", "n/go.mod", "n/x/y.go", "n/z.go"}, []string{"a.go", "n/x/y.go"}, 5},
		{"folders of no project", []string{"s/a.go", "s/b.go", "t/c.go", "u/go.mod", "u/v/d.go"}, []string{"s/a.go", "t/c.go", "u/v/d.go"}, 5},
		{"the plainest name", []string{"a_plan9.go", "b_windows_test.go", "c.go", "go.mod"}, []string{"c.go"}, 4},
		{"passed over", []string{"go.mod", "m.go", "testdata/x/a.go", "_old/a.go", ".x/go.mod"}, []string{"m.go"}, 2},
	} {
		open, served := s.Needed("/m", test.rels)
		if !slices.Equal(open, test.open) || served != test.served {
			t.Errorf("%s: open %q, %d served; want %q, %d", test.name, open, served, test.open, test.served)
		}
	}
}
