package session

import (
	"context"

	"coedit/document"
	"coedit/lsp"
)

// Diagnostics returns what the language servers hold now, after every change
// on disk has been found and told to them. With files, those are opened first;
// without, everything the servers speak of is meant.
func (s *Session) Diagnostics(ctx context.Context, files []document.Path) (lsp.Report, []lsp.Diagnostic, error) {
	snaps := make([]document.Snapshot, 0, len(files))
	for _, p := range files {
		snap, err := s.Snapshot(ctx, p)
		if err != nil {
			return lsp.Report{}, nil, err
		}
		snaps = append(snaps, snap)
	}
	if s.o.Servers == nil {
		return lsp.Report{Freshness: lsp.Skipped}, nil, nil
	}
	whole, err := s.o.Workspace.Scan(ctx, s.o.Roots)
	if err != nil {
		return lsp.Report{}, nil, err
	}
	r, list := s.o.Servers.Current(ctx, snaps)
	doubt(&r, !whole)
	return r, list, nil
}
