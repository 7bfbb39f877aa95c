package settings

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// A Record says that a person trusts a folder. Trust covers what is below it,
// as in VS Code: who trusts ~/src need not answer again for each project in
// it. It is kept in the user's state folder, never in the folder itself
// (security rule T1).
type Record struct {
	Path          string // real
	Device, Inode uint64 // of the folder then: another one of that name is not trusted
	UID           int
	When          time.Time
	By            string // who answered
}

func trustFile(stateDir string) string { return filepath.Join(stateDir, "trust.json") }

// Trusted returns the records, oldest first; those whose folder has gone or
// been replaced stand there too, and don't count.
func Trusted(stateDir string) ([]Record, error) {
	b, err := readOwned(trustFile(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, &Error{File: trustFile(stateDir), Text: err.Error()}
	}
	var list []Record
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, &Error{File: trustFile(stateDir), Text: err.Error()}
	}
	return list, nil
}

// IsTrusted reports whether a record covers root: of the folder itself or of
// one it is in. A record counts while its folder is the same one (device and
// inode) and its user asks. What can't be read, is writable by others, or is
// kept inside root itself is not trusted.
func IsTrusted(stateDir, root string) bool {
	real, err := realDir(root)
	if err != nil {
		return false
	}
	if state, err := realDir(stateDir); err != nil || within(real, state) {
		return false
	}
	list, err := Trusted(stateDir)
	if err != nil {
		return false
	}
	for _, r := range list {
		if !filepath.IsAbs(r.Path) || !within(r.Path, real) {
			continue
		}
		info, err := os.Lstat(r.Path)
		if err != nil || r.UID != os.Geteuid() {
			continue
		}
		if dev, ino := identity(r.Path, info); ino != 0 && dev == r.Device && ino == r.Inode {
			return true
		}
	}
	return false
}

// within reports whether name is dir or below it; both are clean and absolute.
func within(dir, name string) bool {
	rel, err := filepath.Rel(dir, name)
	return err == nil && filepath.IsLocal(rel)
}

// realDir resolves links first: before them x/.. can't be shortened.
func realDir(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return "", err
	}
	return filepath.Abs(real)
}

// readOwned reads a file that is its user's alone to write.
func readOwned(name string) ([]byte, error) {
	info, err := os.Lstat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || !ownedByUs(info) {
		return nil, errors.New("is not a file that you alone can write")
	}
	return readRegular(name, maxFile)
}

// SetTrust records that by, a word for who answered ("command line"), trusts
// root, or takes that back; then a record of a folder above still covers it.
func SetTrust(stateDir, root string, trusted bool, by string) error {
	real, err := realDir(root)
	if err != nil {
		return err
	}
	info, err := os.Stat(real)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return &Error{File: root, Text: "is not a folder"}
	}
	if err := Secure(stateDir); err != nil {
		return err
	}
	unlock, err := lockFile(filepath.Join(stateDir, "trust.lock"))
	if err != nil {
		return err
	}
	defer unlock()
	list, err := Trusted(stateDir)
	if err != nil {
		return err
	}
	kept := list[:0]
	for _, r := range list {
		if r.Path != real {
			kept = append(kept, r)
		}
	}
	if trusted {
		dev, ino := identity(real, info)
		kept = append(kept, Record{Path: real, Device: dev, Inode: ino, UID: os.Geteuid(), When: time.Now().UTC(), By: by})
	}
	b, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	return replace(trustFile(stateDir), b)
}

// replace puts b in the place of a file's bytes, wholly or not at all.
func replace(name string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	_, err = f.Write(b)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		return err
	}
	return os.Rename(f.Name(), name)
}
