package mcp

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command is the command of a server, in an environment made from nothing.
func command(c Config) (*exec.Cmd, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return nil, fmt.Errorf("find the home directory: %w", err)
	}
	path := os.Getenv("PATH")
	if own, ok := c.Env["PATH"]; ok {
		path = own
	}
	name, err := find(c.Command, path)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(name, c.Args...)
	cmd.Dir = home
	cmd.Env = []string{"PATH=" + path, "HOME=" + home, "LANG=C.UTF-8"}
	for name, value := range c.Env {
		cmd.Env = append(cmd.Env, name+"="+value) // of two, the last counts
	}
	return cmd, nil
}

// find is the file of a command.
func find(command, path string) (string, error) {
	if strings.Contains(command, "/") {
		return command, nil
	}
	for _, dir := range filepath.SplitList(path) {
		name := filepath.Join(dir, command)
		if info, err := os.Stat(name); filepath.IsAbs(dir) && err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return name, nil
		}
	}
	return "", fmt.Errorf("there is no command %s in PATH (%s)", command, path)
}
