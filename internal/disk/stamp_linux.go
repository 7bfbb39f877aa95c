package disk

import (
	"io/fs"
	"syscall"
	"time"
)

func stampOf(info fs.FileInfo) stamp {
	s := stamp{size: info.Size(), mtime: info.ModTime()}
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		s.ctime, s.ino, s.dev = time.Unix(st.Ctim.Unix()), st.Ino, st.Dev
	}
	return s
}

func (s stamp) inode() uint64 { return s.ino }

func changed(s stamp, _ fs.FileInfo) uint64 { return uint64(s.ctime.UnixNano()) }

// young reports whether the file had changed less than d before now.
func (s stamp) young(now time.Time, d time.Duration) bool {
	return now.Sub(s.mtime) < d || now.Sub(s.ctime) < d
}
