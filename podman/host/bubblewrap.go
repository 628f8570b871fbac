package host

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// isolation is what bwrap is always told. Descriptor 3 is where it reports, and
// at 4 it waits until its first process is held; the script is at 5.
//
// The user namespace takes all capabilities: what is mounted cannot be unmounted,
// and to uncover what lies below takes one that nothing inside can have. It does
// not take the user id. Where the daemon is root, a command is still root to each
// file that it sees, see [procArgs] and [guardDevices]: read-only mounts are all that keeps it from
// changing root's.
var isolation = []string{
	"--unshare-user", "--unshare-pid", "--unshare-ipc", "--unshare-uts",
	"--die-with-parent", "--new-session", "--cap-drop", "ALL",
	"--json-status-fd", "3", "--block-fd", "4",
}

// systemDirs are visible to every command, as far as they are there.
var systemDirs = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"}

// startTime is how long bwrap may take to make its first process.
const startTime = 10 * time.Second

// startConfined starts a command under bwrap. It spoils the thread, see
// [guardDevices].
func (c *Computer) startConfined(script string, out *output) (*group, error) {
	var fds descriptors
	defer fds.close()
	report, release, err := fds.pipes()
	if err != nil {
		return nil, err
	}
	defer release.Close() // when its first process is held, or never will be
	shell, err := fds.shell(script)
	if err != nil {
		report.Close()
		return nil, err
	}
	args, err := c.arguments(&fds)
	if err == nil {
		err = guardDevices()
	}
	if err != nil {
		report.Close()
		return nil, err
	}
	cmd := exec.Command(c.bwrap, slices.Concat(args, []string{"--"}, shell)...)
	cmd.Dir = "/"
	cmd.ExtraFiles = fds.files
	g, err := startGroup(cmd, c.environment(), out)
	if err != nil {
		report.Close()
		return nil, err
	}
	fds.close()
	g.status = report
	if g.init, err = firstProcess(report); err != nil {
		g.kill()
		g.cmd.Wait()
		g.close()
		return nil, fmt.Errorf("bubblewrap made no namespaces: %w; what it says stands in the standard error", err)
	}
	return g, nil
}

// firstProcess reads bwrap's report of the namespace's first process and returns
// a pidfd of it. That process waits to be let go, so its number is not yet
// another's.
func firstProcess(report *os.File) (pidfd int, err error) {
	if err := report.SetReadDeadline(time.Now().Add(startTime)); err != nil {
		return -1, err
	}
	line, err := bufio.NewReaderSize(report, 512).ReadSlice('\n')
	if err != nil {
		return -1, err
	}
	var first struct {
		Pid int `json:"child-pid"`
	}
	if err := json.Unmarshal(line, &first); err != nil || first.Pid <= 0 {
		return -1, fmt.Errorf("unknown report %q", line)
	}
	fd, err := unix.PidfdOpen(first.Pid, 0)
	if err != nil {
		return -1, os.NewSyscallError("pidfd_open", err)
	}
	return fd, nil
}

// reported reports whether bwrap has seen the command end: that it had started
// it, that is. bwrap itself has ended.
func reported(status *os.File) bool {
	var end struct {
		Code *int `json:"exit-code"`
	}
	if err := status.SetReadDeadline(time.Now().Add(grace)); err != nil {
		return false
	}
	line, err := io.ReadAll(io.LimitReader(status, 512))
	return err == nil && json.Unmarshal(line, &end) == nil && end.Code != nil
}

// arguments are bwrap's, up to the command. Sources are given as descriptors,
// opened as every file of the office is, because bwrap would follow a link.
func (c *Computer) arguments(fds *descriptors) ([]string, error) {
	args := slices.Clone(isolation)
	args = append(args, systemArgs()...)
	args = append(args, procArgs()...)
	args = append(args, "--dev", "/dev", "--tmpfs", "/tmp")
	args = append(args, c.coverArgs(fds)...)
	for _, a := range slices.Backward(c.areas) {
		f, err := a.source()
		switch {
		case err == nil:
		case errors.Is(err, fs.ErrNotExist) && a.within == nil && a.path != c.files && a.path != c.home:
			continue
		default:
			return nil, nameError("show", a.path, err)
		}
		bind := "--ro-bind-fd"
		if a.writable {
			bind = "--bind-fd"
		}
		args = append(args, bind, strconv.Itoa(fds.add(f)), a.path)
	}
	return append(args, "--chdir", c.files), nil
}

// source opens what is to be mounted.
func (a *area) source() (*os.File, error) {
	root, rel, err := a.root(a.path)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	f, err := root.OpenFile(rel, os.O_RDONLY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	fi, err := f.Stat()
	if err == nil && !fi.IsDir() {
		err = regular(fi)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// systemArgs show the system directories, laid out as they are here, merged into
// /usr or not, and the resolver's configuration, which may lie elsewhere.
func systemArgs() []string {
	var args []string
	for _, dir := range systemDirs {
		fi, err := os.Lstat(dir)
		if err != nil {
			continue
		}
		if target, err := os.Readlink(dir); err == nil {
			args = append(args, "--symlink", target, dir)
		} else if fi.IsDir() {
			args = append(args, "--ro-bind", dir, dir)
		}
	}
	const resolver = "/etc/resolv.conf"
	if real, err := filepath.EvalSymlinks(resolver); err == nil && real != resolver {
		args = append(args, "--ro-bind", real, real)
	}
	return args
}
