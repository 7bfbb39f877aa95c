package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"coedit/document"
	"coedit/internal/disk"
	"coedit/internal/permission"
	"coedit/internal/provision"
	"coedit/internal/session"
	"coedit/internal/settings"
	"coedit/internal/tools"
	"coedit/internal/workspace"
	"coedit/lsp"
	"coedit/lsp/profile"
	"coedit/watcher"
)

// serveFlags are what every command that serves tools takes.
type serveFlags struct {
	Root           []string `help:"A folder to serve; repeatable. The working directory when there is none." placeholder:"DIR" sep:"none"`
	Tools          []string `help:"Tools to offer: default, all, or names." default:"default"`
	PermissionMode string   `help:"default, acceptEdits, plan or bypassPermissions." default:"default"`
	Session        string   `help:"Name of the session; its read state is kept under it." placeholder:"NAME"`
	Trust          bool     `help:"Trust the roots, as coedit trust does, for this run."`
	AllowWideRoot  bool     `help:"Allow a root that holds very much: / or the home folder."`
	Servers        string   `help:"Language servers: auto or off." enum:"auto,off" default:"auto"`
	Watch          string   `help:"Watch the roots for changes: auto or off." enum:"auto,off" default:"auto"`
	Verbose        bool     `help:"Log to standard error."`
}

// An engine is everything one process serves with.
type engine struct {
	flags    serveFlags
	folders  settings.Folders
	roots    document.Roots
	dir      string
	disk     *disk.Disk
	space    *workspace.Workspace
	servers  *lsp.Servers // nil with --servers=off
	set      *tools.Set
	log      *slog.Logger
	progress func(string)
	tools    *provision.Provisioner
	watcher  *watcher.Watcher // nil when the roots are not watched
	cookies  string           // the watcher's folder
	stop     context.CancelFunc
	pushing  sync.WaitGroup

	mu       sync.Mutex
	sessions map[string]*session.Session
}

// A trouble is why nothing can be served, with the code an agent is told.
type trouble struct{ code, text string }

func (t *trouble) Error() string { return t.text }

// openEngine wires the packages together. progress takes a line at a time
// while a language server is being installed; nil for nobody.
func openEngine(f serveFlags, stderr streams, progress func(string)) (*engine, error) {
	e := &engine{flags: f, sessions: map[string]*session.Session{}, progress: progress, log: slog.New(slog.DiscardHandler)}
	if f.Verbose {
		e.log = slog.New(slog.NewTextHandler(stderr.err, nil))
	}
	mode, ok := permission.ParseMode(f.PermissionMode)
	if !ok {
		return nil, &trouble{"invalid_arguments", fmt.Sprintf("there is no permission mode %q; there are default, acceptEdits, plan, bypassPermissions", f.PermissionMode)}
	}
	home, _ := os.UserHomeDir()
	var err error
	if e.folders, err = settings.FindFolders(os.Getenv, home, os.Getuid()); err != nil {
		return nil, err
	}
	if err := e.openRoots(home); err != nil {
		return nil, err
	}
	user, err := settings.Load(filepath.Join(e.folders.Config, "settings.json"))
	if err != nil {
		return nil, &trouble{"settings_invalid", err.Error()}
	}
	if e.set, err = tools.NewSet(f.Tools, tools.Limits{}); err != nil {
		return nil, &trouble{"invalid_arguments", err.Error()}
	}
	var charsets settings.Charsets
	e.disk = disk.New(disk.Options{Charset: func(p document.Path) string { return charsets.Of(p.Root(), p.Rel()) }})
	e.tools = provision.New(provision.Options{Cache: e.folders.Cache, Path: e.cleanPath(), Mode: user.Provision, Log: e.log, Progress: e.progress})
	o := workspace.Options{Target: e.disk}
	if f.Servers != "off" {
		e.servers = lsp.New(e.serverOptions(user))
		o.Servers = e.servers
	}
	if f.Watch != "off" {
		if err := e.watch(); err != nil { // late is not wrong: every call looks for itself
			e.log.Warn("the roots are not watched", "err", err)
		} else {
			o.News = e.watcher
		}
	}
	e.space = workspace.New(o)
	if e.watcher != nil {
		ctx, stop := context.WithCancel(context.Background())
		e.stop = stop
		e.pushing.Go(func() { e.push(ctx) })
	}
	e.flags.PermissionMode = string(mode)
	return e, nil
}

// openRoots opens the folders to serve and refuses those that hold too much
// to be meant.
func (e *engine) openRoots(home string) error {
	names := e.flags.Root
	wd, err := os.Getwd()
	if err != nil {
		return err
	}
	if len(names) == 0 {
		names = []string{wd}
	}
	for _, n := range names {
		r, err := document.OpenRoot(n)
		if err != nil {
			return &trouble{"not_found", "the root can't be served: " + err.Error()}
		}
		if why := wide(r.Dir(), home, e.folders.State); why != "" && !e.flags.AllowWideRoot {
			return &trouble{"outside_workspace", fmt.Sprintf("%s is not served because it is %s. Start coedit in a project's folder or with --root DIR; --root %s --allow-wide-root serves it all the same.", r.Dir(), why, r.Dir())}
		}
		e.roots = append(e.roots, r)
	}
	e.dir = e.roots[0].Dir()
	if p, err := e.roots.Resolve(wd, "."); err == nil {
		e.dir = p.Name()
	}
	return nil
}

// wide says why a root is too wide to be meant, "" when it is not.
func wide(dir, home, state string) string {
	if h, err := filepath.EvalSymlinks(home); err == nil {
		home = h
	}
	switch {
	case filepath.Dir(dir) == dir:
		return "the whole file system"
	case dir == home:
		return "the home folder"
	case strings.HasPrefix(state+string(filepath.Separator), dir+string(filepath.Separator)):
		return "a parent of coedit's own state folder"
	}
	return ""
}

func (e *engine) serverOptions(user settings.Settings) lsp.Options {
	profiles := []profile.Profile{profile.Gopls()}
	names := make([]string, 0, len(user.Servers))
	for n := range user.Servers {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		s := user.Servers[n]
		p := profile.Custom(n, []string{s.Command}, s.Args, s.Files, any(s.InitializationOptions))
		profiles = slices.DeleteFunc(profiles, func(q profile.Profile) bool { return q.Name == n })
		profiles = append(profiles, p)
	}
	ms := func(n int) time.Duration { return time.Duration(n) * time.Millisecond }
	d := user.Diagnostics
	return lsp.Options{
		Roots: e.roots, Profiles: profiles, Source: e.disk, Log: e.log, Trusted: e.trusted,
		Limits: lsp.Limits{LoadedWait: ms(d.LoadedMs), IndexingWait: ms(d.IndexingMs), TotalWait: ms(d.TotalMs), Settle: ms(d.SettleMs)},
		Launch: func(ctx context.Context, p profile.Profile, root string) (lsp.Command, error) {
			return e.launch(ctx, user, p, root)
		},
	}
}

func (e *engine) trusted(root string) bool {
	return e.flags.Trust || settings.IsTrusted(e.folders.State, root)
}

// launch finds the executable of a server, or fetches it.
func (e *engine) launch(ctx context.Context, user settings.Settings, p profile.Profile, root string) (lsp.Command, error) {
	_, custom := user.Servers[p.Name]
	if p.Name == "gopls" && !custom {
		t, err := e.tools.Ensure(ctx, "gopls")
		if err != nil {
			return lsp.Command{}, err
		}
		return lsp.Command{Path: t.Path, Args: p.Command[1:]}, e.outside(root, t.Path)
	}
	name, err := lookPath(p.Command[0], e.cleanPath())
	if err != nil {
		return lsp.Command{}, fmt.Errorf("the command of servers.%s, %q, is not on PATH", p.Name, p.Command[0])
	}
	return lsp.Command{Path: name, Args: p.Command[1:]}, e.outside(root, name)
}

// outside refuses a program that lies in a root, be it by a link, unless that
// root is trusted.
func (e *engine) outside(root, name string) error {
	real, err := filepath.EvalSymlinks(name)
	if err == nil && !e.trusted(root) && e.inRoots(real) {
		return fmt.Errorf("%s lies in the workspace, which is not trusted; a person can run: coedit trust %s", name, root)
	}
	return nil
}

// cleanPath is PATH without relative folders and without those inside a root:
// a repository must not choose what is run (security rule T2).
func (e *engine) cleanPath() string {
	var out []string
	for _, dir := range filepath.SplitList(os.Getenv("PATH")) {
		real, err := filepath.EvalSymlinks(dir)
		if err != nil || !filepath.IsAbs(dir) || e.inRoots(real) {
			continue
		}
		out = append(out, dir)
	}
	return strings.Join(out, string(filepath.ListSeparator))
}

func (e *engine) inRoots(name string) bool {
	for _, r := range e.roots {
		if name == r.Dir() || strings.HasPrefix(name, r.Dir()+string(filepath.Separator)) {
			return true
		}
	}
	return false
}

// lookPath finds a program in the folders of path.
func lookPath(name, path string) (string, error) {
	if filepath.IsAbs(name) {
		return name, nil
	}
	if strings.ContainsRune(name, filepath.Separator) {
		return "", exec.ErrNotFound
	}
	for _, dir := range filepath.SplitList(path) {
		if p, err := exec.LookPath(filepath.Join(dir, name)); err == nil {
			return p, nil
		}
	}
	return "", exec.ErrNotFound
}

// session returns the session called name; "" is the one of this host and
// folder.
func (e *engine) session(name string) *session.Session {
	if name == "" {
		name = e.flags.Session
	}
	if name == "" {
		name = hostSession(e.dir)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if s := e.sessions[name]; s != nil {
		return s
	}
	sum := sha256.Sum256([]byte(name))
	o := session.Options{
		Name: name, Roots: e.roots, Dir: e.dir, Workspace: e.space,
		Rules:     permission.Rules{Mode: permission.Mode(e.flags.PermissionMode), Private: []string{e.folders.State, e.folders.Cache, e.folders.Config}},
		Held:      e.held,
		StateFile: filepath.Join(e.folders.State, "sessions", hex.EncodeToString(sum[:8])+".json"),
	}
	if e.servers != nil {
		o.Servers = e.servers
	}
	s := session.New(o)
	e.sessions[name] = s
	return s
}

// hostSession names the session of the process that started coedit, so that a
// host which restarts coedit finds its read state again, and another process
// of the same number does not.
func hostSession(dir string) string {
	return fmt.Sprintf("%s from %d, %s", dir, os.Getppid(), startOf(os.Getppid()))
}

// close ends the servers and keeps the read states.
func (e *engine) close() error {
	var errs []error
	e.mu.Lock()
	list := make([]*session.Session, 0, len(e.sessions))
	for _, s := range e.sessions {
		list = append(list, s)
	}
	e.mu.Unlock()
	for _, s := range list { // before the servers: they may be opening documents
		errs = append(errs, s.Close())
	}
	if e.watcher != nil {
		e.stop()
		e.pushing.Wait()
		errs = append(errs, e.watcher.Close(), os.RemoveAll(e.cookies))
	}
	if e.servers != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		errs = append(errs, e.servers.Close(ctx))
	}
	return errors.Join(append(errs, e.disk.Close())...)
}
