package readstate

import (
	"testing"

	"coedit/document"
)

// Lines of bytes that could not be decoded are no lines of the text that they
// are in another charset.
func TestProblem(t *testing.T) {
	root, err := document.OpenRoot(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	p, err := root.Resolve("a")
	if err != nil {
		t.Fatal(err)
	}
	b := []byte("one\ntwo \xe9\nthree\n")
	undecoded := document.NewSnapshot(p, b, "", document.Origin{})
	latin1 := document.NewSnapshot(p, b, "latin1", document.Origin{})
	cyrillic := document.NewSnapshot(p, b, "windows-1251", document.Origin{})
	if undecoded.Problem == nil || latin1.Problem != nil || latin1.Text == cyrillic.Text {
		t.Fatal("the texts are not what this test needs")
	}
	var l Ledger
	seen := func(n int) bool {
		base, _ := l.Baseline(p)
		return base.Seen(n)
	}
	l.Record(undecoded, Span{1, 1})
	if seen(1) || seen(3) {
		t.Error("lines of a text that was not decoded count as seen")
	}
	l.Record(latin1, Span{1, 3})
	if !seen(3) {
		t.Error("the whole text was shown")
	}
	l.Record(cyrillic, Span{1, 1})
	if seen(2) {
		t.Error("what was seen in one charset counts in another")
	}
	l.Record(latin1, Span{1, 3})
	l.Record(undecoded)
	if base, _ := l.Baseline(p); base.Whole {
		t.Error("a text that can't be decoded now is known whole")
	}
}
