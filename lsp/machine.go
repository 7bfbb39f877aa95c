package lsp

import (
	"strings"
	"time"

	"coedit/lsp/profile"
)

// machine decides when what a server has said covers what it was told. It is
// pure: events and times come in, verdicts go out.
type machine struct {
	cfg machineConfig

	sent   uint64    // number of the last item sent
	sentAt time.Time // when

	owed     map[string]int    // rounds that must still begin, by title
	running  map[string]string // rounds begun and not ended: token → title
	loading  map[string]bool   // tokens of progress that means "not loaded yet"
	seen     bool              // a round has been seen
	missed   int               // barriers in a row that rounds were missing at
	unproven uint64            // the item whose rounds a barrier proved missing
	asked    uint64            // the item that a barrier was asked after

	docs     map[string]*docState
	lastNews time.Time // of the last publication, pull or end of a round
}

type machineConfig struct {
	rounds            map[string]string // method → title; nil: no progress
	prefix            string
	loading           []string
	pull              bool
	push              string
	versionFinal      bool
	settle, settleMax time.Duration
}

// docState is what is known of one open document.
type docState struct {
	version   int32
	sentAt    time.Time
	answered  time.Time // first publication for this version, zero for none
	versioned bool      // that publication named the version
	pulled    uint64    // m.sent when the last answered pull was asked, plus one
	pulledAt  time.Time // when that answer came
	pullError bool      // it was an error
}

// phase of a verdict.
type state uint8

const (
	pending state = iota
	loading
	settled
	fresh
)

// A verdict tells where a mark stands and what could bring it on.
type verdict struct {
	state   state
	how     string
	pull    []string  // documents to pull now
	barrier bool      // ask a barrier now
	wake    time.Time // look again then; zero: only after an event
}

const (
	barrierAfter = 250 * time.Millisecond // a round begins 2 ms after its notification
	maxMissed    = 3                      // barriers without the rounds owed, then rounds are no longer believed in
)

func newMachine(cfg machineConfig) *machine {
	return &machine{
		cfg: cfg, owed: map[string]int{}, running: map[string]string{}, loading: map[string]bool{},
		docs: map[string]*docState{},
	}
}

// delivered records that item seq has gone out.
func (m *machine) delivered(now time.Time, seq uint64) {
	m.sent, m.sentAt = max(m.sent, seq), now
}

// wasSent records that the notification method goes out now; name and version
// are those of the document it opens or changes, name is "" else.
func (m *machine) wasSent(now time.Time, method, name string, version int32) {
	m.sentAt = now
	if title := m.cfg.rounds[method]; title != "" && m.missed < maxMissed {
		m.owed[title]++
	}
	switch method {
	case "textDocument/didOpen", "textDocument/didChange":
		d := m.docs[name]
		if d == nil {
			d = &docState{}
			m.docs[name] = d
		}
		d.version, d.sentAt = version, now
		d.answered, d.versioned, d.pullError = time.Time{}, false, false
	case "textDocument/didClose":
		delete(m.docs, name)
	}
}

// published records a publication. A version older than the document's says
// nothing of now; none, or 0, is taken as current.
func (m *machine) published(now time.Time, name string, version int32, has bool) {
	m.lastNews = now
	d := m.docs[name]
	if d == nil {
		return
	}
	if has && version != 0 && version < d.version {
		return
	}
	if has && version >= d.version {
		if !d.versioned {
			d.answered = now
		}
		d.versioned = true
	} else if d.answered.IsZero() {
		d.answered = now
	}
}

// pulled records the answer to a pull that was asked when item asked was the
// last one sent.
func (m *machine) pulled(now time.Time, name string, asked uint64, failed bool) {
	m.lastNews = now
	if d := m.docs[name]; d != nil {
		d.pulled, d.pulledAt, d.pullError = max(d.pulled, asked+1), now, failed
	}
}

// progress records a begin or an end of work-done progress.
func (m *machine) progress(now time.Time, token, kind, title string) {
	switch kind {
	case "begin":
		switch {
		case m.cfg.prefix != "" && strings.HasPrefix(title, m.cfg.prefix):
			m.seen, m.missed = true, 0
			m.running[token] = title
			if m.owed[title] > 1 {
				m.owed[title]--
			} else {
				delete(m.owed, title)
			}
		case m.isLoading(title):
			m.loading[token] = true
		}
	case "end":
		if _, ok := m.running[token]; ok {
			m.lastNews = now
		}
		delete(m.running, token)
		delete(m.loading, token)
	}
}

func (m *machine) isLoading(title string) bool {
	for _, part := range m.cfg.loading {
		if strings.Contains(title, part) {
			return true
		}
	}
	return false
}

// barrierAsked and barrierAnswered bracket a request that the server answers
// in its turn: what rounds it has not begun by then, it won't.
func (m *machine) barrierAsked() uint64 {
	m.asked = m.sent
	return m.sent
}

func (m *machine) barrierAnswered(asked uint64) {
	if asked != m.sent || len(m.owed) == 0 {
		return
	}
	clear(m.owed)
	m.unproven = m.sent
	if m.missed++; !m.seen {
		m.missed = maxMissed
	}
}

// verdict tells whether everything up to item seq is covered, for the
// documents called names.
func (m *machine) verdict(now time.Time, seq uint64, names []string) verdict {
	switch {
	case m.sent < seq:
		return verdict{}
	case len(m.loading) > 0:
		return verdict{state: loading}
	case len(m.owed) > 0:
		v := verdict{wake: m.sentAt.Add(barrierAfter)}
		if !now.Before(v.wake) {
			v.wake, v.barrier = time.Time{}, m.asked != m.sent
		}
		return v
	case len(m.running) > 0:
		return verdict{}
	case len(m.cfg.rounds) > 0 && m.missed < maxMissed && (m.unproven == 0 || m.unproven != m.sent):
		return verdict{state: fresh, how: "progress"}
	}
	return m.byDocuments(now, seq, names)
}

// byDocuments is the way without progress: pulls, versions, quiet.
func (m *machine) byDocuments(now time.Time, seq uint64, names []string) verdict {
	v := verdict{state: fresh, how: "pull"}
	ready, open, byVersion, byPull := m.sentAt, 0, 0, 0
	for _, name := range names {
		d := m.docs[name]
		if d == nil {
			continue
		}
		open++
		if d.sentAt.After(ready) {
			ready = d.sentAt
		}
		if m.cfg.pull && !d.pullError {
			if d.pulled < seq+1 {
				v.pull = append(v.pull, name)
			}
			if d.pulledAt.After(ready) {
				ready = d.pulledAt
			}
			byPull++
			continue
		}
		if d.answered.IsZero() {
			v.state = pending
			continue
		}
		if d.answered.After(ready) {
			ready = d.answered
		}
		if d.versioned {
			byVersion++
		}
	}
	switch {
	case len(v.pull) > 0 || v.state == pending:
		v.state = pending
		return v
	case open > 0 && byPull == open && m.cfg.push == profile.PushNone:
		return v
	case open > 0 && byVersion == open && m.cfg.versionFinal:
		v.how = "version"
		return v
	case open > 0 && byVersion == open:
		v.how = "version"
	case byPull < open || open == 0:
		v.how = "settle"
	}
	quiet := ready
	if m.lastNews.After(quiet) {
		quiet = m.lastNews
	}
	until := quiet.Add(m.cfg.settle)
	if latest := ready.Add(m.cfg.settleMax); latest.Before(until) {
		until = latest
	}
	if now.Before(until) {
		return verdict{wake: until}
	}
	v.state = settled
	return v
}
