package host

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strings"

	"golang.org/x/sys/unix"
)

// maxLinks is how many symbolic links one name may lead through, as in the
// kernel.
const maxLinks = 40

// errOutside says that a name leads out of the areas.
var errOutside = errors.New("outside of what this office may see; use bash to read system files")

// errTemp says the same of /tmp, which the agent may well have written to.
var errTemp = errors.New("outside of what this office may see: each command has a /tmp of its own; use $TMPDIR")

// resolve finds the path without links that a name stands for, as the kernel
// would for a command, and the area it lies in. It follows the links inside the
// areas, and refuses a name that ends elsewhere. The answer may be stale when it
// is used; so it is used through the area's root only.
func (c *Computer) resolve(name string) (string, *area, error) {
	if err := checkName(name); err != nil {
		return "", nil, err
	}
	if !path.IsAbs(name) {
		name = c.files + "/" + name
	}
	done, todo := "/", strings.Split(name, "/")
	for links := 0; len(todo) > 0; {
		elem := todo[0]
		todo = todo[1:]
		next := path.Join(done, elem) // handles "", "." and ".."
		target, ok := c.readlink(next)
		if !ok {
			done = next
			continue
		}
		if links++; links > maxLinks {
			return "", nil, unix.ELOOP
		}
		if path.IsAbs(target) {
			done = "/"
		}
		todo = append(strings.Split(target, "/"), todo...)
	}
	a := c.areaOf(done)
	if a != nil {
		return done, a, nil
	}
	if c.mode == Bubblewrap && inside(done, "/tmp") {
		return "", nil, errTemp
	}
	return "", nil, errOutside
}

// readlink returns where a path leads if it is a link that lies in an area. What
// is above the areas has no links: their paths are canonical.
func (c *Computer) readlink(p string) (string, bool) {
	a := c.areaOf(p)
	if a == nil || a.within == nil && p == a.path {
		return "", false
	}
	root, rel, err := a.root(p)
	if err != nil {
		return "", false
	}
	defer root.Close()
	target, err := root.Readlink(rel)
	return target, err == nil
}

// checkName refuses what no file can be called.
func checkName(name string) error {
	switch {
	case name == "":
		return errors.New("the name is empty")
	case strings.IndexByte(name, 0) >= 0:
		return errors.New("the name holds a NUL byte")
	case len(name) >= unix.PathMax:
		return unix.ENAMETOOLONG
	}
	return nil
}

// nameError says what could not be done to the file of a name, whatever package
// os calls it.
func nameError(op, name string, err error) error {
	var pe *fs.PathError
	var le *os.LinkError
	switch {
	case errors.As(err, &pe):
		err = pe.Err
	case errors.As(err, &le):
		err = le.Err
	}
	return &fs.PathError{Op: op, Path: printable(name), Err: err}
}

// printable makes a hostile name fit for one line of an error.
func printable(name string) string {
	const most = 200
	if len(name) > most {
		return fmt.Sprintf("%q…", name[:most])
	}
	if strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return fmt.Sprintf("%q", name)
	}
	return name
}
