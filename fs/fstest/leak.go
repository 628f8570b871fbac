package fstest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// leakTime is how long what ends by itself may take to end.
const leakTime = 5 * time.Second

// Main runs the tests of a package and ends the process. It fails if they leave a
// goroutine or an open file behind.
func Main(m *testing.M) {
	before := openFiles()
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		if left := leftOpen(before); code == 0 && len(left) > 0 {
			fmt.Fprintf(os.Stderr, "the tests have left files open: %v\n", left)
			code = 1
		}
		os.Exit(code)
	}))
}

// openFiles are the files that this process has open, and how often; none where
// there is no /proc. Those of Go's runtime are left out: it opens them when it
// first needs them.
func openFiles() map[string]int {
	files := map[string]int{}
	fds, _ := filepath.Glob("/proc/self/fd/*")
	for _, fd := range fds {
		name, err := os.Readlink(fd)
		if err == nil && !strings.HasPrefix(name, "anon_inode:[event") && !strings.HasPrefix(name, "/proc/") {
			files[name]++
		}
	}
	return files
}

// leftOpen waits until no more is open than before, and gives what then is.
func leftOpen(before map[string]int) map[string]int {
	for deadline := time.Now().Add(leakTime); ; time.Sleep(10 * time.Millisecond) {
		now := openFiles()
		maps.DeleteFunc(now, func(name string, n int) bool { return n <= before[name] })
		if len(now) == 0 || time.Now().After(deadline) {
			return now
		}
	}
}
