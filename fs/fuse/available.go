package fuse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	device     = "/dev/fuse"
	fuseConf   = "/etc/fuse.conf"
	helperName = "fusermount3"
)

// Available reports whether this process can mount with opts; the error says
// what to do about it.
func Available(opts Options) error {
	fd, err := unix.Open(device, unix.O_RDWR|unix.O_CLOEXEC, 0)
	switch {
	case errors.Is(err, unix.ENOENT), errors.Is(err, unix.ENODEV), errors.Is(err, unix.ENXIO):
		return fmt.Errorf("%s is missing: load the module (modprobe fuse), or give the container the device", device)
	case errors.Is(err, unix.EACCES), errors.Is(err, unix.EPERM):
		return fmt.Errorf("%s may not be opened: as root, chmod 666 %s", device, device)
	case err != nil:
		return fmt.Errorf("open %s: %w", device, err)
	}
	_ = unix.Close(fd)
	if os.Geteuid() == 0 {
		return nil
	}
	if _, err := helper(); err != nil {
		return err
	}
	if conf, err := os.ReadFile(fuseConf); opts.AllowOther && (err != nil || !allowsOther(conf)) {
		return fmt.Errorf("other users cannot be let in: as root, add a line user_allow_other to %s", fuseConf)
	}
	return nil
}

// allowsOther looks for user_allow_other on a line by itself.
func allowsOther(conf []byte) bool {
	lines := bufio.NewScanner(bytes.NewReader(conf))
	for lines.Scan() {
		if strings.TrimSpace(lines.Text()) == "user_allow_other" {
			return true
		}
	}
	return false
}

// helper finds the set-user-id program that mounts for those who are not root.
func helper() (string, error) {
	for _, name := range []string{helperName, "/usr/bin/" + helperName, "/bin/" + helperName} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s is not installed: install the package fuse3, or run as root", helperName)
}
