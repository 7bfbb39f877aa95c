package lsp

import (
	"time"

	"coedit/document"
)

// Freshness says how much a report can be relied on.
type Freshness string

// The kinds of freshness, from best to worst, and those of no report.
const (
	Fresh       Freshness = "fresh"       // proven: all that the servers have to say of this state
	Settled     Freshness = "settled"     // quiet since, not proven
	Timeout     Freshness = "timeout"     // the server did not answer in time
	Indexing    Freshness = "indexing"    // the server is still loading
	Installing  Freshness = "installing"  // the server is being fetched or built
	Unavailable Freshness = "unavailable" // the server can't be started, or died
	Untrusted   Freshness = "untrusted"   // not started, because the root is restricted
	Unsupported Freshness = "unsupported" // no server for such files
	Skipped     Freshness = "skipped"     // nobody asked
)

// Severity is a diagnostic's weight, as LSP numbers it.
type Severity int

// The severities.
const (
	Error       Severity = 1
	Warning     Severity = 2
	Information Severity = 3
	Hint        Severity = 4
)

// String returns the word for s.
func (s Severity) String() string {
	switch s {
	case Warning:
		return "warning"
	case Information:
		return "info"
	case Hint:
		return "hint"
	}
	return "error"
}

// A Diagnostic is one finding of a server. Lines and columns count from 1,
// columns in code points; the end is exclusive.
type Diagnostic struct {
	Name                             string        // absolute file name
	Path                             document.Path // zero outside the roots
	Line, Column, EndLine, EndColumn int
	Severity                         Severity
	Code, Source, Message            string // from the server: untrusted text, at most 4 KiB
	Unnecessary                      bool   // the server calls the code unnecessary
	Transient                        bool   // likely to go with the next edit
	Server                           string
}

// Counts are how many diagnostics hold now.
type Counts struct{ Errors, Warnings int }

// Evidence tells how far one server's word goes, and how that was proven.
type Evidence struct {
	Name      string
	Freshness Freshness
	How       string // pull, version, progress, settle, barrier; "" when not proven
	Waited    time.Duration
	Note      string // why there is no word
}

// A Report is what an edit did to the diagnostics. An empty list means "none"
// only as far as Freshness says.
type Report struct {
	Freshness     Freshness // the worst of the servers'
	BaselineKnown bool      // what held before is known; else New and Resolved are empty
	Servers       []Evidence
	New, Resolved []Diagnostic // errors anywhere, lesser ones on edited lines
	Yours         []Diagnostic // see Introduced
	Remaining     Counts       // of Current
	Current       []Diagnostic // all that hold now, errors first
	Note          string       // why there is no or no fresh report
	Truncated     bool         // a server sent more than is kept
	Shared        bool         // others changed documents meanwhile: what is new may be theirs
	Unchecked     []string     // absolute names of the changed files that no server checks
}

// Status describes one server for people.
type Status struct {
	Name, Root, State, Note string
	Documents, Restarts     int
}
