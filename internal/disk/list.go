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

	"coedit/document"
)

// maxListed bounds the files of one listing.
const maxListed = 100_000

// skipped folders hold no source that anyone edits, and very many files.
var skipped = map[string]bool{".git": true, ".hg": true, ".svn": true, "node_modules": true}

// List returns the regular files below root with a value that changes when
// size, times or inode do. Folders of version control and node_modules are
// left out, links are not followed; complete is false past 100,000 files.
func (d *Disk) List(ctx context.Context, root document.Root) (files map[string]uint64, complete bool, err error) {
	p, err := root.Resolve(".")
	if err != nil {
		return nil, false, err
	}
	r, err := d.root(p)
	if err != nil {
		return nil, false, err
	}
	files, complete = map[string]uint64{}, true
	if err := d.list(ctx, r, ".", files); errors.Is(err, errFull) {
		complete = false
	} else if err != nil {
		return nil, false, err
	}
	return files, complete, nil
}

var errFull = errors.New("too many files")

func (d *Disk) list(ctx context.Context, r *os.Root, dir string, files map[string]uint64) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	f, err := r.Open(dir)
	if err != nil {
		return nil // vanished or not ours to read: as if empty
	}
	entries, err := f.ReadDir(-1)
	f.Close()
	if err != nil {
		return nil
	}
	for _, e := range entries {
		name := path.Join(dir, e.Name())
		switch {
		case e.IsDir():
			if skipped[e.Name()] {
				continue
			}
			if err := d.list(ctx, r, name, files); err != nil {
				return err
			}
		case e.Type().IsRegular():
			if temporaryName(e.Name()) {
				continue
			}
			if len(files) >= maxListed {
				return errFull
			}
			if info, err := e.Info(); err == nil {
				files[name] = stampOf(info).sum(info)
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

func (s stamp) sum(info fs.FileInfo) uint64 {
	h := fnv.New64a()
	var b [8]byte
	for _, v := range []uint64{uint64(s.size), uint64(s.mtime.UnixNano()), s.inode(), changed(s, info)} {
		binary.LittleEndian.PutUint64(b[:], v)
		h.Write(b[:])
	}
	return h.Sum64()
}
