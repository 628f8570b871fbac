package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// bin is the directory of the binary that is tested.
var bin string

func TestMain(m *testing.M) { os.Exit(testMain(m)) }

// testMain builds the program as the Makefile does and runs the tests.
func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "mikan-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	// Other users run it too.
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	build := exec.Command("go", "build", "-o", filepath.Join(dir, "mikan"), "mikan/cmd/mikan")
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-trimpath -buildvcs=false")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
		return 1
	}
	bin = dir
	return m.Run()
}
