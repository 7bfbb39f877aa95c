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
	"time"

	"coedit/document"
)

// maxListed bounds the files of one listing.
const maxListed = 100_000

// skipped folders hold no source that anyone edits, and very many files.
var skipped = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// List returns the regular files below root with a value that changes when
// size, times or inode do. Folders of version control and node_modules are
// left out. Links to folders are not followed; those to files in the root are
// listed with the state of the file, and named in links. complete is false past
// 100,000 files and
// where a folder could not be read. A file that changed right before has
// another value the next time.
func (d *Disk) List(ctx context.Context, root document.Root) (files map[string]uint64, links []string, complete bool, err error) {
	p, err := root.Resolve(".")
	if err != nil {
		return nil, nil, false, err
	}
	r, err := d.root(p)
	if err != nil {
		return nil, nil, false, err
	}
	l := lister{disk: d, root: r, files: map[string]uint64{}, now: time.Now()}
	if err := l.list(ctx, "."); err != nil && !errors.Is(err, errFull) {
		return nil, nil, false, err
	} else if err != nil {
		l.partly = true
	}
	return l.files, l.links, !l.partly, nil
}

type lister struct {
	disk   *Disk
	root   *os.Root
	files  map[string]uint64
	links  []string
	now    time.Time
	partly bool // something could not be read
}

var errFull = errors.New("too many files")

func (l *lister) list(ctx context.Context, dir string) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := l.root.Open(dir)
	if err != nil {
		l.partly = l.partly || !errors.Is(err, fs.ErrNotExist)
		return nil
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	l.partly = l.partly || err != nil && !errors.Is(err, fs.ErrNotExist)
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if skipped[e.Name()] {
				continue
			}
			if err := l.list(ctx, name); err != nil {
				return err
			}
		case e.Type().IsRegular() && !temporaryName(e.Name()), e.Type()&fs.ModeSymlink != 0:
			if len(l.files) >= maxListed {
				return errFull
			}
			info, err := e.Info()
			if err == nil && !e.Type().IsRegular() {
				if info, err = l.root.Stat(name); err != nil || !info.Mode().IsRegular() {
					continue // to a folder, to nowhere, or out of the root
				}
				l.links = append(l.links, name)
			}
			if err != nil {
				l.partly = l.partly || !errors.Is(err, fs.ErrNotExist)
				continue
			}
			st := stampOf(info)
			l.files[name] = st.sum(info)
			if st.young(l.now, st.tick()) {
				l.files[name] ^= uint64(l.now.UnixNano())
			}
		}
	}
	return nil
}

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
