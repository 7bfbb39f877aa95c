//go:build unix

package settings

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

func TestFolders(t *testing.T) {
	for _, c := range []struct {
		name, goos string
		env        map[string]string
		want       Folders
	}{
		{"usual", "linux", nil, Folders{"/h/.config/coedit", "/h/.local/state/coedit", "/h/.cache/coedit", "/h/.local/state/coedit/run"}},
		{"own and XDG", "linux", map[string]string{"COEDIT_STATE_DIR": "/s/", "XDG_STATE_HOME": "/no", "XDG_CACHE_HOME": "/c"},
			Folders{"/h/.config/coedit", "/s", "/c/coedit", "/s/run"}},
		{"all own", "linux", map[string]string{"COEDIT_CONFIG_DIR": "/1", "COEDIT_STATE_DIR": "/2", "COEDIT_CACHE_DIR": "/3", "COEDIT_RUNTIME_DIR": "/4"}, Folders{"/1", "/2", "/3", "/4"}},
		{"runtime of the system", "linux", map[string]string{"XDG_RUNTIME_DIR": "/run/u"}, Folders{"/h/.config/coedit", "/h/.local/state/coedit", "/h/.cache/coedit", "/run/u/coedit"}},
		{"relative XDG", "linux", map[string]string{"XDG_RUNTIME_DIR": "x", "XDG_CONFIG_HOME": "y"}, Folders{"/h/.config/coedit", "/h/.local/state/coedit", "/h/.cache/coedit", "/h/.local/state/coedit/run"}},
		{"macOS", "darwin", nil, Folders{"/h/Library/Application Support/coedit", "/h/Library/Application Support/coedit/state", "/h/Library/Caches/coedit", "/h/Library/Application Support/coedit/state/run"}},
		{"Windows", "windows", map[string]string{"AppData": "/roam", "LocalAppData": "/loc"}, Folders{"/roam/coedit", "/loc/coedit/state", "/loc/coedit/cache", "/loc/coedit/state/run"}},
	} {
		got, err := findFolders(c.goos, func(k string) string { return c.env[k] }, "/h", -1)
		if err != nil || got != c.want {
			t.Errorf("%s: %+v %v\nwant %+v", c.name, got, err, c.want)
		}
	}
	if _, err := FindFolders(func(string) string { return "" }, "", 0); err == nil {
		t.Error("no home and no folders is not refused")
	}
	// a relative name would be in whatever project coedit is started in
	if f, err := FindFolders(func(k string) string { return map[string]string{"COEDIT_STATE_DIR": "s"}[k] }, "/h", 0); err == nil {
		t.Errorf("a relative folder: %+v", f)
	}
}

func TestSecure(t *testing.T) {
	base := t.TempDir()
	dir := filepath.Join(base, "d")
	if err := Private(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("missing: %v", err)
	}
	if err := Secure(dir); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	refused := func(what, name string) {
		t.Helper()
		var e *FolderError
		if err := Secure(name); !errors.As(err, &e) || e.Dir != name || e.Fix == "" {
			t.Errorf("%s: %v", what, err)
		}
	}
	link := filepath.Join(base, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	refused("a link", link)
	for _, mode := range []os.FileMode{0o755, 0o710, 0o701, 0o720} {
		if err := os.Chmod(dir, mode); err != nil {
			t.Fatal(err)
		}
		refused("a folder that others can reach", dir)
	}
	if os.Geteuid() == 0 {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Chown(dir, 12345, -1); err != nil {
			t.Skip(err)
		}
		refused("another's folder", dir)
	}
}

// A pipe has no text, and opening it waits for its writer.
func TestPipeHoldsNobody(t *testing.T) {
	dir := t.TempDir()
	for _, n := range []string{"settings.json", ".editorconfig"} {
		if err := syscall.Mkfifo(filepath.Join(dir, n), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() {
		Charset(dir, "a")
		_, err := Load(filepath.Join(dir, "settings.json"))
		done <- err
	}()
	select {
	case err := <-done:
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("waits for a writer")
	}
}
