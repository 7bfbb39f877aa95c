package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"coedit/internal/provision"
	"coedit/internal/settings"
	"coedit/watcher"
)

type doctorCmd struct{}

// Run tells what was found and what is missing. It ends with status 1 when
// something is missing that the main job needs.
func (doctorCmd) Run(ctx context.Context, s streams) error {
	home, _ := os.UserHomeDir()
	folders, err := settings.FindFolders(os.Getenv, home, os.Getuid())
	if err != nil {
		return err
	}
	missing := false
	say := func(ok bool, what, text, fix string) {
		mark := "ok     "
		if !ok {
			mark, missing = "missing", true
		}
		fmt.Fprintf(s.out, "%s  %-8s %s\n", mark, what, shortHome(text, home))
		if !ok && fix != "" {
			fmt.Fprintf(s.out, "         fix:     %s\n", fix)
		}
	}
	fmt.Fprintln(s.out, "coedit", version)
	out, err := versionOf(ctx, "go", "version")
	say(err == nil, "go", out, "install Go 1.26 or later: https://go.dev/dl")
	out, err = versionOf(ctx, "git", "--version")
	say(err == nil, "git", out, "install git with your system's package manager")
	p := provision.New(provision.Options{Cache: folders.Cache, Path: os.Getenv("PATH")})
	if t, err := p.Find(ctx, "gopls"); err == nil {
		say(true, "gopls", fmt.Sprintf("%s (%s, from the %s)", t.Version, t.Path, t.From), "")
	} else {
		var m *provision.MissingError
		fix := "coedit demo installs it"
		if errors.As(err, &m) && m.Fix != "" {
			fix = m.Fix
		}
		say(false, "gopls", "not found: there are no diagnostics for Go without it", fix)
	}
	if _, err := settings.Load(filepath.Join(folders.Config, "settings.json")); err != nil {
		say(false, "settings", err.Error(), "mend the file, or remove it")
	} else {
		name := filepath.Join(folders.Config, "settings.json")
		if _, err := os.Stat(name); err != nil {
			name += " (none, so the defaults hold)"
		}
		say(true, "settings", name, "")
	}
	say(true, "watches", fmt.Sprintf("%d folders at most, a quarter of what the system allows you; above that files are looked at when a tool is called", watcher.Share()), "")
	fmt.Fprintln(s.out, "\nfolders:")
	for _, d := range []struct{ name, dir string }{{"config", folders.Config}, {"state", folders.State}, {"cache", folders.Cache}} {
		fmt.Fprintf(s.out, "  %-7s %8s  %s\n", d.name, size(d.dir), shortHome(d.dir, home))
	}
	if missing {
		return errors.New("something is missing; see above")
	}
	return nil
}

// shortHome keeps the home folder's name out of what people paste in reports.
func shortHome(text, home string) string {
	if home == "" || home == "/" {
		return text
	}
	return strings.ReplaceAll(text, home, "~")
}

func versionOf(ctx context.Context, name string, args ...string) (string, error) {
	b, err := exec.CommandContext(ctx, name, args...).Output()
	if err != nil {
		return "not found", err
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return line, nil
}

// size adds up the files below dir.
func size(dir string) string {
	var n int64
	err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if info, err := d.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return "none"
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
}

type cleanCmd struct {
	State bool `help:"Also forget what agents have read (they must read again)."`
}

// Run removes the cache, and the read states with --state.
func (c cleanCmd) Run(s streams) error {
	home, _ := os.UserHomeDir()
	folders, err := settings.FindFolders(os.Getenv, home, os.Getuid())
	if err != nil {
		return err
	}
	list := []string{folders.Cache}
	if c.State {
		list = append(list, filepath.Join(folders.State, "sessions"))
	}
	for _, dir := range list {
		n := size(dir)
		if err := os.RemoveAll(dir); err != nil {
			return err
		}
		fmt.Fprintf(s.out, "removed %s (%s)\n", shortHome(dir, home), n)
	}
	return nil
}

type trustCmd struct {
	Dir    string `arg:"" optional:"" help:"The folder; the working directory when there is none."`
	Remove bool   `help:"Take the trust back."`
	List   bool   `help:"List the trusted folders."`
}

// Run records that a person trusts a folder.
func (c trustCmd) Run(s streams) error {
	home, _ := os.UserHomeDir()
	folders, err := settings.FindFolders(os.Getenv, home, os.Getuid())
	if err != nil {
		return err
	}
	if os.Getenv("COEDIT") == "1" {
		return errors.New("trust is given by a person, not by a command that an agent runs (COEDIT=1 is set)")
	}
	if c.List {
		list, err := settings.Trusted(folders.State)
		for _, r := range list {
			fmt.Fprintln(s.out, r.Path)
		}
		return err
	}
	dir := c.Dir
	if dir == "" {
		dir = "."
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return err
	}
	if err := settings.SetTrust(folders.State, dir, !c.Remove, "command line"); err != nil {
		return err
	}
	word := "trusted"
	if c.Remove {
		word = "no longer trusted"
	}
	fmt.Fprintf(s.out, "%s is %s\n", dir, word)
	return nil
}
