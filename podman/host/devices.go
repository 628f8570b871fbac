package host

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

// devices are the device files that bwrap shows: the machine's own.
var devices = []string{"/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"}

// guardDevices keeps what the calling thread starts from changing the devices'
// modes, which a command of a root daemon could, as their owner. They are as
// usable as before: a read-only mount does not keep a device from being written.
// It has to be done before bwrap, which cannot show one so.
//
// The thread gets a mount namespace of its own, and is of no other use from then
// on. What is unmounted outside is unmounted there, too, as far as it is shared.
func guardDevices() error {
	if os.Geteuid() != 0 {
		return nil
	}
	err := unix.Unshare(unix.CLONE_NEWNS)
	if errors.Is(err, unix.EPERM) {
		return nil // root of a container only, and the devices are not its own
	}
	if err == nil {
		err = unix.Mount("", "/", "", unix.MS_REC|unix.MS_SLAVE, "")
	}
	for _, dev := range devices {
		if _, statErr := os.Lstat(dev); err != nil || statErr != nil {
			continue
		}
		if err = unix.Mount(dev, dev, "", unix.MS_BIND, ""); err == nil {
			err = unix.Mount("", dev, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY|unix.MS_NOSUID|unix.MS_NOEXEC, "")
		}
	}
	if err != nil {
		return fmt.Errorf("make the devices read-only: %w", err)
	}
	return nil
}

// onThread calls f on a thread of its own, which ends with it.
func onThread(f func()) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() { // the first thread does not end
			onThread(f)
			runtime.UnlockOSThread()
			return
		}
		f()
	}()
	<-done
}
