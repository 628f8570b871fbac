package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"mikan/fs"
	"mikan/fs/ninep"
)

// stateFlag says where the state directory is.
type stateFlag struct {
	StateDir string `help:"The state directory." type:"path" placeholder:"DIR" env:"MIKAN_STATE_DIR"`
}

// dir is the state directory: the flag, or ~/.mikan.
func (f stateFlag) dir() (string, error) {
	if f.StateDir != "" {
		return f.StateDir, nil
	}
	return inHome(".mikan")
}

func inHome(name string) (string, error) {
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("the home directory is not known (%w); name a directory with --state-dir and --workspace", err)
	}
	return filepath.Join(home, name), nil
}

// socketFlags say which daemon a client speaks to.
type socketFlags struct {
	Socket string `help:"The daemon's socket." type:"path" placeholder:"PATH" env:"MIKAN_SOCKET"`
	stateFlag
}

// path is the socket: --socket, $MIKAN_SOCKET, --state-dir, or the defaults.
func (f socketFlags) path() (string, error) {
	if f.Socket != "" {
		return f.Socket, nil
	}
	if f.StateDir == "" {
		if ns := namespaceSocket(); ns != "" {
			if _, err := os.Stat(ns); err == nil {
				return ns, nil
			}
		}
	}
	dir, err := f.dir()
	return socketIn(dir), err
}

// socketIn is the socket of the daemon with a state directory.
func socketIn(stateDir string) string { return filepath.Join(stateDir, "run", "9p") }

// namespaceSocket is where Plan 9 programs look for a service: $NAMESPACE/mikan,
// or nothing if NAMESPACE is not set.
func namespaceSocket() string {
	if ns := os.Getenv("NAMESPACE"); ns != "" {
		return filepath.Join(ns, "mikan")
	}
	return ""
}

// dial connects to the daemon.
func (f socketFlags) dial(ctx context.Context) (*fs.Client, error) {
	path, err := f.path()
	if err != nil {
		return nil, err
	}
	c, err := ninep.Dial(ctx, path)
	return c, noDaemon(path, err)
}

// noDaemon says what to do when nothing answers on a socket.
func noDaemon(path string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("no daemon: %s is not there; start one with \"mikan serve\", or name its --socket or --state-dir", path)
	}
	return fmt.Errorf("no daemon answers on %s: %w", path, err)
}
