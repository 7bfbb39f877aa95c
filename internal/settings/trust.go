package settings

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// A Record says that a person trusts a folder and what is below it. It is kept
// in the user's state folder, never in the folder itself (security rule T1).
type Record struct {
	Path          string // real
	Device, Inode uint64 // of the folder then: another one of that name is not trusted
	UID           int
	When          time.Time
	By            string // who answered
}

func trustFile(stateDir string) string { return filepath.Join(stateDir, "trust.json") }

// Trusted returns the records, oldest first.
func Trusted(stateDir string) ([]Record, error) {
	b, err := os.ReadFile(trustFile(stateDir))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []Record
	if err := json.Unmarshal(b, &list); err != nil {
		return nil, &Error{File: trustFile(stateDir), Text: err.Error()}
	}
	return list, nil
}

// IsTrusted reports whether a record covers root: of the folder itself or of
// one it is in, as editors do. What can't be read is not trusted.
func IsTrusted(stateDir, root string) bool {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return false
	}
	list, err := Trusted(stateDir)
	if err != nil {
		return false
	}
	for _, r := range list {
		if real != r.Path && !strings.HasPrefix(real, strings.TrimSuffix(r.Path, string(filepath.Separator))+string(filepath.Separator)) {
			continue
		}
		info, err := os.Stat(r.Path)
		if err != nil || r.UID != os.Geteuid() {
			continue
		}
		if dev, ino := identity(info); dev == r.Device && ino == r.Inode {
			return true
		}
	}
	return false
}

// SetTrust records that by trusts root, or takes that back.
func SetTrust(stateDir, root string, trusted bool, by string) error {
	real, err := filepath.EvalSymlinks(root)
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
		dev, ino := identity(info)
		kept = append(kept, Record{Path: real, Device: dev, Inode: ino, UID: os.Geteuid(), When: time.Now().UTC(), By: by})
	}
	b, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	tmp := trustFile(stateDir) + ".new"
	if err := os.WriteFile(tmp, b, 0o600); err != nil {
		return err
	}
	return os.Rename(tmp, trustFile(stateDir))
}
