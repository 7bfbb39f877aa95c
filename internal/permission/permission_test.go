package permission

import (
	"os"
	"path/filepath"
	"testing"

	"coedit/document"
	"coedit/edits"
)

func TestDo(t *testing.T) {
	dir := t.TempDir()
	root, err := document.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan := func(names ...string) edits.Plan {
		var p edits.Plan
		for _, n := range names {
			q, err := root.Resolve(n)
			if err != nil {
				t.Fatal(err)
			}
			p.Changes = append(p.Changes, edits.Change{From: q, To: q})
		}
		return p
	}
	for _, c := range []struct {
		mode  Mode
		names []string
		want  Decision
	}{
		{Default, []string{"main.go"}, Allow},
		{Default, []string{".git/config"}, Deny},
		{BypassPermissions, []string{".git/config"}, Deny},
		{BypassPermissions, []string{"sub/.Git/hooks/x"}, Deny},
		{BypassPermissions, []string{".envrc"}, Allow},
		{Plan, []string{"main.go"}, Deny},
		{Default, []string{".envrc"}, Ask},
		{AcceptEdits, []string{".envrc"}, Ask},
		{Default, []string{"a/.ENVRC"}, Ask},
		{Default, []string{".gitattributes"}, Ask},
		{Default, []string{"x/.husky/pre-commit"}, Ask},
		{Default, []string{".vscode/tasks.json"}, Ask},
		{Default, []string{".vscode/extensions.json"}, Allow},
		{Default, []string{".github/workflows/ci.yml"}, Ask},
		{Default, []string{".github/CODEOWNERS"}, Allow},
		{Default, []string{"rust-toolchain.toml"}, Ask},
		{Default, []string{".coedit/settings.json"}, Ask},
		{Default, []string{".claude/settings.local.json"}, Ask},
		{Default, []string{"CLAUDE.md"}, Ask},
		{Default, []string{".gitignore"}, Allow},
		{Default, []string{"main.go", ".envrc"}, Ask},
		{Default, []string{".envrc", ".git/x", "main.go"}, Deny},
		{Default, []string{".env"}, Allow},
	} {
		v := Rules{Mode: c.mode}.Do(plan(c.names...))
		if v.Decision != c.want {
			t.Errorf("%s %v: %v (%s), want %v", c.mode, c.names, v.Decision, v.Why, c.want)
		}
		if v.Decision != Allow && v.Why == "" {
			t.Errorf("%s %v: no reason", c.mode, c.names)
		}
	}
	if v := (Rules{}).Do(plan("main.go", ".env")); v.Notice == "" {
		t.Error("no notice for .env")
	}
}

func TestPrivate(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "state"), 0o700); err != nil {
		t.Fatal(err)
	}
	root, err := document.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	r := Rules{Mode: BypassPermissions, Private: []string{filepath.Join(dir, "state")}}
	for name, want := range map[string]Decision{"state/trust.json": Deny, "state2/x": Allow, "x": Allow} {
		p, err := root.Resolve(name)
		if err != nil {
			t.Fatal(err)
		}
		if v := r.Look(p); v.Decision != want {
			t.Errorf("look %s: %v", name, v.Decision)
		}
		if v := r.Do(edits.Plan{Changes: []edits.Change{{From: p, To: p}}}); v.Decision != want {
			t.Errorf("do %s: %v", name, v.Decision)
		}
	}
}

func TestParseMode(t *testing.T) {
	if m, ok := ParseMode(""); !ok || m != Default {
		t.Errorf("%v %v", m, ok)
	}
	if _, ok := ParseMode("bypass"); ok {
		t.Error("an unknown mode is taken")
	}
}
