package host

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// probeTime is how long New tries whether bubblewrap works.
const probeTime = 10 * time.Second

// Confinement says which mode commands can have on this host, and why in words
// for the operator; if it is None, with what to do about it. It tries it out:
// one command that does nothing, confined as every command is.
func Confinement(ctx context.Context) (mode Mode, why string) {
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return None, "bwrap is not installed; install the package bubblewrap"
	}
	if why := probe(ctx, path); why != "" {
		return None, why
	}
	return Bubblewrap, "commands run under " + path
}

// probe returns why bwrap cannot confine a command here, or nothing.
func probe(ctx context.Context, path string) string {
	dir, err := os.Open("/etc")
	if err != nil {
		return err.Error()
	}
	defer dir.Close()
	null, err := os.OpenFile(os.DevNull, os.O_RDWR, 0)
	if err != nil {
		return err.Error()
	}
	defer null.Close()

	// As for a command, but that nobody reads bwrap's report or holds it up.
	args := slices.Clone(isolation)
	args = append(args, systemArgs()...)
	args = append(args, procArgs()...)
	args = append(args, "--dev", "/dev", "--tmpfs", "/tmp", "--ro-bind-fd", "5", "/tmp/probe", "--", "/bin/sh", "-c", ":")
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.ExtraFiles = []*os.File{null, null, dir}
	cmd.Env = []string{}
	cmd.Dir = "/"
	cmd.WaitDelay = time.Second
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Run(); err != nil {
		return fmt.Sprintf("%s does not work: %s; %s", path, said(stderr.String(), err), advice(stderr.String()))
	}
	return ""
}

// said is the first line of what bwrap said, or else the error of its end.
func said(stderr string, err error) string {
	line, _, _ := strings.Cut(strings.TrimSpace(stderr), "\n")
	line = strings.TrimPrefix(line, "bwrap: ")
	if line == "" {
		return err.Error()
	}
	return line
}

// advice is what to do about bwrap's message.
func advice(stderr string) string {
	switch {
	case strings.Contains(stderr, "Unknown option"):
		return "update the package bubblewrap: it must know --bind-fd (0.11, or your distribution's security update)"
	case strings.Contains(stderr, "/proc"):
		return "in a container, allow it to mount /proc (docker run --security-opt systempaths=unconfined)"
	default:
		return "allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone, or the AppArmor profile bwrap-userns-restrict)"
	}
}
