package watcher

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func TestSettle(t *testing.T) {
	const ms = time.Millisecond
	for _, test := range []struct {
		name  string
		hints []time.Duration // when something happens
		held  [2]time.Duration
		want  []time.Duration // when it is pushed
	}{
		{"one", []time.Duration{10 * ms}, [2]time.Duration{}, []time.Duration{60 * ms}},
		{"a burst is one", []time.Duration{10 * ms, 30 * ms, 70 * ms}, [2]time.Duration{}, []time.Duration{120 * ms}},
		{"two", []time.Duration{10 * ms, 200 * ms}, [2]time.Duration{}, []time.Duration{60 * ms, 250 * ms}},
		{"never quiet", []time.Duration{10 * ms, 50 * ms, 90 * ms, 130 * ms, 170 * ms, 210 * ms, 250 * ms, 290 * ms, 330 * ms}, [2]time.Duration{}, []time.Duration{310 * ms, 380 * ms}},
		{"held", []time.Duration{10 * ms, 200 * ms}, [2]time.Duration{0, 400 * ms}, []time.Duration{400 * ms}},
		{"held too long", []time.Duration{10 * ms}, [2]time.Duration{0, 5000 * ms}, []time.Duration{1060 * ms}},
	} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			ctx, cancel := context.WithCancel(t.Context())
			hint := make(chan struct{}, 1)
			var got []time.Duration
			p := Pace{Quiet: 50 * ms, Most: 300 * ms, HeldMost: time.Second, Held: func() bool {
				at := time.Since(start)
				return at >= test.held[0] && at < test.held[1]
			}}
			done := make(chan struct{})
			go func() {
				settle(ctx, hint, p, func() { got = append(got, time.Since(start).Round(20*ms)) })
				close(done)
			}()
			for _, at := range test.hints {
				time.Sleep(time.Until(start.Add(at)))
				select {
				case hint <- struct{}{}:
				default:
				}
			}
			time.Sleep(10 * time.Second)
			cancel()
			<-done
			if len(got) != len(test.want) {
				t.Fatalf("%s: pushed at %v, want %v", test.name, got, test.want)
			}
			for i := range got {
				if got[i] != test.want[i].Round(20*ms) {
					t.Errorf("%s: pushed at %v, want %v", test.name, got, test.want)
				}
			}
		})
	}
}
