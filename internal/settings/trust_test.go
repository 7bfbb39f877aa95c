//go:build unix

package settings

import (
	"os"
	"path/filepath"
	"testing"
)

func TestTrust(t *testing.T) {
	state, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(state, 0o700); err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	root, sub, other := filepath.Join(base, "r"), filepath.Join(base, "r", "sub"), filepath.Join(base, "r2")
	for _, d := range []string{sub, other} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	check := func(dir string, want bool) {
		t.Helper()
		if got := IsTrusted(state, dir); got != want {
			t.Errorf("%s trusted: %v, want %v", dir, got, want)
		}
	}
	check(root, false)
	if err := SetTrust(state, root, true, "test"); err != nil {
		t.Fatal(err)
	}
	check(root, true)
	check(sub, true)
	check(other, false) // the name begins the same
	check(base, false)
	link := filepath.Join(base, "link")
	if err := os.Symlink(root, link); err != nil {
		t.Fatal(err)
	}
	check(link, true)
	// another folder of the same name is not trusted
	if err := os.Rename(root, root+".away"); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	check(root, false)
	if err := SetTrust(state, root, true, "test"); err != nil {
		t.Fatal(err)
	}
	check(root, true)
	if err := SetTrust(state, root, false, "test"); err != nil {
		t.Fatal(err)
	}
	check(root, false)
	// nothing inside a root can trust it
	if err := os.WriteFile(filepath.Join(root, "trust.json"), []byte(`[{"Path": "`+root+`"}]`), 0o644); err != nil {
		t.Fatal(err)
	}
	check(root, false)
	if err := os.WriteFile(filepath.Join(state, "trust.json"), []byte("broken"), 0o600); err != nil {
		t.Fatal(err)
	}
	check(root, false)
}

func TestSecure(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "d")
	if err := Secure(dir); err != nil {
		t.Fatal(err)
	}
	if info, _ := os.Stat(dir); info.Mode().Perm() != 0o700 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := Secure(dir); err == nil {
		t.Error("a folder that others can read is not refused")
	}
	link := dir + ".link"
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if err := Secure(link); err == nil {
		t.Error("a link is not refused")
	}
}
