package provision

import "context"

// A flight is one installation that callers share.
type flight struct {
	done    chan struct{} // closed when err is set
	err     error
	waiting int
	cancel  context.CancelFunc
}

// share waits for the installation that goes on, or begins it. It belongs to
// those who wait: the last one to give up ends it, and waits for its end.
func (p *Provisioner) share(ctx context.Context, pin pin) error {
	p.mu.Lock()
	f := p.running
	if f == nil {
		// not ctx: the others stay when its caller goes
		own, cancel := context.WithCancel(context.WithoutCancel(ctx))
		f = &flight{done: make(chan struct{}), cancel: cancel}
		p.running = f
		go func() {
			err := p.install(own, pin)
			p.mu.Lock()
			if p.running == f {
				p.running = nil
			}
			p.mu.Unlock()
			f.err = err
			cancel()
			close(f.done)
		}()
	}
	f.waiting++
	p.mu.Unlock()
	select {
	case <-f.done:
		return f.err
	case <-ctx.Done():
	}
	p.mu.Lock()
	f.waiting--
	last := f.waiting == 0
	if last && p.running == f {
		p.running = nil // who comes now begins anew
	}
	p.mu.Unlock()
	if last {
		f.cancel()
		<-f.done
	}
	return ctx.Err()
}
