package settings

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

// Folders are coedit's own, one a purpose.
type Folders struct{ Config, State, Cache, Runtime string }

// FindFolders tells where coedit's folders are; it makes none. COEDIT_CONFIG_DIR,
// COEDIT_STATE_DIR, COEDIT_CACHE_DIR and COEDIT_RUNTIME_DIR name them directly
// and must be absolute; else they are coedit's below the XDG folders where
// those are set (relative ones are ignored, as that specification says), else
// below the system's usual ones. Without a runtime folder of the system it is
// the run folder of the state: never one that others write, as /tmp.
func FindFolders(getenv func(string) string, home string, uid int) (Folders, error) {
	return findFolders(runtime.GOOS, getenv, home, uid)
}

func findFolders(goos string, getenv func(string) string, home string, uid int) (Folders, error) {
	pick := func(own, xdg, usual string) (string, error) {
		if d := getenv(own); d != "" {
			if !filepath.IsAbs(d) {
				return "", fmt.Errorf("%s is %q and must be an absolute path", own, d)
			}
			return filepath.Clean(d), nil
		}
		if d := getenv(xdg); filepath.IsAbs(d) {
			return filepath.Join(d, "coedit"), nil
		}
		if usual == "" {
			return "", fmt.Errorf("there is no home folder; set %s", own)
		}
		return usual, nil
	}
	usual := usualFolders(goos, getenv, home)
	var f Folders
	var err error
	if f.Config, err = pick("COEDIT_CONFIG_DIR", "XDG_CONFIG_HOME", usual.Config); err != nil {
		return Folders{}, err
	}
	if f.State, err = pick("COEDIT_STATE_DIR", "XDG_STATE_HOME", usual.State); err != nil {
		return Folders{}, err
	}
	if f.Cache, err = pick("COEDIT_CACHE_DIR", "XDG_CACHE_HOME", usual.Cache); err != nil {
		return Folders{}, err
	}
	run := filepath.Join(f.State, "run")
	if user := filepath.Join("/run/user", strconv.Itoa(uid)); goos == "linux" && isDir(user) {
		run = filepath.Join(user, "coedit")
	}
	if f.Runtime, err = pick("COEDIT_RUNTIME_DIR", "XDG_RUNTIME_DIR", run); err != nil {
		return Folders{}, err
	}
	return f, nil
}

// usualFolders are where a system's programs keep such things; "" without a
// home.
func usualFolders(goos string, getenv func(string) string, home string) Folders {
	below := func(base string, names ...string) string {
		if base == "" {
			return ""
		}
		return filepath.Join(append([]string{base}, names...)...)
	}
	switch goos {
	case "windows":
		local := getenv("LocalAppData")
		return Folders{Config: below(getenv("AppData"), "coedit"), State: below(local, "coedit", "state"), Cache: below(local, "coedit", "cache")}
	case "darwin":
		support := below(home, "Library", "Application Support", "coedit")
		return Folders{Config: support, State: below(support, "state"), Cache: below(home, "Library", "Caches", "coedit")}
	default:
		return Folders{Config: below(home, ".config", "coedit"), State: below(home, ".local", "state", "coedit"), Cache: below(home, ".cache", "coedit")}
	}
}

func isDir(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

// A FolderError says why a folder can't hold what is coedit's alone, and what
// to do.
type FolderError struct{ Dir, Problem, Fix string }

func (e *FolderError) Error() string { return e.Dir + " " + e.Problem + "; " + e.Fix }

// Secure makes dir, for its user alone, and refuses one that others own or can
// reach with a *FolderError (security rule T10).
func Secure(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return Private(dir)
}

// Private refuses, with a *FolderError, a folder that others own or can reach,
// and a link. A missing one is fs.ErrNotExist. On Windows, where a profile's
// folders are its user's, it only looks for a folder.
func Private(dir string) error { return private(dir) }
