package host

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// descriptors are the files that a child inherits, from descriptor 3 on.
type descriptors struct{ files []*os.File }

// add adds a file and returns its number in the child.
func (d *descriptors) add(f *os.File) int {
	d.files = append(d.files, f)
	return 2 + len(d.files)
}

func (d *descriptors) close() {
	for _, f := range d.files {
		f.Close()
	}
}

// pipes adds the two ends that bwrap gets, and returns ours: one to read its
// report, one to let its first process go on, by closing it.
func (d *descriptors) pipes() (report, release *os.File, err error) {
	report, theirs, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	d.add(theirs)
	theirs, release, err = os.Pipe()
	if err != nil {
		report.Close()
		return nil, nil, err
	}
	d.add(theirs)
	return report, release, nil
}

// shell adds a script, and returns the command line of the shell that reads it.
// The script is no argument of it, because arguments are every user's to see. It
// is sourced, so that $0 is the shell's and the standard input stays free, and
// begins with closing the descriptor that it came by: no child gets that. Shells
// know descriptors of one digit, so it is among the first to be added.
func (d *descriptors) shell(script string) ([]string, error) {
	fd, err := unix.MemfdCreate("script", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("keep the script: %w", os.NewSyscallError("memfd_create", err))
	}
	f := os.NewFile(uintptr(fd), "script")
	n := d.add(f)
	if _, err := fmt.Fprintf(f, "exec %d<&-; %s\n", n, script); err != nil {
		return nil, fmt.Errorf("keep the script: %w", err)
	}
	return []string{"/bin/sh", "-c", fmt.Sprintf(". /proc/self/fd/%d", n)}, nil
}
