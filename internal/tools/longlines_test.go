package tools

import (
	"strings"
	"testing"

	"coedit/edits"
)

func TestLongLines(t *testing.T) {
	long := strings.Repeat("é", 20_000)
	for _, test := range []struct {
		name, before, old, new string
		want, not              []string
	}{
		{"a long neighbour", "a\n" + long + "\nend\nlast\n", "end", "END", []string{"- end", "+ END", "characters) …"}, []string{long}},
		{"inside a long line", "x " + long + "one" + long + "\n", "one", "three", []string{"éoneé", "éthreeé", "(19942 characters)"}, []string{long}},
		{"short enough", "a\nb\n", "b", "c", []string{"- b", "+ c"}, []string{"characters"}},
	} {
		at := strings.Index(test.before, test.old)
		hunks := edits.Hunks(test.before, []edits.Edit{{Start: at, End: at + len(test.old), New: test.new}}, 2)
		text, left := textHunks(hunks, maxHunkBytes)
		if left != 0 {
			t.Errorf("%s: %d hunks left out", test.name, left)
		}
		for _, w := range test.want {
			if !strings.Contains(text, w) {
				t.Errorf("%s: no %q in\n%.2000s", test.name, w, text)
			}
		}
		for _, w := range test.not {
			if strings.Contains(text, w) {
				t.Errorf("%s: %.40q in\n%.2000s", test.name, w, text)
			}
		}
	}
}
