package runtime

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"mikan/wire"
)

// Registry is the durable list of offices, office-registry.json: the only way
// back from a key to an address.
type Registry struct {
	path string
	lock string

	cache atomic.Pointer[registryCache]
}

// registryCache is what the file held when it had this stamp.
type registryCache struct {
	stamp     fileStamp
	known     map[Address]bool
	list      []Address // in order
	platforms []string  // in order
}

// registryFile is the format of office-registry.json.
type registryFile struct {
	Version int              `json:"version"`
	Offices []registryRecord `json:"offices"`
}

type registryRecord struct {
	Platform       string    `json:"platform"`
	ConversationID string    `json:"conversationId"`
	RecordedAt     time.Time `json:"recordedAt"`
}

// NewRegistry is the registry of a state directory.
func NewRegistry(stateDir string) *Registry {
	return &Registry{path: filepath.Join(stateDir, "office-registry.json"), lock: filepath.Join(stateDir, ".office-registry.lock")}
}

// List returns all addresses, by platform and id. The list is not modified.
func (r *Registry) List() ([]Address, error) {
	c, err := r.load()
	return c.list, err
}

// Platforms returns the platforms that have an office, in order. The list is not
// modified.
func (r *Registry) Platforms() ([]string, error) {
	c, err := r.load()
	return c.platforms, err
}

// Has reports whether an address is recorded.
func (r *Registry) Has(a Address) (bool, error) {
	c, err := r.load()
	return c.known[a], err
}

// Add records an address, if it is not yet.
func (r *Registry) Add(ctx context.Context, a Address) error {
	if has, err := r.Has(a); has || err != nil {
		return err
	}
	unlock, err := lockDir(ctx, r.lock)
	if err != nil {
		return fmt.Errorf("record office %s: %w", a, err)
	}
	defer unlock()
	file, err := r.read()
	if err != nil {
		return err
	}
	for _, rec := range file.Offices {
		if rec.Platform == a.Platform && rec.ConversationID == a.ConversationID {
			return nil
		}
	}
	file.Offices = append(file.Offices, registryRecord{a.Platform, a.ConversationID, time.Now().UTC().Truncate(time.Millisecond)})
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := writeState(r.path, append(data, '\n')); err != nil {
		return fmt.Errorf("record office %s: %w", a, err)
	}
	return nil
}

// load returns what is recorded, reading the file again if it has changed.
func (r *Registry) load() (*registryCache, error) {
	none := &registryCache{}
	stamp, err := stampOf(r.path)
	if err != nil {
		return none, err
	}
	if c := r.cache.Load(); c != nil && c.stamp == stamp {
		return c, nil
	}
	file, err := r.read()
	if err != nil {
		return none, err
	}
	c := &registryCache{stamp: stamp, known: make(map[Address]bool, len(file.Offices))}
	for _, rec := range file.Offices {
		c.known[Address{rec.Platform, rec.ConversationID}] = true
	}
	c.list = slices.SortedFunc(maps.Keys(c.known), func(a, b Address) int {
		return cmp.Or(cmp.Compare(a.Platform, b.Platform), cmp.Compare(a.ConversationID, b.ConversationID))
	})
	for _, a := range c.list {
		if n := len(c.platforms); n == 0 || c.platforms[n-1] != a.Platform {
			c.platforms = append(c.platforms, a.Platform)
		}
	}
	r.cache.Store(c)
	return c, nil
}

// read reads and checks the file.
func (r *Registry) read() (registryFile, error) {
	file := registryFile{Version: 1, Offices: []registryRecord{}}
	data, ok, err := readState(r.path)
	if err != nil || !ok {
		return file, err
	}
	if err := wire.DecodeJSON(r.path, data, &file); err != nil {
		return file, err
	}
	if file.Version != 1 {
		return file, fmt.Errorf("%s: version %d is not known to this program", r.path, file.Version)
	}
	seen := map[OfficeKey]bool{}
	for i, rec := range file.Offices {
		a, err := NewAddress(rec.Platform, rec.ConversationID)
		if err != nil {
			return file, fmt.Errorf("%s: record %d: %w", r.path, i+1, err)
		}
		if seen[a.Key()] {
			return file, fmt.Errorf("%s: record %d: %s is there twice", r.path, i+1, a)
		}
		seen[a.Key()] = true
	}
	return file, nil
}

// fileStamp tells whether a file has changed.
type fileStamp struct {
	ino, size, mtime, ctime int64
}

// stampOf is the zero stamp for a file that is not there.
func stampOf(path string) (fileStamp, error) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); errors.Is(err, syscall.ENOENT) {
		return fileStamp{}, nil
	} else if err != nil {
		return fileStamp{}, fmt.Errorf("stat %s: %w", path, err)
	}
	return fileStamp{int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano()}, nil
}

// The times of the registry's lock.
const (
	lockRetry   = 25 * time.Millisecond
	lockTimeout = 5 * time.Second
	lockStale   = 60 * time.Second // for a lock whose owner cannot be read
)

// lockDir takes the lock that a directory of this name is, and returns what
// gives it back. Other programs that know the state directory's format take it
// too; among daemons of this program there is never more than one.
func lockDir(ctx context.Context, dir string) (unlock func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, lockTimeout)
	defer cancel()
	var b [8]byte
	rand.Read(b[:])
	token := []byte(strconv.Itoa(os.Getpid()) + ":" + hex.EncodeToString(b[:]))
	owner := filepath.Join(dir, "owner")
	for {
		err := os.Mkdir(dir, 0o700)
		if err == nil {
			if err := os.WriteFile(owner, token, 0o600); err != nil {
				return nil, errors.Join(err, os.RemoveAll(dir))
			}
			return func() {
				if have, err := os.ReadFile(owner); err == nil && bytes.Equal(have, token) {
					os.RemoveAll(dir)
				}
			}, nil
		}
		if !errors.Is(err, os.ErrExist) {
			return nil, err
		}
		if dead, ok := abandoned(dir); ok && takeAway(dir, dead, hex.EncodeToString(b[:])) {
			continue
		}
		if sleep(ctx, lockRetry); ctx.Err() != nil {
			return nil, fmt.Errorf("%s is held by another process; remove it if none runs", dir)
		}
	}
}

// takeAway removes a lock whose owner is dead. Of two who see it only one does,
// and if a live lock has come in its place meanwhile, that is put back.
func takeAway(dir string, dead []byte, unique string) bool {
	gone := dir + "." + unique
	if os.Rename(dir, gone) != nil {
		return false
	}
	if have, _ := os.ReadFile(filepath.Join(gone, "owner")); !bytes.Equal(have, dead) && os.Rename(gone, dir) == nil {
		return false
	}
	os.RemoveAll(gone)
	return true
}

// abandoned reports whether the process that holds the lock is gone, and what
// the lock says of it.
func abandoned(dir string) (owner []byte, gone bool) {
	owner, err := os.ReadFile(filepath.Join(dir, "owner"))
	pid, _, _ := strings.Cut(string(owner), ":")
	n, bad := strconv.Atoi(pid)
	if err != nil || bad != nil || n <= 0 {
		info, err := os.Stat(dir)
		return owner, err == nil && time.Since(info.ModTime()) >= lockStale
	}
	return owner, errors.Is(syscall.Kill(n, 0), syscall.ESRCH)
}
