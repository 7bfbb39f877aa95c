package session

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"coedit/document"
	"coedit/lsp"
)

// maxOpened bounds the documents opened to have a server speak of a folder.
const maxOpened = 40

// Diagnostics returns what the language servers hold now, after every change
// on disk has been found and told to them: of file, of the folder, or of all
// the roots where both are zero. Servers that it needs are started.
func (s *Session) Diagnostics(ctx context.Context, file, folder document.Path) (lsp.Report, []lsp.Diagnostic, error) {
	if s.o.Servers == nil {
		return lsp.Report{Freshness: lsp.Skipped}, nil, nil
	}
	whole, err := s.o.Workspace.Scan(ctx, s.o.Roots)
	if err != nil {
		return lsp.Report{}, nil, err
	}
	var snaps []document.Snapshot
	var roots []string
	opened := true
	if !file.IsZero() {
		snap, err := s.Snapshot(ctx, file)
		if err != nil {
			return lsp.Report{}, nil, err
		}
		snaps = append(snaps, snap)
	} else {
		if snaps, roots, opened, err = s.needed(ctx, folder); err != nil {
			return lsp.Report{}, nil, err
		}
	}
	s.open(snaps...)
	r, list := s.o.Servers.Current(ctx, snaps, roots...)
	doubt(&r, !whole)
	if !opened && r.Freshness == lsp.Fresh {
		r.Freshness, r.Note = lsp.Settled, fmt.Sprintf("there are more than %d projects or folders, and not all of them were looked at: name a folder", maxOpened)
	}
	return r, list, nil
}

// needed returns the documents to open so that servers speak of all of a
// folder, or of everything, and the roots that hold files which a server
// checks. all is false when there are too many of those documents.
func (s *Session) needed(ctx context.Context, folder document.Path) (snaps []document.Snapshot, roots []string, all bool, err error) {
	all = true
	for _, root := range s.o.Roots {
		if !folder.IsZero() && folder.Root() != root.Dir() {
			continue
		}
		files := s.o.Workspace.Files(root.Dir())
		open, served := s.o.Servers.Needed(root.Dir(), files)
		if !folder.IsZero() && folder.Rel() != "." {
			var below []string
			for _, name := range files {
				if strings.HasPrefix(name, folder.Rel()+"/") {
					below = append(below, name)
				}
			}
			// The project that the folder is part of, and those below it.
			var inside []string
			inside, served = s.o.Servers.Needed(root.Dir(), below)
			open = append(inside, open...)
		}
		if served == 0 {
			continue
		}
		roots = append(roots, root.Dir())
		for _, name := range open {
			p, err := root.Resolve(name)
			if err != nil || s.MayLook(p) != nil || slices.ContainsFunc(snaps, func(d document.Snapshot) bool { return d.Path == p }) {
				continue
			}
			if len(snaps) == maxOpened {
				all = false
				break
			}
			snap, err := s.o.Workspace.Snapshot(ctx, p)
			if err != nil {
				if ctx.Err() != nil {
					return nil, nil, false, err
				}
				all = false
				continue
			}
			snaps = append(snaps, snap)
		}
	}
	return snaps, roots, all, nil
}
