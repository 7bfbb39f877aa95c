package lsp

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"coedit/internal/wire"

	"go.lsp.dev/protocol"
)

const (
	maxHeld    = 20_000  // errors kept a server, and as many lesser findings
	maxMessage = 4 << 10 // bytes kept of a message
)

// raw is a diagnostic as the server numbers it. It owns its strings.
type raw struct {
	rng                   protocol.Range
	severity              Severity
	code, source, message string
	unnecessary           bool
}

// store holds what one server says now. Each publication replaces the former
// one of its file, each pull the former pull.
type store struct {
	push, pull map[string][]raw // by absolute file name; the slices are never changed
	errors     int
	lesser     int
	dropped    map[string]bool // names of files of which not all is kept
}

func newStore() store {
	return store{push: map[string][]raw{}, pull: map[string][]raw{}, dropped: map[string]bool{}}
}

func (s *store) set(of map[string][]raw, name string, list []raw) {
	s.count(of[name], -1)
	delete(of, name)
	delete(s.dropped, name)
	kept := list[:0]
	errors, lesser := maxHeld-s.errors, maxHeld-s.lesser
	for _, d := range list {
		room := &lesser
		if d.severity == Error {
			room = &errors
		}
		if *room <= 0 {
			s.dropped[name] = true
			continue
		}
		*room--
		kept = append(kept, d)
	}
	if len(kept) > 0 {
		of[name] = kept
		s.count(kept, 1)
	}
}

func (s *store) count(list []raw, by int) {
	for _, d := range list {
		if d.severity == Error {
			s.errors += by
		} else {
			s.lesser += by
		}
	}
}

func (s *store) forget(name string) {
	s.set(s.push, name, nil)
	s.set(s.pull, name, nil)
}

// all returns what holds now, push and pull merged, each finding once.
func (s *store) all() map[string][]raw {
	out := make(map[string][]raw, len(s.push)+len(s.pull))
	for name, list := range s.push {
		out[name] = dedupe(list, s.pull[name])
	}
	for name, list := range s.pull {
		if _, ok := out[name]; !ok {
			out[name] = dedupe(list, nil)
		}
	}
	return out
}

func dedupe(a, b []raw) []raw {
	if len(a)+len(b) < 2 {
		return append(slices.Clip(a), b...)
	}
	seen := make(map[raw]bool, len(a)+len(b))
	out := make([]raw, 0, len(a)+len(b))
	for _, list := range [2][]raw{a, b} {
		for _, d := range list {
			if !seen[d] {
				seen[d] = true
				out = append(out, d)
			}
		}
	}
	return out
}

// rawOf takes over what a server sent, bounded.
func rawOf(list []protocol.Diagnostic) []raw {
	out := make([]raw, 0, min(len(list), maxHeld))
	for _, d := range list {
		if d.Message == nil { // null, or no diagnostic at all
			continue
		}
		r := raw{rng: d.Range, severity: Severity(d.Severity), code: code(d.Code), message: message(d.Message)}
		if r.severity < Error || r.severity > Hint {
			r.severity = Error
		}
		if source, ok := d.Source.Get(); ok {
			r.source = strings.Clone(cut(source, 256))
		}
		for _, tag := range d.Tags.Slice() {
			r.unnecessary = r.unnecessary || tag == 1
		}
		out = append(out, r)
	}
	if len(out) > maxHeld {
		slices.SortStableFunc(out, func(a, b raw) int { return cmp.Compare(a.severity, b.severity) })
		out = slices.Clip(out[:min(len(out), 2*maxHeld+1)]) // one too many, so that set notices
	}
	return out
}

func code(c protocol.ProgressToken) string {
	if c == nil {
		return ""
	}
	b, err := wire.Marshal(c)
	if err != nil {
		return ""
	}
	var text string
	if wire.Unmarshal(b, &text) == nil {
		return strings.Clone(cut(text, 256))
	}
	return cut(string(b), 256)
}

func message(m protocol.InlayHintTooltip) string {
	switch m := m.(type) {
	case protocol.String:
		return strings.Clone(cut(string(m), maxMessage))
	case *protocol.MarkupContent:
		if m != nil {
			return strings.Clone(cut(m.Value, maxMessage))
		}
	}
	return ""
}

// cut shortens s to at most n bytes without splitting a character.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	n -= len("…")
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
