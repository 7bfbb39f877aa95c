package settings

import "os"

func openPlain(name string) (*os.File, error) { return os.Open(name) }
