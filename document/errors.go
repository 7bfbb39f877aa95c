package document

import (
	"errors"
	"fmt"
)

// What can be wrong with a document or its name. They are sentinels for
// errors.Is; an *Error wraps one of them with the path.
var (
	ErrOutside      = errors.New("outside the workspace")
	ErrNotFound     = errors.New("no such file")
	ErrIsDirectory  = errors.New("is a directory")
	ErrNotDirectory = errors.New("is a file, not a directory")
	ErrNotRegular   = errors.New("is not a regular file")
	ErrBadPath      = errors.New("bad path")
	ErrTooLarge     = errors.New("file too large")
	ErrBinary       = errors.New("binary file")
	ErrEncoding     = errors.New("unsupported encoding")
	ErrReadOnly     = errors.New("read-only")
	ErrNoSpace      = errors.New("no space left")
	ErrConflict     = errors.New("the file changed while it was being edited")
	ErrPermission   = errors.New("permission denied by the operating system")
)

// An Error says what is wrong with the document called Name.
type Error struct {
	Name   string // as people know it: absolute, or as the caller gave it
	Err    error  // one of the sentinels above, or the system's own error
	Detail string // what to know beside it, "" for nothing
}

func (e *Error) Error() string {
	if e.Detail != "" {
		return fmt.Sprintf("%s: %v (%s)", e.Name, e.Err, e.Detail)
	}
	return fmt.Sprintf("%s: %v", e.Name, e.Err)
}

func (e *Error) Unwrap() error { return e.Err }

// An EncodingError says where bytes and text can't be turned into each other.
// It is ErrEncoding for errors.Is.
type EncodingError struct {
	Encoding Encoding // the encoding that was tried
	Offset   int      // of the first bad byte (decoding) or of the character in the text (encoding)
	Bad      string   // that byte as \xNN, or the character
	Writing  bool     // the text can't be encoded; else the bytes can't be decoded
}

func (e *EncodingError) Error() string {
	if e.Writing {
		return fmt.Sprintf("character %q at offset %d does not exist in %s", e.Bad, e.Offset, e.Encoding)
	}
	return fmt.Sprintf("byte %s at offset %d is not valid %s", e.Bad, e.Offset, e.Encoding)
}

// Is reports that every EncodingError is ErrEncoding.
func (e *EncodingError) Is(target error) bool { return target == ErrEncoding }
