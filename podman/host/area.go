package host

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// area is a directory or a regular file that the office may see.
type area struct {
	path     string // canonical
	writable bool
	// within is the writable area that this one lies directly in, if any: then
	// the agent may have put anything in its place.
	within *area
}

// newAreas lays out what the office may see, the deepest first.
func newAreas(cfg Config) ([]*area, error) {
	var all []*area
	add := func(writable bool, paths ...string) {
		for _, p := range paths {
			all = append(all, &area{path: filepath.Clean(p), writable: writable})
		}
	}
	add(true, cfg.Files, cfg.Home)
	add(true, cfg.Writable...)
	add(false, cfg.ReadOnly...)

	slices.SortStableFunc(all, func(a, b *area) int { return cmp.Compare(len(a.path), len(b.path)) })
	given := make(map[*area]string)
	for i, a := range all {
		given[a] = a.path
		if err := a.place(all[:i], given); err != nil {
			return nil, err
		}
		for _, h := range cfg.Hidden {
			if inside(h, a.path) {
				return nil, fmt.Errorf("office's directory %s holds %s, which no office may see; move one of them", a.path, h)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b *area) int { return cmp.Compare(len(b.path), len(a.path)) })
	return all, nil
}

// place makes the area's path canonical. No link is followed below a writable
// one of the areas outside it: there, the link would be the agent's.
func (a *area) place(outer []*area, given map[*area]string) error {
	if !filepath.IsAbs(a.path) {
		return fmt.Errorf("office's directory %q is not an absolute path", a.path)
	}
	for _, o := range slices.Backward(outer) {
		switch {
		case a.path == given[o]:
			return fmt.Errorf("office's directory %s is listed twice", a.path)
		case !inside(a.path, given[o]):
			continue
		case !o.writable:
			a.path = canonical(a.path)
			return nil
		}
		if filepath.Dir(a.path) != given[o] {
			return fmt.Errorf("office's directory %s must lie directly in %s, which the agent can write", a.path, o.path)
		}
		a.within = o
		a.path = filepath.Join(o.path, filepath.Base(a.path))
		return nil
	}
	a.path = canonical(a.path)
	return nil
}

// root opens the directory that everything in the area is reached through, and
// says where in it the canonical path lies. It is never a directory whose own
// place the agent can change.
func (a *area) root(path string) (*os.Root, string, error) {
	for a.within != nil {
		a = a.within
	}
	dir := a.path
	if fi, err := os.Lstat(dir); err != nil || !fi.IsDir() {
		dir = filepath.Dir(dir) // the area is a file, or one to be made
	}
	r, err := os.OpenRoot(dir)
	if err != nil {
		return nil, "", err
	}
	rel, err := filepath.Rel(dir, path)
	if err != nil {
		r.Close()
		return nil, "", err
	}
	return r, rel, nil
}

// areaOf returns the deepest area that a canonical path lies in, or nil.
func (c *Computer) areaOf(path string) *area {
	for _, a := range c.areas {
		if inside(path, a.path) {
			return a
		}
	}
	return nil
}

// inside reports whether path is dir or below it. Both are clean.
func inside(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// canonical resolves the links of a path as far as it exists.
func canonical(path string) string {
	path = filepath.Clean(path)
	if real, err := filepath.EvalSymlinks(path); err == nil {
		return real
	}
	if dir := filepath.Dir(path); dir != path {
		return filepath.Join(canonical(dir), filepath.Base(path))
	}
	return path
}

// located makes paths canonical without touching what stands at them.
func located(paths []string) []string {
	list := make([]string, len(paths))
	for i, p := range paths {
		list[i] = locate(p)
	}
	return list
}

func locate(path string) string {
	for range maxLinks {
		path = filepath.Join(canonical(filepath.Dir(path)), filepath.Base(path))
		target, err := os.Readlink(path) // of a mount the kernel itself knows that it is none
		if err != nil {
			break
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return path
}
