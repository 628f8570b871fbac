package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"syscall"
	"time"
)

// A process must not use a mount that it serves, so whatever touches one here is
// a child: this binary with a job.
const jobVar = "MIKAN_BENCH_JOB"

var jobs = map[string]func(args []string) error{"cycle": cycle}

// cycle opens, reads and closes a file n times and prints the nanoseconds.
func cycle(args []string) error {
	n, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	buf := make([]byte, 4096)
	took, err := timed(n, func() error {
		fd, err := syscall.Open(args[0], syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		if _, err := syscall.Read(fd, buf); err != nil {
			return err
		}
		return syscall.Close(fd)
	})
	fmt.Print(took.Nanoseconds())
	return err
}

// cycles has a child do n cycles on a file.
func cycles(ctx context.Context, name string, n int) (time.Duration, error) {
	cmd := exec.CommandContext(ctx, "/proc/self/exe", name, strconv.Itoa(n))
	cmd.Env = append(os.Environ(), jobVar+"=cycle")
	cmd.Stderr = os.Stderr
	cmd.Dir = "/"
	out, err := cmd.Output()
	if err != nil {
		return 0, err
	}
	ns, err := strconv.ParseInt(string(out), 10, 64)
	return time.Duration(ns), err
}
