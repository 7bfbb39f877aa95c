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
	"strconv"
	"strings"
	"sync"
)

// Options say where a Provisioner looks and what it may do.
type Options struct {
	Cache    string       // coedit's cache folder
	Path     string       // the PATH to search, project folders taken out
	Mode     string       // "auto" or "": install what is missing; "ask", "off": only say how
	Log      *slog.Logger // nil: discard
	Progress func(string) // takes a line at a step; nil: nobody
}

// A Tool is an executable that was found.
type Tool struct {
	Name, Path, Version string
	From                string // "path" or "cache"
}

// A MissingError says that a tool was not found and how to get it.
type MissingError struct {
	Name, Fix string
	Why       error // why it was not installed; nil when nobody tried
}

func (e *MissingError) Error() string {
	s := e.Name + " was not found; run: " + e.Fix
	if e.Why != nil {
		s = fmt.Sprintf("%s could not be installed: %v; run: %s", e.Name, e.Why, e.Fix)
	}
	return s
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
}

// New returns a Provisioner.
func New(o Options) *Provisioner {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return &Provisioner{o: o}
}

// Find looks for the tool called name ("gopls"): on the PATH first, since a
// person's own goes before ours, then in the cache, where the file must be the
// one that was installed. The error is a *MissingError.
func (p *Provisioner) Find(ctx context.Context, name string) (Tool, error) {
	if name != "gopls" {
		return Tool{}, &MissingError{Name: name, Fix: "install it with your system's package manager"}
	}
	if file := lookPath(name, p.o.Path); file != "" {
		return Tool{Name: name, Path: file, Version: goplsVersion(ctx, file), From: "path"}, nil
	}
	for _, pin := range gopls {
		file := p.file(pin)
		if err := verified(file); err == nil {
			return Tool{Name: name, Path: file, Version: pin.version, From: "cache"}, nil
		} else if !errors.Is(err, os.ErrNotExist) {
			p.o.Log.Warn("cached tool is not what was installed", "file", file, "err", err)
		}
	}
	version := "latest"
	if pin, err := p.pick(ctx); err == nil {
		version = pin.version
	}
	return Tool{}, &MissingError{Name: name, Fix: "go install " + goplsModule + "@" + version}
}

// Ensure is Find, and installs the tool where it is missing and the mode lets
// it. Callers at the same time share one installation, also over processes.
func (p *Provisioner) Ensure(ctx context.Context, name string) (Tool, error) {
	t, err := p.Find(ctx, name)
	var missing *MissingError
	if err == nil || !errors.As(err, &missing) || name != "gopls" {
		return t, err
	}
	if p.o.Mode == "off" || p.o.Mode == "ask" {
		return Tool{}, missing
	}
	if err := p.install(ctx); err != nil {
		if ctx.Err() != nil {
			return Tool{}, ctx.Err()
		}
		missing.Why = err
		return Tool{}, missing
	}
	return p.Find(ctx, name)
}

// pick returns the newest pin that the present Go builds.
func (p *Provisioner) pick(ctx context.Context) (pin, error) {
	goCmd := lookPath("go", p.o.Path)
	if goCmd == "" {
		return pin{}, errors.New("the go command is missing, and gopls is built with it")
	}
	minor, err := goMinor(ctx, goCmd, p.o.Path)
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

func goMinor(ctx context.Context, goCmd, path string) (int, error) {
	cmd := exec.CommandContext(ctx, goCmd, "env", "GOVERSION")
	cmd.Env = append(os.Environ(), "GOTOOLCHAIN=local", "PATH="+path)
	cmd.Dir = os.TempDir() // no go.mod of a project has a say
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

// versions caches what gopls version said, by file.
var versions sync.Map

func goplsVersion(ctx context.Context, file string) string {
	info, err := os.Stat(file)
	if err != nil {
		return "unknown version"
	}
	key := fmt.Sprint(file, info.Size(), info.ModTime())
	if v, ok := versions.Load(key); ok {
		return v.(string)
	}
	cmd := exec.CommandContext(ctx, file, "version")
	cmd.Dir = os.TempDir()
	b, err := cmd.Output()
	v := "unknown version"
	if f := strings.Fields(string(b)); err == nil && len(f) >= 2 {
		v = f[1]
	}
	versions.Store(key, v)
	return v
}
