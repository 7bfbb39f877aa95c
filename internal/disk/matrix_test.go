//go:build long && unix

package disk

import (
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"coedit/document"
)

// TestPlanMatrix fails one, two, three and all system calls from each on, with
// each cause. While everything fails, temporary files can't be removed either,
// and a file written in place may be half: then the answer must say so.
func TestPlanMatrix(t *testing.T) {
	for _, cause := range []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EROFS, syscall.EDQUOT} {
		for _, count := range []int{1, 2, 3, 1 << 20} {
			t.Run(fmt.Sprintf("%v %d", cause, count), func(t *testing.T) {
				t.Parallel()
				for k := 1; ; k++ {
					p := runPlan(t, k, count, cause)
					when := fmt.Sprintf("%d calls from %d", count, k)
					var e *document.Error
					if !errors.As(p.err, &e) || !strings.Contains(e.Detail, "could not be restored") {
						p.check(t, when)
					}
					if count == 1 {
						p.clean(t, when)
					}
					if p.n < k {
						if p.err != nil {
							t.Errorf("without a fault: %v", p.err)
						}
						return
					}
				}
			})
		}
	}
}
