package main

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"coedit/internal/disk"
	"coedit/watcher"
)

// pace is when what others changed is looked at without a tool call: after a
// pause, since a file may be half written, and when a checkout is over.
var pace = watcher.Pace{Quiet: 50 * time.Millisecond, Most: 500 * time.Millisecond, HeldMost: 5 * time.Second}

// watch starts to watch the roots.
func (e *engine) watch() error {
	if err := os.MkdirAll(e.folders.Runtime, 0o700); err != nil {
		return err
	}
	var err error
	if e.cookies, err = os.MkdirTemp(e.folders.Runtime, "watch-"); err != nil {
		return err
	}
	if e.cookies, err = filepath.EvalSymlinks(e.cookies); err != nil {
		return err
	}
	o := watcher.Options{Skip: disk.Skipped, Ignore: disk.Temporary, Cookies: e.cookies, Log: e.log}
	for _, r := range e.roots {
		o.Dirs = append(o.Dirs, r.Dir())
	}
	e.watcher, err = watcher.Start(o)
	return err
}

// push has the servers told of what others change, as it happens.
func (e *engine) push(ctx context.Context) {
	p := pace
	p.Held = e.held
	e.watcher.Settle(ctx, p, func() {
		if _, err := e.space.Scan(ctx, e.roots); err != nil && ctx.Err() == nil {
			e.log.Warn("scan", "err", err)
		}
	})
}

// held reports that git is in the middle of changing a root's files: its lock
// is there, and not so old that it was left behind.
func (e *engine) held() bool {
	for _, r := range e.roots {
		info, err := os.Lstat(filepath.Join(r.Dir(), ".git", "index.lock"))
		if err == nil && time.Since(info.ModTime()) < pace.HeldMost {
			return true
		}
	}
	return false
}
