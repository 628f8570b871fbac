package tree

import (
	goruntime "runtime"
	"sync"
	"weak"

	"mikan/fs"
)

// kept knows the directories of offices, or of other things, that have scratch.
// One lives while someone has a file of it, or it has scratch files: then it must
// not be made anew for a walk.
type kept[K comparable] struct {
	mu   sync.Mutex
	dirs map[K]weak.Pointer[fs.Dir]
}

func (k *kept[K]) dir(of K, build func() *fs.Dir) *fs.Dir {
	k.mu.Lock()
	defer k.mu.Unlock()
	if d := k.dirs[of].Value(); d != nil {
		return d
	}
	if k.dirs == nil {
		k.dirs = map[K]weak.Pointer[fs.Dir]{}
	}
	d := build()
	k.dirs[of] = weak.Make(d)
	goruntime.AddCleanup(d, k.forget, of)
	return d
}

func (k *kept[K]) forget(of K) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.dirs[of].Value() == nil {
		delete(k.dirs, of)
	}
}
