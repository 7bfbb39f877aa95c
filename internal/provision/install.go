package provision

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"coedit/internal/settings"
)

// installLimit ends an installation that hangs; a build takes about 70 s on
// two cores.
const installLimit = 20 * time.Minute

// install builds the pinned gopls in an empty folder and an environment of its
// own, after the module's checksum has been compared with the pin's (security
// rule T7). GOSUMDB stays on, so that what gopls is built from is checked too.
func (p *Provisioner) install(ctx context.Context, pin pin) error {
	ctx, cancel := context.WithTimeout(ctx, installLimit)
	defer cancel()
	dir := filepath.Join(p.o.Cache, "tools", "gopls")
	for _, d := range []string{filepath.Dir(dir), dir, filepath.Dir(p.file(pin))} {
		if err := settings.Secure(d); err != nil { // now, not after a minute's build
			return err
		}
	}
	unlock, err := lock(ctx, filepath.Join(dir, "lock"))
	if err != nil {
		return err
	}
	defer unlock()
	if verified(p.file(pin)) == nil { // somebody else was faster
		return nil
	}
	// who holds the lock is the only builder: these are of one that was killed
	stale, _ := filepath.Glob(filepath.Join(dir, "build-*"))
	for _, s := range stale {
		removeAll(s)
	}
	p.o.Progress("installing gopls " + pin.version + ", once; this takes about a minute")
	work, err := os.MkdirTemp(dir, "build-")
	if err != nil {
		return err
	}
	defer removeAll(work)
	b := build{goCmd: p.goCmd(), work: work, env: p.environment(work), progress: p.o.Progress}
	if err := b.verify(ctx, pin); err != nil {
		return err
	}
	if err := b.run(ctx, nil, "install", goplsModule+"@"+pin.version); err != nil {
		return err
	}
	return adopt(filepath.Join(work, "bin", exe("gopls")), p.file(pin))
}

// environment is what a build sees: nothing of the user's Go settings, caches
// of its own, which -modcacherw lets be removed afterwards. The network's
// settings are kept.
func (p *Provisioner) environment(work string) []string {
	env := []string{
		"PATH=" + p.o.Path, "HOME=" + work, "TMPDIR=" + work, "TMP=" + work, "TEMP=" + work, "GOTOOLCHAIN=local", "GOFLAGS=-modcacherw", "GOENV=off", "GOWORK=off",
		"GOPRIVATE=", "GONOSUMDB=", "GONOPROXY=", "GOINSECURE=", "GO111MODULE=on", "CGO_ENABLED=0", "GOTELEMETRY=off",
		"GOPATH=" + filepath.Join(work, "path"), "GOMODCACHE=" + filepath.Join(work, "mod"),
		"GOCACHE=" + filepath.Join(work, "cache"), "GOBIN=" + filepath.Join(work, "bin"),
	}
	for _, v := range []string{"GOPROXY", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR", "SystemRoot"} {
		if s := os.Getenv(v); s != "" {
			env = append(env, v+"="+s)
		}
	}
	if os.Getenv("GOSUMDB") == "sum.golang.google.cn" { // the same database under the name that is reached from China
		env = append(env, "GOSUMDB=sum.golang.google.cn")
	}
	return env
}

// A build runs the go command in a folder of its own.
type build struct {
	goCmd, work string
	env         []string
	progress    func(string)
}

// verify downloads the module and compares its checksum with the pin's.
func (b build) verify(ctx context.Context, pin pin) error {
	var out strings.Builder
	if err := b.run(ctx, &out, "mod", "download", "-json", goplsModule+"@"+pin.version); err != nil {
		return err
	}
	var m struct{ Sum, Error string }
	if err := json.Unmarshal([]byte(out.String()), &m); err != nil {
		return fmt.Errorf("go mod download: %w", err)
	}
	if m.Error != "" {
		return errors.New(m.Error)
	}
	if m.Sum != pin.sum {
		return fmt.Errorf("the module's checksum is %s, and %s was expected: it is not used", m.Sum, pin.sum)
	}
	return nil
}

// run runs the go command, with a line of progress every ten seconds. Its
// whole group of processes ends with ctx.
func (b build) run(ctx context.Context, stdout io.Writer, args ...string) error {
	cmd := exec.CommandContext(ctx, b.goCmd, args...)
	cmd.Dir, cmd.Env, cmd.Stdout = b.work, b.env, stdout
	var stderr strings.Builder
	cmd.Stderr = &stderr
	cmd.WaitDelay = 2 * time.Second
	group(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	done := make(chan error, 1)
	go func() { done <- cmd.Wait() }()
	tick := time.NewTicker(10 * time.Second)
	defer tick.Stop()
	began := time.Now()
	for {
		select {
		case err := <-done:
			if err == nil {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("go %s: %w: %s", args[0], err, last(stderr.String(), 400))
		case <-tick.C:
			b.progress(fmt.Sprintf("still building gopls, %d s", int(time.Since(began).Seconds())))
		}
	}
}

// last returns the end of a message, where its cause stands.
func last(s string, n int) string {
	s = strings.TrimSpace(s)
	if len(s) > n {
		s = "…" + s[len(s)-n:]
	}
	return s
}

// adopt moves a built program to its place, with its SHA-256 beside it.
func adopt(from, to string) error {
	sum, err := fileSum(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to+".sha256", []byte(sum+"\n"), 0o600); err != nil {
		return err
	}
	return os.Rename(from, to)
}

// verified says whether file is the program whose sum stands beside it, in
// folders that nobody else can reach: who could change the one could change
// the other.
func verified(file string) error {
	version := filepath.Dir(file)
	for _, dir := range []string{filepath.Dir(filepath.Dir(version)), filepath.Dir(version), version} {
		if err := settings.Private(dir); err != nil {
			return err
		}
	}
	want, err := os.ReadFile(file + ".sha256")
	if err != nil {
		return err
	}
	got, err := fileSum(file)
	if err != nil {
		return err
	}
	if got != strings.TrimSpace(string(want)) {
		return fmt.Errorf("%s is not the file that was installed", file)
	}
	return nil
}

func fileSum(name string) (string, error) {
	f, err := os.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}

// removeAll removes a build's folder; caches may hold read-only folders.
func removeAll(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			_ = os.Chmod(name, 0o700)
		}
		return nil
	})
	_ = os.RemoveAll(dir)
}
