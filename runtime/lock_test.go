package runtime

import (
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// A process that a daemon was about to start when it was killed holds the lock a
// moment longer; one whose daemon lives holds it.
func TestLock_of_a_dead_daemon_is_waited_for(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	unlock, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	if _, err := Lock(dir); err == nil || !strings.Contains(err.Error(), "a daemon with pid") {
		t.Fatalf("while it is held: %v", err)
	}
	dead := exec.Command("true")
	if err := dead.Run(); err != nil {
		t.Fatal(err)
	}
	lock := filepath.Join(dir, "run", "lock")
	if err := os.WriteFile(lock, []byte(strconv.Itoa(dead.Process.Pid)), 0o600); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { unlock() })
	again, err := Lock(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := again(); err != nil {
		t.Error(err)
	}
}
