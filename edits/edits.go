// Package edits plans changes to text: match, diff, apply, invert, rebase,
// hunks. It has no effects.
package edits

import "coedit/document"

// An Edit replaces the bytes [Start, End) of a text by New. Offsets count
// bytes of the Text of the snapshot it was computed from.
type Edit struct {
	Start, End int
	New        string
}

// A Change takes one document from one text to another. A zero From creates
// To, a zero To deletes From, two different ones rename.
//
// Invariant: Edits are sorted and disjoint.
type Change struct {
	From, To document.Path
	Base     document.Revision // of what Edits were computed from; zero for a create
	Edits    []Edit
}

// Path returns the path the change ends at, or that of a deleted document.
func (c Change) Path() document.Path {
	if c.To.IsZero() {
		return c.From
	}
	return c.To
}

// Kind says what a Change does.
type Kind uint8

// The kinds of change.
const (
	Modify Kind = iota
	Create
	Delete
	Rename
)

// Kind tells what c does, from its paths alone.
func (c Change) Kind() Kind {
	switch {
	case c.From.IsZero():
		return Create
	case c.To.IsZero():
		return Delete
	case c.From != c.To:
		return Rename
	}
	return Modify
}

// A Plan is all changes of one intent. Invariant: a path occurs once.
type Plan struct{ Changes []Change }

// Paths returns every path the plan touches, in the order of its changes.
func (p Plan) Paths() []document.Path {
	var out []document.Path
	for _, c := range p.Changes {
		if !c.From.IsZero() {
			out = append(out, c.From)
		}
		if !c.To.IsZero() && c.To != c.From {
			out = append(out, c.To)
		}
	}
	return out
}
