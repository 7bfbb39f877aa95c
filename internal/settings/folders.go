package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

// Folders are coedit's own, one a purpose.
type Folders struct{ Config, State, Cache, Runtime string }

// FindFolders tells where coedit's folders are; it makes none. COEDIT_CONFIG_DIR,
// COEDIT_STATE_DIR, COEDIT_CACHE_DIR and COEDIT_RUNTIME_DIR name them directly;
// else they are coedit's below the XDG folders, and without a runtime folder of
// the system the run folder of the state.
func FindFolders(getenv func(string) string, home string, uid int) (Folders, error) {
	pick := func(own, xdg string, fallback ...string) (string, error) {
		if d := getenv(own); d != "" {
			return filepath.Abs(d)
		}
		if d := getenv(xdg); d != "" && filepath.IsAbs(d) {
			return filepath.Join(d, "coedit"), nil
		}
		if home == "" {
			return "", fmt.Errorf("there is no home folder; set %s", own)
		}
		return filepath.Join(append([]string{home}, fallback...)...), nil
	}
	var f Folders
	var err error
	if f.Config, err = pick("COEDIT_CONFIG_DIR", "XDG_CONFIG_HOME", ".config", "coedit"); err != nil {
		return f, err
	}
	if f.State, err = pick("COEDIT_STATE_DIR", "XDG_STATE_HOME", ".local", "state", "coedit"); err != nil {
		return f, err
	}
	if f.Cache, err = pick("COEDIT_CACHE_DIR", "XDG_CACHE_HOME", ".cache", "coedit"); err != nil {
		return f, err
	}
	switch run := filepath.Join("/run/user", strconv.Itoa(uid)); {
	case getenv("COEDIT_RUNTIME_DIR") != "" || getenv("XDG_RUNTIME_DIR") != "":
		f.Runtime, err = pick("COEDIT_RUNTIME_DIR", "XDG_RUNTIME_DIR")
	case isDir(run):
		f.Runtime = filepath.Join(run, "coedit")
	default:
		f.Runtime = filepath.Join(f.State, "run")
	}
	return f, err
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// Secure makes dir, for its user alone, and refuses one that others own or can
// reach (security rule T10).
func Secure(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	info, err := os.Lstat(dir)
	switch {
	case err != nil:
		return err
	case !info.IsDir():
		return fmt.Errorf("%s is not a folder (a link is not followed); remove it", dir)
	}
	return private(dir, info)
}
