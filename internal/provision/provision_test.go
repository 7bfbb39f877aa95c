//go:build unix

package provision

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// fakeGo puts a go command in a folder that answers as a real one does, with
// body as its install step. It returns the PATH and the file that lists the
// calls.
func fakeGo(t *testing.T, version, sum, body string) (path, log string) {
	t.Helper()
	dir := t.TempDir()
	log = filepath.Join(dir, "log")
	script := `#!/bin/sh
echo "$@ [$GOFLAGS] [$GOTOOLCHAIN] [$SECRET] [$GOENV]" >> ` + log + `
case "$1" in
env) echo ` + version + ` ;;
mod) echo '{"Version": "v0.23.0", "Sum": "` + sum + `"}' ;;
install) ` + body + ` ;;
esac
`
	if err := os.WriteFile(filepath.Join(dir, "go"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return dir + ":/usr/bin:/bin", log
}

const (
	rightSum = "h1:Dn6mf9WXu9iLnTftDDMb9wV0c6Se7PjzEMqP0LEe08Y="
	building = `mkdir -p "$GOBIN"; echo '#!/bin/sh' > "$GOBIN/gopls"; chmod +x "$GOBIN/gopls"`
)

func calls(t *testing.T, log string) string {
	t.Helper()
	b, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func leftovers(t *testing.T, cache string) {
	t.Helper()
	if found, _ := filepath.Glob(filepath.Join(cache, "tools", "gopls", "build-*")); len(found) > 0 {
		t.Errorf("left behind: %v", found)
	}
}

func TestInstall(t *testing.T) {
	t.Setenv("SECRET", "s")
	t.Setenv("GOFLAGS", "-mod=mod")
	path, log := fakeGo(t, "go1.26.8", rightSum, building)
	cache := t.TempDir()
	var lines []string
	p := New(Options{Cache: cache, Path: path, Progress: func(l string) { lines = append(lines, l) }})
	tool, err := p.Ensure(t.Context(), "gopls")
	if err != nil {
		t.Fatal(err)
	}
	if tool.From != "cache" || tool.Version != "v0.23.0" || tool.Path != filepath.Join(cache, "tools", "gopls", "v0.23.0", "gopls") {
		t.Errorf("%+v", tool)
	}
	if got := calls(t, log); !strings.Contains(got, "install golang.org/x/tools/gopls@v0.23.0 [-modcacherw] [local] [] [off]") {
		t.Errorf("the build's call and environment: %s", got)
	}
	if len(lines) == 0 || !strings.Contains(lines[0], "installing gopls v0.23.0") {
		t.Errorf("progress: %v", lines)
	}
	leftovers(t, cache)
	if _, err := p.Find(t.Context(), "gopls"); err != nil {
		t.Error(err)
	}
	// a file that is not what was installed is not run
	if err := os.WriteFile(tool.Path, []byte("#!/bin/sh\nevil\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got, err := p.Find(t.Context(), "gopls"); err == nil {
		t.Errorf("a changed file is used: %+v", got)
	}
}

func TestInstallRefuses(t *testing.T) {
	for _, c := range []struct{ name, version, sum, body, want string }{
		{"wrong sum", "go1.26.8", "h1:other", building, "checksum"},
		{"build fails", "go1.26.8", rightSum, "echo cannot find compiler >&2; exit 1", "cannot find compiler"},
		{"old go", "go1.22.1", rightSum, building, "too old"},
		{"strange go", "devel", rightSum, building, "GOVERSION"},
	} {
		t.Run(c.name, func(t *testing.T) {
			path, log := fakeGo(t, c.version, c.sum, c.body)
			cache := t.TempDir()
			_, err := New(Options{Cache: cache, Path: path}).Ensure(t.Context(), "gopls")
			var m *MissingError
			if !errors.As(err, &m) || !strings.Contains(err.Error(), c.want) || !strings.Contains(m.Fix, "go install golang.org/x/tools/gopls@") {
				t.Errorf("%v, want %q", err, c.want)
			}
			if c.name == "wrong sum" && strings.Contains(calls(t, log), "install") {
				t.Error("it was built all the same")
			}
			leftovers(t, cache)
		})
	}
}

func TestModeOff(t *testing.T) {
	path, log := fakeGo(t, "go1.26.8", rightSum, building)
	for _, mode := range []string{"off", "ask"} {
		if _, err := New(Options{Cache: t.TempDir(), Path: path, Mode: mode}).Ensure(t.Context(), "gopls"); err == nil {
			t.Errorf("%s: installed", mode)
		}
	}
	if strings.Contains(calls(t, log), "install") {
		t.Error("installed")
	}
}

func TestPathGoesFirst(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "gopls"), []byte("#!/bin/sh\necho golang.org/x/tools/gopls v9.9.9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	tool, err := New(Options{Cache: t.TempDir(), Path: "relative:" + dir}).Find(t.Context(), "gopls")
	if err != nil || tool.From != "path" || tool.Version != "v9.9.9" {
		t.Errorf("%+v %v", tool, err)
	}
}

func TestTwoAtOnce(t *testing.T) {
	path, log := fakeGo(t, "go1.26.8", rightSum, "sleep 0.2; "+building)
	cache := t.TempDir()
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			if _, err := New(Options{Cache: cache, Path: path}).Ensure(context.Background(), "gopls"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := strings.Count(calls(t, log), "install golang"); n != 1 {
		t.Errorf("installed %d times", n)
	}
}

func TestCancel(t *testing.T) {
	path, log := fakeGo(t, "go1.26.8", rightSum, "sleep 60")
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := New(Options{Cache: cache, Path: path}).Ensure(ctx, "gopls")
		done <- err
	}()
	for deadline := time.Now().Add(10 * time.Second); !strings.Contains(calls2(log), "install"); {
		if time.Now().After(deadline) {
			t.Fatal("no build began")
		}
		time.Sleep(time.Millisecond)
	}
	cancel()
	select {
	case err := <-done:
		if !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the build goes on after its cancellation")
	}
	leftovers(t, cache)
}

func calls2(log string) string {
	b, _ := os.ReadFile(log)
	return string(b)
}
