//go:build unix

package settings

import (
	"os"
	"path/filepath"
	"sync"
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

func TestTrustFile(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	root, state := filepath.Join(base, "r"), filepath.Join(base, "state")
	if err := os.Mkdir(root, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := SetTrust(state, root, true, "test"); err != nil {
		t.Fatal(err)
	}
	list, err := Trusted(state)
	if err != nil || len(list) != 1 || list[0].Path != root || list[0].By != "test" || list[0].Inode == 0 || list[0].UID != os.Geteuid() || list[0].When.IsZero() {
		t.Errorf("%+v %v", list, err)
	}
	name := filepath.Join(state, "trust.json")
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	check := func(what string, state, root string, want bool) {
		t.Helper()
		if got := IsTrusted(state, root); got != want {
			t.Errorf("%s: trusted %v, want %v", what, got, want)
		}
	}
	check("as recorded", state, root, true)
	check("with odd spelling", state, root+"/./x/..", false) // x does not exist
	check("with odd spelling", state, root+"/.", true)

	// what others can write is no answer of this person
	if err := os.Chmod(name, 0o666); err != nil {
		t.Fatal(err)
	}
	check("writable by others", state, root, false)
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(name, filepath.Join(root, "t.json")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(root, "t.json"), name); err != nil {
		t.Fatal(err)
	}
	check("a link", state, root, false)

	// a true record that lies in the root itself
	inside := filepath.Join(root, "state")
	if err := os.Mkdir(inside, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(inside, "trust.json"), good, 0o600); err != nil {
		t.Fatal(err)
	}
	check("kept in the root", inside, root, false)
	if err := os.Symlink(inside, filepath.Join(base, "away")); err != nil {
		t.Fatal(err)
	}
	check("kept in the root, by a link", filepath.Join(base, "away"), root, false)
}

func TestTrustAtOnce(t *testing.T) {
	base := t.TempDir()
	state := filepath.Join(base, "state")
	var wg sync.WaitGroup
	for i := range 10 {
		root := filepath.Join(base, string(rune('a'+i)))
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			if err := SetTrust(state, root, true, "test"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if list, err := Trusted(state); err != nil || len(list) != 10 {
		t.Errorf("%d records, %v", len(list), err)
	}
	if left, _ := filepath.Glob(filepath.Join(state, "trust.json.*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}
}
