//go:build !linux

package disk

import (
	"io/fs"
	"time"
)

// Without the inode's change time a stamp is weaker, so its owner re-reads:
// an equal stamp with an mtime in the past is not proof here.
func stampOf(info fs.FileInfo) stamp {
	return stamp{size: info.Size(), mtime: info.ModTime(), ctime: time.Now()}
}

func (s stamp) inode() uint64 { return 0 }

// changed leaves the change time out: there is none here.
func changed(_ stamp, _ fs.FileInfo) uint64 { return 0 }

// young reports whether the file had changed less than d before now.
func (s stamp) young(now time.Time, d time.Duration) bool { return now.Sub(s.mtime) < d }
