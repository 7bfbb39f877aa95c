// Package settings is settings files: layers, schema, validation; and
// .editorconfig's charset.
package settings

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// maxFile bounds a settings file in bytes.
const maxFile = 1 << 20

// Settings are what a person's own settings.json says. The zero value is the
// default of everything.
type Settings struct {
	Servers     map[string]Server
	Diagnostics Diagnostics
	Provision   string // "auto" (default), "ask" or "off": whether missing servers are fetched
}

// A Server is a language server that the person names.
type Server struct {
	Command               string
	Args                  []string
	Files                 []string // patterns of base names, "*.go"
	InitializationOptions map[string]any
}

// Diagnostics are waits in milliseconds; zero is the default.
type Diagnostics struct{ LoadedMs, IndexingMs, TotalMs, SettleMs int }

// later are keys of later versions and of other agents' settings files of the
// same notation: accepted, without effect yet.
var later = map[string]bool{"permissions": true, "hooks": true, "env": true, "history": true, "secrets": true, "sandbox": true,
	"additionalDirectories": true, "disk": true, "ask": true, "$schema": true, "format": true, "afterEdit": true}

// An Error says what is wrong in a settings file and where.
type Error struct {
	File         string
	Line, Column int    // from 1; 0 when the place is not known
	Key          string // the key at fault, with dots
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
	info, err := os.Stat(file)
	if errors.Is(err, fs.ErrNotExist) {
		return Settings{}, nil
	}
	if err == nil && info.Size() > maxFile {
		err = fmt.Errorf("larger than %d bytes", maxFile)
	}
	if err != nil {
		return Settings{}, &Error{File: file, Text: err.Error()}
	}
	b, err := os.ReadFile(file)
	if err != nil {
		return Settings{}, &Error{File: file, Text: err.Error()}
	}
	return Parse(file, b)
}

// Parse reads settings from b; name is the file's, for errors.
func Parse(name string, b []byte) (Settings, error) {
	var s Settings
	p := parser{file: name, text: b}
	top, err := p.object("", b)
	if err != nil {
		return Settings{}, err
	}
	for _, key := range top.keys {
		raw := top.values[key]
		switch key {
		case "servers":
			s.Servers, err = p.servers(raw)
		case "diagnostics":
			s.Diagnostics, err = p.diagnostics(raw)
		case "provision":
			if err = p.decode(key, raw, &s.Provision); err == nil && s.Provision != "auto" && s.Provision != "ask" && s.Provision != "off" {
				err = p.fail(key, raw, fmt.Sprintf("is %q; it is auto, ask or off", s.Provision))
			}
		default:
			if !later[key] {
				err = p.unknown("", key, []string{"servers", "diagnostics", "provision", "permissions", "hooks", "env"})
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

type members struct {
	keys   []string
	values map[string]json.RawMessage
}

// object splits a JSON object into its members, in order.
func (p *parser) object(key string, raw json.RawMessage) (members, error) {
	m := members{values: map[string]json.RawMessage{}}
	d := json.NewDecoder(bytes.NewReader(raw))
	t, err := d.Token()
	if err != nil {
		return m, p.syntax(raw, err)
	}
	if t != json.Delim('{') {
		return m, p.fail(key, raw, "must be an object, in braces")
	}
	for d.More() {
		k, err := d.Token()
		if err != nil {
			return m, p.syntax(raw, err)
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return m, p.syntax(raw, err)
		}
		name := k.(string)
		if _, ok := m.values[name]; ok {
			return m, p.fail(join(key, name), v, "stands there twice")
		}
		m.keys = append(m.keys, name)
		m.values[name] = v
	}
	if _, err := d.Token(); err != nil {
		return m, p.syntax(raw, err)
	}
	if key == "" {
		if _, err := d.Token(); err == nil {
			return m, &Error{File: p.file, Text: "there is more after the closing brace"}
		}
	}
	return m, nil
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "." + b
}

func (p *parser) servers(raw json.RawMessage) (map[string]Server, error) {
	top, err := p.object("servers", raw)
	if err != nil {
		return nil, err
	}
	out := map[string]Server{}
	for _, name := range top.keys {
		m, err := p.object("servers."+name, top.values[name])
		if err != nil {
			return nil, err
		}
		var s Server
		for _, key := range m.keys {
			full := "servers." + name + "." + key
			switch key {
			case "command":
				err = p.decode(full, m.values[key], &s.Command)
			case "args":
				err = p.decode(full, m.values[key], &s.Args)
			case "files":
				err = p.decode(full, m.values[key], &s.Files)
			case "initializationOptions":
				err = p.decode(full, m.values[key], &s.InitializationOptions)
			default:
				err = p.unknown("servers."+name, key, []string{"command", "args", "files", "initializationOptions"})
			}
			if err != nil {
				return nil, err
			}
		}
		if s.Command == "" || len(s.Files) == 0 {
			return nil, p.fail("servers."+name, top.values[name], "needs command and files")
		}
		out[name] = s
	}
	return out, nil
}

func (p *parser) diagnostics(raw json.RawMessage) (Diagnostics, error) {
	var d Diagnostics
	m, err := p.object("diagnostics", raw)
	if err != nil {
		return d, err
	}
	fields := map[string]*int{"loadedMs": &d.LoadedMs, "indexingMs": &d.IndexingMs, "totalMs": &d.TotalMs, "settleMs": &d.SettleMs}
	for _, key := range m.keys {
		at, ok := fields[key]
		if !ok {
			return d, p.unknown("diagnostics", key, []string{"loadedMs", "indexingMs", "totalMs", "settleMs"})
		}
		if err := p.decode("diagnostics."+key, m.values[key], at); err != nil {
			return d, err
		}
		if *at < 0 || *at > 45_000 {
			return d, p.fail("diagnostics."+key, m.values[key], "must be from 0 to 45000 milliseconds: hosts give up at 60 s")
		}
	}
	return d, nil
}

func (p *parser) decode(key string, raw json.RawMessage, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		var te *json.UnmarshalTypeError
		if errors.As(err, &te) {
			return p.fail(key, raw, fmt.Sprintf("is a %s and must be a %s", te.Value, te.Type))
		}
		return p.fail(key, raw, err.Error())
	}
	return nil
}

// fail makes the error for a value, placed where the value stands.
func (p *parser) fail(key string, raw json.RawMessage, text string) error {
	e := &Error{File: p.file, Key: key, Text: text}
	if i := bytes.Index(p.text, raw); i >= 0 {
		e.Line, e.Column = place(p.text, i)
	}
	return e
}

func (p *parser) syntax(raw json.RawMessage, err error) error {
	e := &Error{File: p.file, Text: "is not JSON: " + err.Error()}
	var se *json.SyntaxError
	if errors.As(err, &se) && len(raw) == len(p.text) {
		e.Line, e.Column = place(p.text, int(se.Offset))
	}
	return e
}

func (p *parser) unknown(in, key string, known []string) error {
	text := "is not a key"
	if near := nearest(key, known); near != "" {
		text += "; did you mean " + near + "?"
	} else {
		text += "; there are " + strings.Join(known, ", ")
	}
	e := &Error{File: p.file, Key: join(in, key), Text: text}
	quoted, _ := json.Marshal(key)
	if i := bytes.Index(p.text, quoted); i >= 0 {
		e.Line, e.Column = place(p.text, i)
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
