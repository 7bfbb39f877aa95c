//go:build unix

package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

func tContext() context.Context { return context.Background() }

// cmdDisk is what others do to files: disk write|create|rename_over NAME TEXT
// (a Go string or a file with @), unlink, rename, touch, utime, chmod, symlink,
// hardlink, mkfifo, absent, mode, link, temporaries.
func cmdDisk(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 1 {
		ts.Fatalf("usage: disk VERB NAME [ARGUMENT]")
	}
	verb := args[0]
	if verb == "temporaries" {
		noTemporaries(ts)
		return
	}
	name := ts.MkAbs(args[1])
	arg := ""
	if len(args) > 2 {
		arg = args[2]
	}
	text := func() []byte {
		if f, ok := strings.CutPrefix(arg, "@"); ok {
			return []byte(ts.ReadFile(f))
		}
		s, err := strconv.Unquote(arg)
		ts.Check(err)
		return []byte(s)
	}
	switch verb {
	case "write": // in place: the same inode
		ts.Check(os.MkdirAll(filepath.Dir(name), 0o755))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
		ts.Check(err)
		_, err = f.Write(text())
		ts.Check(err)
		ts.Check(f.Close())
	case "create":
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
		ts.Check(err)
		_, err = f.Write(text())
		ts.Check(err)
		ts.Check(f.Close())
	case "rename_over":
		ts.Check(os.WriteFile(name+".other", text(), 0o644))
		ts.Check(os.Rename(name+".other", name))
	case "unlink":
		ts.Check(os.Remove(name))
	case "rename":
		ts.Check(os.Rename(name, ts.MkAbs(arg)))
	case "touch":
		now := time.Now().Add(3 * time.Second)
		ts.Check(os.Chtimes(name, now, now))
	case "utime":
		at, err := time.Parse(time.RFC3339, arg)
		ts.Check(err)
		ts.Check(os.Chtimes(name, at, at))
	case "chmod":
		m, err := strconv.ParseUint(arg, 8, 32)
		ts.Check(err)
		ts.Check(os.Chmod(name, os.FileMode(m)))
	case "symlink":
		ts.Check(os.Symlink(arg, name))
	case "hardlink":
		ts.Check(os.Link(ts.MkAbs(arg), name))
	case "mkfifo":
		ts.Check(syscall.Mkfifo(name, 0o644))
	case "sparse":
		n, err := strconv.ParseInt(arg, 10, 64)
		ts.Check(err)
		ts.Check(os.Truncate(name, n))
	case "absent":
		if _, err := os.Lstat(name); err == nil {
			ts.Fatalf("%s is there", args[1])
		}
	case "mode":
		info, err := os.Stat(name)
		ts.Check(err)
		if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != arg {
			ts.Fatalf("mode of %s is %s, want %s", args[1], got, arg)
		}
	case "link":
		got, err := os.Readlink(name)
		ts.Check(err)
		if got != arg {
			ts.Fatalf("%s links to %q, want %q", args[1], got, arg)
		}
	default:
		ts.Fatalf("no verb %q", verb)
	}
}

// noTemporaries fails when coedit left a temporary file behind.
func noTemporaries(ts *testscript.TestScript) {
	ts.Check(filepath.WalkDir(ts.MkAbs("."), func(name string, d os.DirEntry, err error) error {
		if err == nil && strings.HasPrefix(d.Name(), ".coedit-") {
			return fmt.Errorf("%s was left behind", name)
		}
		return err
	}))
}

// cmdFakeLog puts what the scripted server received on stdout.
func cmdFakeLog(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) == 0 {
		fmt.Fprint(ts.Stdout(), ts.ReadFile("fake.log"))
		return
	}
	want, err := regexp.Compile(args[0])
	ts.Check(err)
	for deadline := time.Now().Add(10 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		b, _ := os.ReadFile(ts.MkAbs("fake.log"))
		if want.Match(b) {
			return
		}
		if time.Now().After(deadline) {
			ts.Fatalf("the server never received %s; it received:\n%s", args[0], b)
		}
	}
}
