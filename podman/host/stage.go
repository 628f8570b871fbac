package host

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// staged is a file in the making: a temporary file in the directory of the one
// that it will replace.
type staged struct {
	name string   // as the agent called it
	root *os.Root // nil once committed or discarded
	temp string   // both below root
	rel  string
	f    *os.File
}

// stage makes the temporary file for rel, and takes over root if it can.
func stage(root *os.Root, rel string) (*staged, error) {
	old, err := root.Lstat(rel)
	if err == nil {
		err = regular(old)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	temp := filepath.Join(filepath.Dir(rel), ".mikan-"+rand.Text()+".tmp")
	f, err := root.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return nil, err
	}
	s := &staged{root: root, temp: temp, rel: rel, f: f}
	if old == nil {
		return s, nil
	}
	if err := keep(f, old); err != nil {
		f.Close()
		root.Remove(temp)
		return nil, err
	}
	return s, nil
}

// keep gives a file the owner, if possible, and the permissions of an old one.
func keep(f *os.File, old fs.FileInfo) error {
	if st, ok := old.Sys().(*syscall.Stat_t); ok && os.Geteuid() == 0 {
		_ = f.Chown(int(st.Uid), int(st.Gid)) // the content matters more
	}
	return f.Chmod(old.Mode().Perm())
}

// Write adds to the new content.
func (s *staged) Write(p []byte) (int, error) {
	n, err := s.f.Write(p)
	if err != nil {
		err = nameError("write", s.name, err)
	}
	return n, err
}

// Commit puts the new content in its place, on the disk, all at once. After an
// error the old content stands.
func (s *staged) Commit() error {
	if s.root == nil {
		return nameError("write", s.name, fs.ErrClosed)
	}
	defer s.Discard()
	if err := s.replace(); err != nil {
		return nameError("write", s.name, err)
	}
	return nil
}

// replace syncs the temporary file, gives it the name, and syncs the directory.
func (s *staged) replace() error {
	if err := s.f.Sync(); err != nil {
		return err
	}
	if err := s.root.Rename(s.temp, s.rel); err != nil {
		return err
	}
	s.temp = ""
	dir, err := s.root.OpenFile(filepath.Dir(s.rel), os.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.Sync()
}

// Discard drops the new content, if it was not committed.
func (s *staged) Discard() {
	if s.root == nil {
		return
	}
	s.f.Close()
	if s.temp != "" {
		s.root.Remove(s.temp)
	}
	s.root.Close()
	s.root = nil
}
