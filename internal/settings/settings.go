// Package settings is settings files: layers, schema, validation; and
// .editorconfig's charset.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"reflect"
	"strings"
)

// maxFile bounds a settings file in bytes, maxDepth how deep its brackets are
// in one another (security rule R1).
const (
	maxFile  = 1 << 20
	maxDepth = 512
)

// Settings are what a person's own settings.json says. The zero value is the
// default of everything.
type Settings struct {
	Servers     map[string]Server
	Diagnostics Diagnostics
	Provision   string // "auto" (default, also when empty), "ask" or "off": whether missing servers are fetched
}

// A Server is a language server that the person names.
type Server struct {
	Command               string
	Args                  []string
	Files                 []string // patterns of base names, "*.go"
	InitializationOptions map[string]any
}

// Diagnostics are waits in milliseconds; zero is the default, 45,000 the most.
type Diagnostics struct{ LoadedMs, IndexingMs, TotalMs, SettleMs int }

// maxWaitMs bounds each wait: hosts give a tool 60 s.
const maxWaitMs = 45_000

// later are keys of later versions and of other agents' settings files of the
// same notation: accepted, without effect yet.
var later = map[string]bool{
	"$schema": true, "additionalDirectories": true, "afterEdit": true, "apiKeyHelper": true, "ask": true, "defaultMode": true,
	"disk": true, "env": true, "excludedCommands": true, "format": true, "history": true, "hooks": true, "http": true,
	"permissions": true, "sandbox": true, "secrets": true,
}

// An Error says what is wrong in a settings file and where.
type Error struct {
	File         string
	Line, Column int    // from 1, column in bytes; 0 when the place is not known
	Key          string // the key at fault, with dots; "" for the whole file
	Nearest      string // the known key that an unknown one is like; "" for none
	Text         string
}

func (e *Error) Error() string {
	where := e.File
	if e.Line > 0 {
		where += fmt.Sprintf(":%d:%d", e.Line, e.Column)
	}
	if e.Key != "" {
		return fmt.Sprintf("%s: %s: %s", where, e.Key, e.Text)
	}
	return where + ": " + e.Text
}

// Load reads the settings in file; a missing file is the zero Settings. The
// error is an *Error; nothing of a wrong file is applied.
func Load(file string) (Settings, error) {
	b, err := readRegular(file, maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err != nil {
		return Settings{}, &Error{File: file, Text: err.Error()}
	}
	return Parse(file, b)
}

// Parse reads settings from b, UTF-8 JSON; name is the file's, for errors. The
// error is an *Error.
func Parse(name string, b []byte) (Settings, error) {
	b = bytes.TrimPrefix(b, []byte("\ufeff"))
	p := parser{file: name, text: b}
	if err := p.check(); err != nil {
		return Settings{}, err
	}
	top, err := p.object("", value{raw: b})
	if err != nil {
		return Settings{}, err
	}
	var s Settings
	for _, m := range top {
		switch m.name {
		case "servers":
			s.Servers, err = p.servers(m.value)
		case "diagnostics":
			s.Diagnostics, err = p.diagnostics(m.value)
		case "provision":
			if err = p.decode(m.name, m.value, &s.Provision); err == nil && s.Provision != "auto" && s.Provision != "ask" && s.Provision != "off" {
				err = p.fail(m.name, m.at, fmt.Sprintf("is %q; it is auto, ask or off", s.Provision))
			}
		default:
			if !later[m.name] {
				err = p.unknown("", m, []string{"servers", "diagnostics", "provision", "permissions", "hooks", "env"})
			}
		}
		if err != nil {
			return Settings{}, err
		}
	}
	return s, nil
}

type parser struct {
	file string
	text []byte
}

// A value is a JSON value and the offset in bytes where it stands.
type value struct {
	raw json.RawMessage
	at  int
}

type member struct {
	name   string
	nameAt int
	value
}

// check refuses text that is not one JSON value.
func (p *parser) check() error {
	depth := 0
	quoted, escaped := false, false
	for i, c := range p.text {
		switch {
		case escaped:
			escaped = false
		case quoted && c == '\\':
			escaped = true
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return p.fail("", i, fmt.Sprintf("is nested deeper than %d", maxDepth))
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	var raw json.RawMessage
	err := json.Unmarshal(p.text, &raw)
	if err == nil {
		return nil
	}
	at := len(p.text)
	var se *json.SyntaxError
	if errors.As(err, &se) {
		at = max(0, int(se.Offset)-1) // of the byte after
	}
	return p.fail("", at, "is not JSON: "+err.Error())
}

// object splits a JSON object into its members, in order.
func (p *parser) object(key string, v value) ([]member, error) {
	d := json.NewDecoder(bytes.NewReader(v.raw))
	t, err := d.Token()
	if err != nil {
		return nil, p.fail(key, v.at, err.Error())
	}
	if t != json.Delim('{') {
		return nil, p.fail(key, v.at, "must be an object, in braces")
	}
	var list []member
	seen := map[string]bool{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, p.fail(key, v.at, err.Error())
		}
		name, _ := t.(string)
		// the name ends here; written with escapes it may begin elsewhere
		m := member{name: name, nameAt: v.at + bytes.LastIndexByte(v.raw[:d.InputOffset()-1], '"')}
		if err := d.Decode(&m.raw); err != nil {
			return nil, p.fail(key, v.at, err.Error())
		}
		m.at = v.at + int(d.InputOffset()) - len(m.raw)
		if seen[name] {
			return nil, p.fail(join(key, name), m.nameAt, "stands there twice")
		}
		seen[name] = true
		list = append(list, m)
	}
	return list, nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

func (p *parser) servers(v value) (map[string]Server, error) {
	top, err := p.object("servers", v)
	if err != nil {
		return nil, err
	}
	out := map[string]Server{}
	for _, named := range top {
		in := join("servers", named.name)
		list, err := p.object(in, named.value)
		if err != nil {
			return nil, err
		}
		var s Server
		for _, m := range list {
			full := join(in, m.name)
			switch m.name {
			case "command":
				err = p.decode(full, m.value, &s.Command)
			case "args":
				err = p.decode(full, m.value, &s.Args)
			case "files":
				err = p.decode(full, m.value, &s.Files)
			case "initializationOptions":
				err = p.decode(full, m.value, &s.InitializationOptions)
			default:
				err = p.unknown(in, m, []string{"command", "args", "files", "initializationOptions"})
			}
			if err != nil {
				return nil, err
			}
		}
		if s.Command == "" || len(s.Files) == 0 {
			return nil, p.fail(in, named.at, "needs command and files")
		}
		out[named.name] = s
	}
	return out, nil
}

func (p *parser) diagnostics(v value) (Diagnostics, error) {
	var d Diagnostics
	list, err := p.object("diagnostics", v)
	if err != nil {
		return d, err
	}
	fields := map[string]*int{"loadedMs": &d.LoadedMs, "indexingMs": &d.IndexingMs, "totalMs": &d.TotalMs, "settleMs": &d.SettleMs}
	for _, m := range list {
		field, ok := fields[m.name]
		if !ok {
			return d, p.unknown("diagnostics", m, []string{"loadedMs", "indexingMs", "totalMs", "settleMs"})
		}
		full := join("diagnostics", m.name)
		if err := p.decode(full, m.value, field); err != nil {
			return d, err
		}
		if *field < 0 || *field > maxWaitMs {
			return d, p.fail(full, m.at, fmt.Sprintf("must be from 0 to %d milliseconds: hosts give up at 60 s", maxWaitMs))
		}
	}
	return d, nil
}

// decode refuses null too: it would silently be the default.
func (p *parser) decode(key string, v value, to any) error {
	if string(v.raw) == "null" {
		return p.fail(key, v.at, "is null; leave the key out for the default")
	}
	err := json.Unmarshal(v.raw, to)
	if err == nil {
		return nil
	}
	var te *json.UnmarshalTypeError
	if errors.As(err, &te) {
		return p.fail(key, v.at, fmt.Sprintf("is a %s and must be %s", te.Value, kind(te.Type)))
	}
	return p.fail(key, v.at, err.Error())
}

// kind names a type as JSON's users do.
func kind(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Int:
		return "a int" // the word that scenario settings-wrong holds
	case reflect.Slice:
		return "a list of strings"
	default:
		return "an object"
	}
}

// fail makes the error for what stands at an offset.
func (p *parser) fail(key string, at int, text string) *Error {
	e := &Error{File: p.file, Key: key, Text: text}
	e.Line, e.Column = place(p.text, at)
	return e
}

func (p *parser) unknown(in string, m member, known []string) error {
	e := p.fail(join(in, m.name), m.nameAt, "is not a key; there are "+strings.Join(known, ", "))
	if near := nearest(m.name, known); near != "" {
		e.Nearest = near
		e.Text = "is not a key; did you mean " + near + "?"
	}
	return e
}

func place(text []byte, at int) (line, column int) {
	at = min(at, len(text))
	line = 1 + bytes.Count(text[:at], []byte("\n"))
	return line, at - bytes.LastIndexByte(text[:at], '\n')
}

// nearest returns the known name that takes the fewest changes to reach, if
// they are few.
func nearest(name string, known []string) string {
	best, least := "", 1+len(name)/3
	for _, k := range known {
		if d := distance(strings.ToLower(name), strings.ToLower(k)); d <= least && (best == "" || d < least) {
			best, least = k, d
		}
	}
	return best
}

// distance counts insertions, deletions and replacements (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		prev := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			prev, row[j+1] = row[j+1], min(row[j+1]+1, row[j]+1, prev+cost)
		}
	}
	return row[len(b)]
}
