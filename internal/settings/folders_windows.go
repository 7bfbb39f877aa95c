package settings

import (
	"io/fs"
	"os"
	"syscall"
)

// identity is what tells one folder from another of the same name.
func identity(name string, _ fs.FileInfo) (dev, ino uint64) {
	p, err := syscall.UTF16PtrFromString(name)
	if err != nil {
		return 0, 0
	}
	h, err := syscall.CreateFile(p, 0, syscall.FILE_SHARE_READ|syscall.FILE_SHARE_WRITE|syscall.FILE_SHARE_DELETE, nil,
		syscall.OPEN_EXISTING, syscall.FILE_FLAG_BACKUP_SEMANTICS, 0)
	if err != nil {
		return 0, 0
	}
	defer syscall.CloseHandle(h)
	var d syscall.ByHandleFileInformation
	if syscall.GetFileInformationByHandle(h, &d) != nil {
		return 0, 0
	}
	return uint64(d.VolumeSerialNumber), uint64(d.FileIndexHigh)<<32 | uint64(d.FileIndexLow)
}

func private(dir string) error {
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		return &FolderError{dir, "is not a folder, or is a link, which is not followed", "remove it"}
	}
	return err
}

// lockFile: two answers about trust at one moment are one person's, and the
// later one holds.
func lockFile(string) (unlock func(), err error) { return func() {}, nil }

func ownedByUs(fs.FileInfo) bool { return true }
