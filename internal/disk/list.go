package disk

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/fnv"
	"io/fs"
	"os"
	"path"
	"strings"
	"syscall"
	"time"

	"coedit/document"
)

// maxListed bounds the files of one listing.
const maxListed = 100_000

// skipped folders hold no source that anyone edits, and very many files.
var skipped = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// List returns the regular files at and below the name rel of root, "." for
// all of it. Folders of version control and node_modules are left out. Links to
// folders are not followed; those to files in the root are listed with the
// state of the file. It is not complete past 100,000 files and where a folder
// could not be read. Files that coedit staged and left behind when it was
// killed are removed.
func (d *Disk) List(ctx context.Context, root document.Root, rel string) (document.Listing, error) {
	p, err := root.Resolve(".")
	if err != nil {
		return document.Listing{}, err
	}
	r, err := d.root(p)
	if err != nil {
		return document.Listing{}, err
	}
	l := lister{disk: d, root: r, files: map[string]uint64{}, now: time.Now()}
	if err := l.from(ctx, rel); err != nil && !errors.Is(err, errFull) {
		return document.Listing{}, err
	} else if err != nil {
		l.partly = true
	}
	return document.Listing{Files: l.files, Links: l.links, Folders: l.folders, Young: l.young, Complete: !l.partly}, nil
}

type lister struct {
	disk    *Disk
	root    *os.Root
	files   map[string]uint64
	links   []string
	folders []string
	young   []string
	now     time.Time
	partly  bool // something could not be read
}

var errFull = errors.New("too many files")

// from lists the file or folder called rel, unless a folder above it is one
// that is left out, or a link.
func (l *lister) from(ctx context.Context, rel string) error {
	if rel == "." {
		return l.list(ctx, rel)
	}
	parts := strings.Split(rel, "/")
	for i := range parts {
		name := strings.Join(parts[:i+1], "/")
		info, err := l.root.Lstat(name)
		switch {
		case err != nil:
			l.partly = l.partly || !gone(err)
			return nil
		case i == len(parts)-1 && !info.IsDir():
			return l.file(fs.FileInfoToDirEntry(info), name)
		case !info.IsDir() || skipped[parts[i]]:
			return nil
		}
	}
	return l.list(ctx, rel)
}

// gone reports whether err says that there is no such file.
func gone(err error) bool { return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) }

func (l *lister) list(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := l.root.Open(dir)
	if err != nil {
		l.partly = l.partly || !gone(err)
		return nil
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	l.partly = l.partly || err != nil && !gone(err)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case !e.IsDir():
			err = l.file(e, name)
		case !skipped[e.Name()]:
			err = l.list(ctx, name)
		default:
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// file takes in one name that is no folder.
func (l *lister) file(e fs.DirEntry, name string) error {
	link := e.Type()&fs.ModeSymlink != 0
	if temporaryName(e.Name()) {
		l.sweep(e, name)
		return nil
	}
	if !link && !e.Type().IsRegular() {
		return nil
	}
	if len(l.files) >= maxListed {
		return errFull
	}
	info, err := e.Info()
	if err == nil && link {
		if info, err = l.root.Stat(name); err == nil && info.IsDir() {
			l.folders = append(l.folders, name)
		}
		if err != nil || !info.Mode().IsRegular() {
			return nil // to a folder, to nowhere, or out of the root
		}
		l.links = append(l.links, name)
	}
	if err != nil {
		l.partly = l.partly || !gone(err)
		return nil
	}
	st := stampOf(info)
	l.files[name] = st.sum(info)
	if st.young(l.now, st.tick()) {
		l.young = append(l.young, name)
	}
	return nil
}

// abandoned is how old a staged file is that no process is still about to put
// in place: that takes milliseconds.
const abandoned = time.Minute

// sweep removes a staged file that a process which was killed left behind. Its
// text is in no document: the change was never made.
func (l *lister) sweep(e fs.DirEntry, name string) {
	if info, err := e.Info(); err == nil && info.Mode().IsRegular() && l.now.Sub(info.ModTime()) > abandoned {
		_ = l.root.Remove(name) // the next listing tries again
	}
}

// Skipped reports whether folders called base are left out of listings.
func Skipped(base string) bool { return skipped[base] }

// Temporary reports whether base is a name that coedit gives a staged file.
func Temporary(base string) bool { return temporaryName(base) }

// temporaryName reports whether name is one that coedit gives a staged file.
func temporaryName(name string) bool {
	id, ok := strings.CutPrefix(name, TempPrefix)
	id, ok2 := strings.CutSuffix(id, TempSuffix)
	_, err := hex.DecodeString(id)
	return ok && ok2 && len(id) == 16 && err == nil
}

// tick is how long the file system may give two writes the same time: its
// times have whole seconds, or those of the kernel's clock.
func (s stamp) tick() time.Duration {
	if s.mtime.Nanosecond() == 0 {
		return young
	}
	return 20 * time.Millisecond
}

func (s stamp) sum(info fs.FileInfo) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, v := range []uint64{uint64(s.size), uint64(s.mtime.UnixNano()), s.inode(), changed(s, info)} {
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	return h.Sum64()
}
