package models

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// lockAgain is how long to wait before a lock that another process has is tried
// again.
const lockAgain = 25 * time.Millisecond

// authFile is an auth.json that is locked against other processes, until close.
type authFile struct {
	name   string // as the state directory has it
	target string // the file itself, if name is a symbolic link
	lock   *os.File
	next   *os.File // what replaces it, made early: a login must not be renewed that cannot be kept
}

// openAuth locks an auth.json by a file beside it, and waits as long as ctx
// allows.
func openAuth(ctx context.Context, name string) (*authFile, error) {
	target, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil, err
	}
	f := &authFile{name: name, target: target}
	if f.lock, err = os.OpenFile(target+".lock", os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600); err != nil {
		return nil, err
	}
	if err := flock(ctx, f.lock); err != nil {
		f.close()
		return nil, fmt.Errorf("lock %s: %w", f.lock.Name(), err)
	}
	if f.next, err = os.CreateTemp(filepath.Dir(target), ".auth.json.*"); err != nil {
		f.close()
		return nil, err
	}
	return f, nil
}

// flock locks f, unless ctx ends before.
func flock(ctx context.Context, f *os.File) error {
	again := time.NewTicker(lockAgain)
	defer again.Stop()
	for {
		err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if !errors.Is(err, syscall.EWOULDBLOCK) && !errors.Is(err, syscall.EINTR) {
			return err
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// close gives up the lock. The file of the lock stays: to remove it would let
// two processes lock two files.
func (f *authFile) close() {
	if f.next != nil {
		_ = f.next.Close()           // it was not needed
		_ = os.Remove(f.next.Name()) // and is not there if it was
	}
	_ = f.lock.Close()
}

// login reads the login of a provider.
func (f *authFile) login(id string) (*login, error) {
	auth, err := readAuth(f.name)
	if err != nil {
		return nil, err
	}
	c := auth[id]
	if c == nil || c.login == nil {
		return nil, fmt.Errorf("%s no longer has a login; reload, or log in again", f.name)
	}
	return c.login, nil
}

// replace puts the tokens that old was renewed to into the file, whole or not at
// all, and changes nothing else of it. What others have written to it meanwhile
// stays, and if that is another login nothing is done.
func (f *authFile) replace(id string, old, l login) error {
	data, _, err := readFile(f.target)
	if err != nil {
		return err
	}
	have, err := f.login(id)
	if err != nil || have.Refresh != old.Refresh {
		return err
	}
	if data, err = withTokens(f.name, data, id, l); err != nil {
		return err
	}
	if _, err := f.next.Write(data); err != nil {
		return err
	}
	if err := f.next.Sync(); err != nil {
		return err
	}
	if err := os.Rename(f.next.Name(), f.target); err != nil {
		return err
	}
	return syncDir(filepath.Dir(f.target))
}

func syncDir(name string) error {
	d, err := os.Open(name)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.Sync()
}

// withTokens is the text of an auth.json with other tokens in one entry, and the
// same byte for byte elsewhere.
func withTokens(name string, data []byte, id string, l login) ([]byte, error) {
	for _, member := range []struct {
		key   string
		value any
	}{{"expires", json.Number(strconv.FormatInt(int64(l.Expires), 10))}, {"refresh", l.Refresh}, {"access", l.Access}} {
		value, err := json.Marshal(member.value)
		if err != nil {
			return nil, err
		}
		if from, to, ok := valueAt(data, id, member.key); ok {
			data = bytes.Join([][]byte{data[:from], value, data[to:]}, nil)
			continue
		}
		from, _, ok := valueAt(data, id)
		if !ok || data[from] != '{' {
			return nil, fmt.Errorf("%s no longer has a login of %s", name, id)
		}
		data = bytes.Join([][]byte{data[:from+1], []byte(strconv.Quote(member.key) + ": "), value, []byte(", "), data[from+1:]}, nil)
	}
	// A key that was there twice, or in capitals, would hide the new one.
	auth, err := parseAuth(name, data)
	if err != nil {
		return nil, err
	}
	if c := auth[id]; c.login == nil || c.login.Access != l.Access || c.login.Refresh != l.Refresh || int64(c.login.Expires) != int64(l.Expires) {
		return nil, fmt.Errorf("%s has a key of the login of %s twice", name, id)
	}
	return data, nil
}

// valueAt is where in data the value at a path of keys stands.
func valueAt(data []byte, path ...string) (from, to int, ok bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	for _, step := range path {
		if !enter(d, step) {
			return 0, 0, false
		}
	}
	var value json.RawMessage
	if d.Decode(&value) != nil {
		return 0, 0, false
	}
	to = int(d.InputOffset())
	from = to - len(value)
	return from, to, bytes.Equal(data[from:to], value)
}
