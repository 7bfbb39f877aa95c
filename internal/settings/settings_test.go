package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	s, err := Parse("settings.json", []byte(`{
  "servers": {"x": {"command": "x-ls", "args": ["--stdio"], "files": ["*.x"], "initializationOptions": {"a": [1]}}},
  "diagnostics": {"loadedMs": 500, "totalMs": 45000},
  "provision": "off",
  "permissions": {"deny": ["Read(./.env)"]}
}`))
	if err != nil {
		t.Fatal(err)
	}
	if x := s.Servers["x"]; x.Command != "x-ls" || x.Args[0] != "--stdio" || x.Files[0] != "*.x" || x.InitializationOptions["a"] == nil {
		t.Errorf("server: %+v", x)
	}
	if s.Diagnostics.LoadedMs != 500 || s.Diagnostics.TotalMs != 45000 || s.Provision != "off" {
		t.Errorf("%+v", s)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`{"servrs": {}}`, "f:1:2: servrs: is not a key; did you mean servers?"},
		{"{\n \"servers\": {\"x\": {\"comand\": \"a\"}}}", "f:2:20: servers.x.comand: is not a key; did you mean command?"},
		{`{"servers": {"x": {"command": "a"}}}`, "needs command and files"},
		{`{"servers": {"x": {"command": 3, "files": ["*"]}}}`, "servers.x.command: is a number and must be a string"},
		{`{"diagnostics": {"totalMs": 60000}}`, "from 0 to 45000"},
		{`{"diagnostics": {"totalMs": -1}}`, "from 0 to 45000"},
		{`{"provision": "yes"}`, `is "yes"; it is auto, ask or off`},
		{`{"provision": "off", "provision": "auto"}`, "stands there twice"},
		{`[]`, "must be an object"},
		{`{`, "is not JSON"},
		{`{} {}`, "f:1:4: is not JSON"},
		{"{\n\t\"provision\": \"off\"\n\t\"servers\": {}}", "f:3:2: is not JSON"},
		{"{\n\"provision\": \"off\",\n", "f:2:20: is not JSON"},
		// the place is the fault's, not that of an equal text before it
		{"{\"diagnostics\": {\"loadedMs\": 9,\n\"totalMs\": -1, \"settleMs\": -1}}", "f:2:12: diagnostics.totalMs: must be"},
		{"{\"servers\": {\"comand\": {\"command\": \"a\", \"files\": [\"*\"],\n \"comand\": 1}}}", "f:2:2: servers.comand.comand: is not a key; did you mean command?"},
		{"{\"servers\": {\"x\": {\"command\": \"-1\", \"files\": [\"*\"]}},\n\"diagnostics\": {\"totalMs\": -1}}", "f:2:28: diagnostics.totalMs: must be"},
		{`{"provision": null}`, "f:1:15: provision: is null"},
		{`{"diagnostics": {"totalMs": 1.5}}`, "must be a int"},
		{`{"servers": {"x": {"command": "a", "files": "*.x"}}}`, "must be a list of strings"},
		{`{"servers": {"x": {"command": "a", "files": ["*"], "initializationOptions": []}}}`, "must be an object"},
		{`{"env": ` + strings.Repeat("[", 600) + strings.Repeat("]", 600) + `}`, "nested deeper"},
		{``, "is not JSON"},
		{`{"zzzzzz": 1}`, "there are servers"},
	} {
		s, err := Parse("f", []byte(c.text))
		var e *Error
		if !errors.As(err, &e) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.text, err, c.want)
		}
		if s.Servers != nil || s.Provision != "" {
			t.Errorf("%s was half applied: %+v", c.text, s)
		}
	}
}

func TestNearest(t *testing.T) {
	for key, want := range map[string]string{"Servers": "servers", "provisoin": "provision", "hook": "hooks", "zzzzzz": "", "x": ""} {
		_, err := Parse("f", []byte(`{"`+key+`": 1}`))
		var e *Error
		if !errors.As(err, &e) || e.Nearest != want || e.Key != key {
			t.Errorf("%s: %+v, want nearest %q", key, e, want)
		}
	}
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "settings.json")
	if s, err := Load(name); err != nil || s.Provision != "" {
		t.Errorf("a missing file: %+v %v", s, err)
	}
	for text, ok := range map[string]bool{"\ufeff{\"provision\": \"ask\", \"defaultMode\": \"plan\"}": true, "{\"provision\": \"ask\"}" + strings.Repeat(" ", maxFile): false} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := Load(name)
		if ok != (err == nil) || ok != (s.Provision == "ask") {
			t.Errorf("%.40q: %+v %v", text, s, err)
		}
	}
	var e *Error
	if _, err := Load(dir); !errors.As(err, &e) {
		t.Errorf("a folder: %v", err)
	}
}

func FuzzParse(f *testing.F) {
	f.Add(`{"servers": {"x": {"command": "a", "files": ["*"]}}}`)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := Parse("f", []byte(text)); err != nil {
			_ = err.Error()
		}
	})
}

func TestCharset(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(".editorconfig", "root = true\n[*]\ncharset = utf-8\n[*.{ini,cfg}]\nCharset = Latin1\n[docs/**.txt]\ncharset=windows-1251\n[n{1..3}.md]\ncharset = big5\n[lib/*.c]\ncharset = shift_jis\n[[ab].x]\ncharset=euc-kr\n[q?.y]\ncharset=gbk\n[!.z]\ncharset=koi8-r\n")
	write("sub/.editorconfig", "; nearer\n[*.ini]\nroot = true\ncharset = unset\n")
	write("deep/.editorconfig", "root=true\n[*.none]\ncharset = latin1\n")
	for name, want := range map[string]string{
		"a.ini": "latin1", "x/y/a.cfg": "latin1", "a.txt": "utf-8", "docs/a.txt": "windows-1251", "docs/b/c.txt": "windows-1251",
		"n2.md": "big5", "n4.md": "utf-8", "lib/a.c": "shift_jis", "lib/x/a.c": "utf-8", "a.x": "euc-kr", "c.x": "utf-8",
		"q1.y": "gbk", "q12.y": "utf-8", "sub/a.ini": "", "sub/a.cfg": "latin1", "deep/a.ini": "",
	} {
		if got := Charset(root, name); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}
