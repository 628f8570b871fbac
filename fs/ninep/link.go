package ninep

import (
	"context"
	iofs "io/fs"
	"path"
	"strings"

	"mikan/fs"
)

// maxLinks bounds a chain of symbolic links.
const maxLinks = 16

// resolve hides a symbolic link, which 9P2000 does not know: it describes name
// in dir, whose own description is info, as what it leads to. A link that leads
// nowhere looks like a file without permissions, so that it can be removed.
//
// Only the description changes. The fid stands on the link, and what opens it
// or walks through it follows it.
func resolve(ctx context.Context, dir fs.Fid, name string, info fs.Info) fs.Info {
	if info.Mode&iofs.ModeSymlink == 0 {
		return info
	}
	target, err := follow(ctx, dir, name)
	if err != nil {
		info.Mode, info.Size = 0, 0
		return info
	}
	target.Name = info.Name
	return target
}

// follow describes what the symbolic link name in dir leads to.
func follow(ctx context.Context, dir fs.Fid, name string) (fs.Info, error) {
	at := name
	for range maxLinks {
		info, link, err := look(ctx, dir, at)
		if err != nil || info.Mode&iofs.ModeSymlink == 0 {
			return info, err
		}
		if path.IsAbs(link) {
			return fs.Info{}, fs.NotExist
		}
		at = path.Join(path.Dir(at), link)
	}
	return fs.Info{}, fs.Errorf(fs.Invalid, "more than %d symbolic links in a row", maxLinks)
}

// look describes the file at name, a path from dir, and reads it if it is a
// link.
func look(ctx context.Context, dir fs.Fid, name string) (info fs.Info, link string, err error) {
	f, err := dir.Walk(ctx, strings.Split(name, "/")...)
	if err != nil {
		return info, "", err
	}
	defer f.Clunk(ctx)
	info, err = f.Stat(ctx)
	if err == nil && info.Mode&iofs.ModeSymlink != 0 {
		link, err = f.Readlink(ctx)
	}
	return info, link, err
}
