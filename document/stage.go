package document

import "context"

// A Staged is a change that is ready to be carried out: the slow and failing
// part is done, the document is as before.
type Staged struct {
	// Swap makes the change visible. It refuses with ErrConflict unless the
	// document is still at its base, and is called at most once.
	Swap func(context.Context) error
	// Discard takes the preparation back. It is called instead of Swap,
	// after a Swap that failed, or after the change was undone by another one:
	// then it takes away what that leaves, such as folders made.
	Discard func()
}
