// Package provision fetches tools coedit needs (language servers) into its
// cache.
package provision

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Options say where a Provisioner looks and what it may do.
type Options struct {
	Cache    string       // coedit's cache folder
	Path     string       // the PATH to search, project folders taken out; relative folders are passed over
	Go       string       // the go command; "": the first on Path
	Mode     string       // "auto" or "": install what is missing; "ask", "off": only say how
	Log      *slog.Logger // nil: discard
	Progress func(string) // takes a line at a step, from any goroutine; nil: nobody
}

// A Tool is an executable that was found.
type Tool struct {
	Name, Path, Version string
	From                string // "path" or "cache"
}

// A MissingError says that a tool was not found and how to get it.
type MissingError struct {
	Name string
	Fix  string // a command, or a sentence that ends in one
	Why  error  // why it was not or can't be installed; nil when nobody tried
}

func (e *MissingError) Error() string {
	fix := e.Fix
	if strings.HasPrefix(fix, "go ") {
		fix = "run: " + fix
	}
	if e.Why != nil {
		return fmt.Sprintf("%s could not be installed: %v; %s", e.Name, e.Why, fix)
	}
	return e.Name + " was not found; " + fix
}

func (e *MissingError) Unwrap() error { return e.Why }

// A pin is a version that coedit installs, with the module's checksum.
type pin struct {
	version string
	sum     string // h1, as the go command prints it
	leastGo int    // minor version: 26 for go1.26
}

// gopls pins, the newest first. The sums were printed by go mod download.
var gopls = []pin{
	{"v0.24.0", "h1:nPO/LffYa4sP62Ueuema5PPnZPGaZjGl+vZGvbTek4g=", 27},
	{"v0.23.0", "h1:Dn6mf9WXu9iLnTftDDMb9wV0c6Se7PjzEMqP0LEe08Y=", 26},
	{"v0.21.1", "h1:1/o9z5Brdero4jFm9Jr46Uwj8GU9lQdoSXHMlwRHb/w=", 25},
}

const goplsModule = "golang.org/x/tools/gopls"

// A Provisioner finds and installs tools. It is safe for concurrent use.
type Provisioner struct {
	o Options

	mu       sync.Mutex
	running  *flight           // the installation that goes on
	versions map[string]string // what gopls version said, by file, size and time
}

// New returns a Provisioner.
func New(o Options) *Provisioner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &Provisioner{o: o, versions: map[string]string{}}
}

// Find looks for the tool called name ("gopls"): on the PATH first, since a
// person's own goes before ours, then in the cache, where the file must be the
// one that was installed. It makes nothing. The error is a *MissingError, or
// that of ctx.
func (p *Provisioner) Find(ctx context.Context, name string) (Tool, error) {
	if err := ctx.Err(); err != nil {
		return Tool{}, err
	}
	if name != "gopls" {
		return Tool{}, &MissingError{Name: name, Fix: "install it with your system's package manager"}
	}
	if file := lookPath(name, p.o.Path); file != "" {
		return Tool{Name: name, Path: file, Version: p.askVersion(ctx, file), From: "path"}, nil
	}
	if t, ok := p.cached(gopls); ok {
		return t, nil
	}
	pin, err := p.pick(ctx)
	if ctx.Err() != nil {
		return Tool{}, ctx.Err()
	}
	m := &MissingError{Name: name, Fix: "go install " + goplsModule + "@" + pin.version}
	if err != nil {
		m.Why, m.Fix = err, "install Go from https://go.dev/dl/, then: go install "+goplsModule+"@latest"
	}
	return Tool{}, m
}

// cached returns the newest of the pins that lies in the cache.
func (p *Provisioner) cached(pins []pin) (Tool, bool) {
	for _, pin := range pins {
		file := p.file(pin)
		err := verified(file)
		if err == nil {
			return Tool{Name: "gopls", Path: file, Version: pin.version, From: "cache"}, true
		}
		if !errors.Is(err, os.ErrNotExist) {
			p.o.Log.Warn("cached tool is not used", "file", file, "err", err)
		}
	}
	return Tool{}, false
}

// Ensure is Find, and installs the tool where it is missing and the mode lets
// it. A cached gopls that is older than the one the present Go builds is
// replaced likewise: built with an older Go, it would call code of the newer
// one broken. Callers at the same time share one installation, also over
// processes; it goes on until the last of them is cancelled. The error is a
// *MissingError, or that of ctx.
func (p *Provisioner) Ensure(ctx context.Context, name string) (Tool, error) {
	t, err := p.Find(ctx, name)
	var missing *MissingError
	if name != "gopls" || err != nil && !errors.As(err, &missing) || err == nil && t.From == "path" {
		return t, err
	}
	if p.o.Mode != "auto" && p.o.Mode != "" {
		return t, err
	}
	pin, why := p.pick(ctx)
	if err == nil && (why != nil || pin.version == t.Version || slices.Index(gopls, pin) > p.index(t.Version)) {
		return t, nil
	}
	if why == nil {
		why = p.share(ctx, pin)
	}
	if why == nil {
		return p.Find(ctx, name)
	}
	if ctx.Err() != nil {
		return Tool{}, ctx.Err()
	}
	if err == nil {
		p.o.Log.Warn("the newer gopls could not be installed", "version", pin.version, "err", why)
		return t, nil
	}
	missing.Why = why
	return Tool{}, missing
}

func (p *Provisioner) index(version string) int {
	return slices.IndexFunc(gopls, func(pin pin) bool { return pin.version == version })
}

// Plan returns the version of the tool that Ensure would install with the
// present Go, and why it can install none.
func (p *Provisioner) Plan(ctx context.Context, name string) (version string, err error) {
	if name != "gopls" {
		return "", &MissingError{Name: name, Fix: "install it with your system's package manager"}
	}
	pin, err := p.pick(ctx)
	return pin.version, err
}

// goCmd returns the go command, "" for none.
func (p *Provisioner) goCmd() string {
	if p.o.Go != "" {
		return p.o.Go
	}
	return lookPath("go", p.o.Path)
}

// pick returns the newest pin that the present Go builds.
func (p *Provisioner) pick(ctx context.Context) (pin, error) {
	goCmd := p.goCmd()
	if goCmd == "" {
		return pin{}, errors.New("the go command is missing, and gopls is built with it")
	}
	minor, err := p.goMinor(ctx, goCmd)
	if err != nil {
		return pin{}, err
	}
	for _, pin := range gopls {
		if minor >= pin.leastGo {
			return pin, nil
		}
	}
	return pin{}, fmt.Errorf("go1.%d is too old: the oldest pinned gopls needs go1.%d", minor, gopls[len(gopls)-1].leastGo)
}

// goMinor returns 26 for go1.26 and its patches.
func (p *Provisioner) goMinor(ctx context.Context, goCmd string) (int, error) {
	work, err := os.MkdirTemp("", "coedit-go-") // the go command leaves its counters below HOME
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(work)
	cmd := exec.CommandContext(ctx, goCmd, "env", "GOVERSION")
	cmd.Env = p.environment(work)
	cmd.Dir = work // no go.mod of a project has a say
	cmd.WaitDelay = 2 * time.Second
	group(cmd)
	b, err := cmd.Output()
	if err != nil {
		return 0, fmt.Errorf("go env GOVERSION: %w", err)
	}
	v := strings.TrimPrefix(strings.TrimSpace(string(b)), "go1.")
	if i := strings.IndexFunc(v, func(r rune) bool { return r < '0' || r > '9' }); i >= 0 {
		v = v[:i]
	}
	n, err := strconv.Atoi(v)
	if err != nil {
		return 0, fmt.Errorf("go env GOVERSION says %q", strings.TrimSpace(string(b)))
	}
	return n, nil
}

func (p *Provisioner) file(pin pin) string {
	return filepath.Join(p.o.Cache, "tools", "gopls", pin.version, exe("gopls"))
}

func exe(name string) string {
	if runtime.GOOS == "windows" {
		return name + ".exe"
	}
	return name
}

func lookPath(name, path string) string {
	for _, dir := range filepath.SplitList(path) {
		if !filepath.IsAbs(dir) {
			continue
		}
		if f, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return f
		}
	}
	return ""
}

// askVersion runs gopls version; it is remembered while the file stays.
func (p *Provisioner) askVersion(ctx context.Context, file string) string {
	const unknown = "unknown version"
	info, err := os.Stat(file)
	if err != nil {
		return unknown
	}
	key := fmt.Sprint(file, info.Size(), info.ModTime())
	p.mu.Lock()
	v, ok := p.versions[key]
	p.mu.Unlock()
	if ok {
		return v
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, file, "version")
	cmd.Dir = os.TempDir()
	cmd.WaitDelay = 2 * time.Second
	group(cmd)
	b, err := cmd.Output()
	f := strings.Fields(string(b))
	if err != nil || len(f) < 2 {
		return unknown
	}
	p.mu.Lock()
	p.versions[key] = f[1]
	p.mu.Unlock()
	return f[1]
}
