//go:build long

package provision

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A real gopls is built, from the network.
func TestInstallReally(t *testing.T) {
	goCmd, err := exec.LookPath("go")
	if err != nil {
		t.Skip(err)
	}
	t.Setenv("GOFLAGS", "-mod=vendor") // must not reach the build
	t.Setenv("GOSUMDB", "off")
	cache := t.TempDir()
	p := New(Options{Cache: cache, Path: "/usr/bin:/bin", Go: goCmd, Progress: func(l string) { t.Log(l) }})
	version, err := p.Plan(t.Context(), "gopls")
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	tool, err := p.Ensure(t.Context(), "gopls")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("installed %s in %v", tool.Version, time.Since(began))
	if tool.Version != version || tool.From != "cache" {
		t.Errorf("%+v, planned %s", tool, version)
	}
	b, err := exec.Command(tool.Path, "version").CombinedOutput()
	if err != nil || !strings.Contains(string(b), "golang.org/x/tools/gopls "+version) {
		t.Errorf("gopls version: %s %v", b, err)
	}
	var size int64
	err = filepath.WalkDir(cache, func(name string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		return err
	})
	if err != nil || size > 100<<20 {
		t.Errorf("the cache holds %d bytes, %v", size, err)
	}
}
