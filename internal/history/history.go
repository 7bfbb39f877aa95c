// Package history is the durable journal of plans and their inverses. What is
// here yet are its words: the store behind Journal is not built, and a
// workspace without one keeps no history.
package history

import "coedit/edits"

// An ID names one entry of the journal. "" means that none was made.
type ID string

// A Journal makes the inverse of a plan durable before the plan's first byte
// is written.
type Journal interface {
	// Begin records who is about to do what, as the plan that undoes it.
	Begin(by string, inverse edits.Plan) (ID, error)
	// End closes the entry: the plan was applied, or nothing of it was.
	End(id ID, applied bool) error
}
