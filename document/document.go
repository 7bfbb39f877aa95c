// Package document holds the words everything else uses: Root, Path,
// Revision, Snapshot, Origin and encodings.
package document

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// MaxSize is the size in bytes above which a file has no revision: it can be
// read in part, but there is no baseline and no edit.
const MaxSize = 64 << 20

// A Revision is the SHA-256 of a document's bytes as they are on disk. The
// zero Revision means that no such file exists.
type Revision [sha256.Size]byte

// RevisionOf returns the revision of b, the bytes as on disk.
func RevisionOf(b []byte) Revision { return sha256.Sum256(b) }

// IsZero reports whether r means "no such file".
func (r Revision) IsZero() bool { return r == Revision{} }

// String returns the first 12 hex digits, enough for a log or a message.
func (r Revision) String() string {
	if r.IsZero() {
		return "none"
	}
	return hex.EncodeToString(r[:6])
}

// OriginKind says what sort of actor produced a snapshot.
type OriginKind string

// The kinds of origin, in the words of the tool contract.
const (
	OriginDisk    OriginKind = "disk"    // found on disk; nobody known wrote it
	OriginEditor  OriginKind = "editor"  // typed in an attached editor
	OriginSession OriginKind = "session" // written by coedit for a session
	OriginCommand OriginKind = "command" // written by a command an agent ran
)

// An Origin says who produced a snapshot.
type Origin struct {
	Kind    OriginKind
	Session string // for OriginSession and OriginCommand: which
	Command string // for OriginCommand: its first words
}

// A Snapshot is one document at one moment. It is immutable: neither Bytes
// nor what it points to may be written.
type Snapshot struct {
	Path     Path
	Bytes    []byte   // as on disk
	Text     string   // UTF-8, byte-order mark off, line ends untouched; "" when Problem is set
	Encoding Encoding // how Bytes become Text
	BOM      bool     // Bytes begin with a byte-order mark
	Revision Revision // of Bytes; zero when the file does not exist
	Origin   Origin
	Problem  error // why Text can't stand for Bytes: *EncodingError or ErrBinary; nil for text
}

// Exists reports whether the document is there.
func (s Snapshot) Exists() bool { return !s.Revision.IsZero() }

// NewSnapshot decodes b, the bytes of the existing file at p. The charset is
// the name a settings file gives, or "" for the usual rules (see Decode).
func NewSnapshot(p Path, b []byte, charset string, by Origin) Snapshot {
	s := Snapshot{Path: p, Bytes: b, Revision: RevisionOf(b), Origin: by}
	s.Text, s.Encoding, s.BOM, s.Problem = Decode(b, charset)
	return s
}

// WithText returns the snapshot that results when the document's text becomes
// text, encoded as s is. A document that did not exist becomes UTF-8 without
// a byte-order mark, or what s.Encoding says. A U+FEFF that text begins with is
// the byte-order mark, not text. The error is an *EncodingError when the text has a
// character that the encoding lacks.
func (s Snapshot) WithText(text string, by Origin) (Snapshot, error) {
	next := Snapshot{Path: s.Path, Text: text, Encoding: s.Encoding, BOM: s.BOM, Origin: by}
	if next.Encoding == "" {
		next.Encoding = UTF8
	}
	if strings.HasPrefix(text, "\ufeff") && (next.Encoding == UTF8 || next.Encoding == UTF16LE || next.Encoding == UTF16BE) {
		next.Text, next.BOM = text[len("\ufeff"):], true // as it will be read again
	}
	b, err := Encode(next.Text, next.Encoding, next.BOM)
	if err != nil {
		return Snapshot{}, err
	}
	next.Bytes, next.Revision = b, RevisionOf(b)
	return next, nil
}

// SameText reports whether a and b hold the same text modulo line ends and
// byte-order mark: the test by which an editor's buffer equals the disk.
func SameText(a, b string) bool {
	if a == b {
		return true
	}
	return bytes.Equal(lf([]byte(a)), lf([]byte(b)))
}

func lf(b []byte) []byte { return bytes.ReplaceAll(b, []byte("\r\n"), []byte("\n")) }

// A Listing is what a place in a root holds. Names have slashes and are
// relative to the root.
type Listing struct {
	Files    map[string]uint64 // regular files, each with a value that changes when size, times or inode do
	Links    []string          // those that are links to another file of the root
	Folders  []string          // links to folders of the root; what is below them is not listed
	Young    []string          // those that may change once more without another value, so shortly before did they change
	Complete bool              // false where something could not be read, or was too much
}

// A Source gives snapshots. A missing file is a Snapshot with the zero
// Revision, never an error.
type Source interface {
	Snapshot(context.Context, Path) (Snapshot, error)
}
