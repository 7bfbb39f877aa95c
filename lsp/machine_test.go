package lsp

import (
	"strconv"
	"testing"
	"time"

	"coedit/lsp/profile"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func at(ms int) time.Time { return epoch.Add(time.Duration(ms) * time.Millisecond) }

func testMachine(change func(*machineConfig)) *machine {
	cfg := machineConfig{settle: 150 * time.Millisecond, settleMax: time.Second}
	if change != nil {
		change(&cfg)
	}
	return newMachine(cfg)
}

func rounds(c *machineConfig) {
	p := profile.Gopls()
	c.rounds, c.prefix, c.loading, c.push = p.Rounds, p.ProgressTitle, p.LoadingTitles, p.Push
}

func (m *machine) send(now time.Time, seq uint64, method, name string, version int32) {
	m.wasSent(now, method, name, version)
	m.delivered(now, seq)
}

func (m *machine) want(t *testing.T, ms int, seq uint64, s state, how string) {
	t.Helper()
	v := m.verdict(at(ms), seq, []string{"a"})
	if v.state != s || how != "" && v.how != how {
		t.Errorf("at %d ms: state %d %q, want %d %q (%+v)", ms, v.state, v.how, s, how, v)
	}
}

func TestMachineRounds(t *testing.T) {
	m := testMachine(rounds)
	m.send(at(0), 1, "initialized", "", 0)
	m.want(t, 1, 1, pending, "")
	m.progress(at(2), "t1", "begin", "diagnosing initial workspace load")
	m.progress(at(2), "t2", "begin", "Setting up workspace")
	m.send(at(3), 2, methodOpen, "a", 1)
	m.want(t, 4, 2, loading, "")
	m.progress(at(50), "t2", "end", "")
	m.progress(at(51), "t1", "end", "")
	m.want(t, 52, 2, pending, "") // the round of didOpen has not begun
	m.progress(at(53), "t3", "begin", "diagnosing opened files")
	m.want(t, 54, 2, pending, "")
	m.progress(at(60), "t3", "end", "")
	m.want(t, 60, 2, fresh, "progress")

	// A newer change cancels the older one's round; the end of that proves nothing.
	m.send(at(100), 3, methodChange, "a", 2)
	m.send(at(101), 4, methodChange, "a", 3)
	m.progress(at(102), "t4", "begin", "diagnosing changed files")
	m.progress(at(103), "t4", "end", "")
	m.want(t, 104, 3, pending, "")
	m.progress(at(105), "t5", "begin", "diagnosing changed files")
	m.want(t, 106, 4, pending, "")
	m.progress(at(110), "t5", "end", "")
	m.want(t, 111, 4, fresh, "progress")
	m.want(t, 111, 5, pending, "") // not sent yet

	// A round that nobody owes (the server's own) counts while it runs.
	m.progress(at(120), "t6", "begin", "diagnosing upgrades")
	m.want(t, 121, 4, pending, "")
	m.progress(at(122), "t6", "end", "")
	m.want(t, 123, 4, fresh, "progress")
}

func TestMachineMissingRounds(t *testing.T) {
	m := testMachine(rounds)
	m.send(at(0), 1, methodOpen, "a", 1)
	if v := m.verdict(at(10), 1, []string{"a"}); v.barrier || v.wake != at(0).Add(barrierAfter) {
		t.Errorf("%+v", v)
	}
	v := m.verdict(at(300), 1, []string{"a"})
	if !v.barrier {
		t.Fatalf("no barrier asked: %+v", v)
	}
	asked := m.barrierAsked()
	if v := m.verdict(at(301), 1, []string{"a"}); v.barrier {
		t.Error("asked twice")
	}
	m.published(at(310), "a", 1, true)
	m.barrierAnswered(asked)
	m.want(t, 320, 1, pending, "")
	m.want(t, 470, 1, settled, "version")
	// Rounds are not believed in any more.
	m.send(at(500), 2, methodChange, "a", 2)
	m.published(at(510), "a", 2, true)
	m.want(t, 700, 2, settled, "version")
}

func TestMachinePush(t *testing.T) {
	m := testMachine(nil)
	m.send(at(0), 1, methodOpen, "a", 1)
	m.want(t, 5000, 1, pending, "") // silence is no news
	m.published(at(5000), "a", 0, false)
	m.want(t, 5100, 1, pending, "")
	m.want(t, 5150, 1, settled, "settle")

	m.send(at(6000), 2, methodChange, "a", 2)
	m.published(at(6010), "a", 1, true) // late, for the old version
	m.want(t, 9000, 2, pending, "")
	m.published(at(9000), "a", 2, true)
	m.published(at(9100), "a", 2, true)
	m.want(t, 9200, 2, pending, "") // still talking
	m.want(t, 9250, 2, settled, "version")
	for ms := 9100; ms < 10100; ms += 50 { // never quiet: bounded
		m.published(at(ms), "b", 0, false)
	}
	m.want(t, 10000, 2, settled, "version")
}

func TestMachineVersionFinal(t *testing.T) {
	m := testMachine(func(c *machineConfig) { c.versionFinal = true })
	m.send(at(0), 1, methodOpen, "a", 1)
	m.published(at(10), "a", 1, true)
	m.want(t, 10, 1, fresh, "version")
}

func TestMachinePull(t *testing.T) {
	for _, test := range []struct {
		push string
		want state
	}{{profile.PushNone, fresh}, {profile.PushUnknown, pending}, {profile.PushAlso, pending}} {
		m := testMachine(func(c *machineConfig) { c.pull, c.push = true, test.push })
		m.send(at(0), 1, methodOpen, "a", 1)
		if v := m.verdict(at(1), 1, []string{"a"}); v.state != pending || len(v.pull) != 1 {
			t.Errorf("%+v", v)
		}
		m.pulled(at(5), "a", 1, false)
		m.want(t, 5, 1, test.want, "")
		if test.want == pending {
			m.want(t, 155, 1, settled, "pull")
		}
		// A pull asked before a later change says nothing of it.
		m.send(at(200), 2, methodChange, "a", 2)
		m.pulled(at(201), "a", 1, false)
		if v := m.verdict(at(500), 2, []string{"a"}); v.state != pending || len(v.pull) != 1 {
			t.Errorf("%+v", v)
		}
	}
}

// simulated is a server that handles what it is sent in order, a round for
// each, and publishes at the end of a round that nothing cancelled. Time and
// order come from data.
type simulated struct {
	inbox   []string // methods sent and not handled
	sent    int
	handled int // notifications whose round has begun
	said    int // the notification that the last completed round covered
	running []simRound
	next    int
}

type simRound struct {
	token string
	of    int
}

func (s *simulated) step(b byte, m *machine, now time.Time) {
	switch b % 3 {
	case 0: // send
		s.sent++
		method := []string{methodOpen, methodChange, methodSave, methodWatched, methodClose}[int(b/3)%5]
		m.send(now, uint64(s.sent), method, "a", int32(s.sent))
		s.inbox = append(s.inbox, method)
	case 1: // begin the next round
		if len(s.inbox) > 0 {
			s.handled++
			s.next++
			token := strconv.Itoa(s.next)
			m.progress(now, token, "begin", m.cfg.rounds[s.inbox[0]])
			s.inbox = s.inbox[1:]
			s.running = append(s.running, simRound{token, s.handled})
		}
	case 2: // end some round; only the newest says anything
		if n := len(s.running); n > 0 {
			i := int(b/3) % n
			r := s.running[i]
			if r.of == s.handled {
				m.published(now, "a", int32(r.of), true)
				s.said = r.of
			}
			m.progress(now, r.token, "end", "")
			s.running = append(s.running[:i], s.running[i+1:]...)
		}
	}
}

// FuzzMachine: in whatever order things happen, fresh is never said before the
// server has said its word on everything sent, and is said in the end.
func FuzzMachine(f *testing.F) {
	f.Add([]byte{0, 1, 2, 0, 0, 1, 1, 2, 5})
	f.Add([]byte{0, 3, 6, 1, 1, 1, 5, 2, 2})
	f.Fuzz(func(t *testing.T, data []byte) {
		if len(data) > 1000 {
			return
		}
		m, s := testMachine(rounds), &simulated{}
		now := epoch
		check := func() {
			if v := m.verdict(now, uint64(s.sent), []string{"a"}); s.sent > 0 && v.state == fresh && s.said != s.sent {
				t.Fatalf("fresh, but the server spoke of %d of %d", s.said, s.sent)
			}
		}
		for _, b := range data {
			now = now.Add(time.Duration(b) * time.Millisecond / 8)
			s.step(b, m, now)
			check()
		}
		for len(s.inbox) > 0 {
			s.step(1, m, now)
			check()
		}
		for len(s.running) > 0 {
			s.step(2, m, now)
			check()
		}
		if s.sent > 0 {
			if v := m.verdict(now, uint64(s.sent), []string{"a"}); s.said == s.sent && v.state != fresh {
				t.Fatalf("never fresh: %+v", v)
			}
		}
	})
}

func FuzzLineMap(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nX\nc\n")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, before, after string) {
		list := oneEdit(before, after)
		checkLineMap(t, before, after, list)
	})
}
