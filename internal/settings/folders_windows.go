package settings

import "io/fs"

func identity(fs.FileInfo) (dev, ino uint64) { return 0, 0 }

func private(string, fs.FileInfo) error { return nil }
