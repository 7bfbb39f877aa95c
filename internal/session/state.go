package session

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"

	"coedit/document"
	"coedit/lsp"
	"coedit/readstate"
)

type baseline = readstate.Baseline

// stateVersion changes with the form of the file; a file of another version
// is ignored, which costs new Reads.
const stateVersion = 1

type stateFile struct {
	Version    int          `json:"version"`
	Seen       []stateEntry `json:"seen"`
	Introduced []stateError `json:"introduced,omitempty"`
}

// stateError is an error that the session introduced and that was still there.
type stateError struct {
	Name    string `json:"name"`
	Line    int    `json:"line"`
	EndLine int    `json:"endLine"`
	Code    string `json:"code,omitempty"`
	Source  string `json:"source,omitempty"`
	Message string `json:"message"`
}

// maxErrors bounds the errors kept over a restart: an agent is told of about
// as many at a time.
const maxErrors = 50

type stateEntry struct {
	Path     string   `json:"path"`
	Revision string   `json:"revision"`
	Whole    bool     `json:"whole,omitempty"`
	Spans    [][2]int `json:"spans,omitempty"`
	Told     string   `json:"told,omitempty"` // the revision told of last, where it is another
}

// load restores the baselines that an earlier run kept. A file that can't be
// read costs new Reads and nothing worse, so it is not an error.
func (s *Session) load() {
	if s.o.StateFile == "" {
		return
	}
	b, err := os.ReadFile(s.o.StateFile)
	if err != nil {
		return
	}
	var f stateFile
	if json.Unmarshal(b, &f) != nil || f.Version != stateVersion {
		return
	}
	var errors []lsp.Diagnostic
	for _, e := range f.Introduced[:min(len(f.Introduced), maxErrors)] {
		errors = append(errors, lsp.Diagnostic{Name: e.Name, Line: e.Line, EndLine: e.EndLine, Severity: lsp.Error, Code: e.Code, Source: e.Source, Message: e.Message})
	}
	s.introduced.Restore(errors)
	for _, e := range f.Seen {
		p, err := s.o.Roots.Resolve(s.o.Dir, e.Path)
		if err != nil || p.Name() != e.Path {
			continue
		}
		base := readstate.Baseline{Whole: e.Whole}
		if n, err := hex.Decode(base.Revision[:], []byte(e.Revision)); err != nil || n != len(base.Revision) {
			continue
		}
		for _, sp := range e.Spans {
			base.Spans = append(base.Spans, readstate.Span{First: sp[0], Last: sp[1]})
		}
		s.seen.Restore(p, base)
		var told document.Revision
		if n, err := hex.Decode(told[:], []byte(e.Told)); err == nil && n == len(told) {
			s.told[p] = told
		}
	}
}

// Save keeps the read state if it changed since the last time.
func (s *Session) Save() error { return s.save() }

func (s *Session) save() error {
	if s.o.StateFile == "" {
		return nil
	}
	s.saving.Lock()
	defer s.saving.Unlock()
	s.mu.Lock()
	if !s.dirty {
		s.mu.Unlock()
		return nil
	}
	s.dirty = false
	f := stateFile{Version: stateVersion}
	for p := range s.seen.All() {
		b, _ := s.seen.Baseline(p)
		e := stateEntry{Path: p.Name(), Revision: hex.EncodeToString(b.Revision[:]), Whole: b.Whole}
		for _, sp := range b.Spans {
			e.Spans = append(e.Spans, [2]int{sp.First, sp.Last})
		}
		if told, ok := s.told[p]; ok && told != b.Revision {
			e.Told = hex.EncodeToString(told[:])
		}
		f.Seen = append(f.Seen, e)
	}
	errors := s.introduced.All()
	for _, d := range errors[max(0, len(errors)-maxErrors):] {
		f.Introduced = append(f.Introduced, stateError{Name: d.Name, Line: d.Line, EndLine: d.EndLine, Code: d.Code, Source: d.Source, Message: d.Message})
	}
	s.mu.Unlock()
	b, err := json.Marshal(f)
	if err == nil {
		err = replaceFile(s.o.StateFile, b)
	}
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.dirty = true // the next one tries again
	}
	return err
}

// replaceFile writes one of coedit's own files, readable by its user alone.
func replaceFile(name string, b []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return err
	}
	t, err := os.CreateTemp(filepath.Dir(name), "state-")
	if err != nil {
		return err
	}
	_, err = t.Write(b)
	if e := t.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = os.Rename(t.Name(), name)
	}
	if err != nil {
		_ = os.Remove(t.Name())
	}
	return err
}
