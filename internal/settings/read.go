package settings

import (
	"errors"
	"fmt"
	"io"
)

var errNotRegular = errors.New("is not a regular file")

// readRegular reads a regular file of at most limit bytes.
func readRegular(name string, limit int64) ([]byte, error) {
	f, err := openPlain(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotRegular
	}
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(b)) > limit {
		err = fmt.Errorf("is larger than %d bytes", limit)
	}
	return b, err
}
