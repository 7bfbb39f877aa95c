package profile

import (
	"slices"
	"testing"
)

// A profile must say what its server runs of the project, and why.
func TestRuns(t *testing.T) {
	for _, p := range []Profile{Gopls(), Custom("x", []string{"x"}, []string{"-y"}, []string{"*.x"}, map[string]any{"a": 1})} {
		if !slices.Contains([]string{RunsNone, RunsConfig, RunsBuild, RunsPlugins}, p.Runs) || p.RunsWhy == "" {
			t.Errorf("%s: runs %q because %q", p.Name, p.Runs, p.RunsWhy)
		}
		if p.Name == "" || len(p.Command) == 0 || len(p.Files) == 0 {
			t.Errorf("%+v", p)
		}
	}
}

func TestFiles(t *testing.T) {
	p := Gopls()
	for name, id := range map[string]string{"/w/a.go": "go", "/w/go.mod": "go.mod", "/w/go.sum": "go.sum"} {
		if !p.Serves(name) || p.LanguageID(name) != id || !p.Watches(name) {
			t.Errorf("%s: %v %s %v", name, p.Serves(name), p.LanguageID(name), p.Watches(name))
		}
	}
	if p.Serves("/w/a.txt") || p.Serves("/w/x.mod") {
		t.Error("serves too much")
	}
	c := Custom("x", []string{"x"}, []string{"-y"}, []string{"*.fake"}, nil)
	if c.LanguageID("/w/a.fake") != "fake" || len(c.Command) != 2 {
		t.Errorf("%+v", c)
	}
}
