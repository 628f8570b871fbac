package host

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"golang.org/x/sys/unix"
)

// Mode says how commands are confined.
type Mode int

// The modes.
const (
	Auto       Mode = iota // Bubblewrap where it works, else None
	Bubblewrap             // each command in namespaces of its own
	None                   // an ordinary process: the office is trusted
)

// String returns the mode's name.
func (m Mode) String() string {
	switch m {
	case Auto:
		return "auto"
	case Bubblewrap:
		return "bubblewrap"
	case None:
		return "none"
	}
	return fmt.Sprintf("mode %d", int(m))
}

// defaultTimeout ends a command that names no time-out of its own.
const defaultTimeout = 10 * time.Minute

// Config is what an office may see and do on this host. Paths are absolute.
type Config struct {
	// Files is the office's working directory. It must be there.
	Files string
	// Home is a private directory of the office outside Files: the commands'
	// HOME, with TMPDIR in it. It is made if missing.
	Home string
	// ReadOnly and Writable are further directories and regular files that the
	// office may see. One that is missing when a command starts is left out. One
	// inside a writable directory must lie directly in it, and must be there
	// before a command runs: only a mount keeps the agent from moving it away.
	ReadOnly, Writable []string
	// Hidden must never be seen: the daemon's state, its mount. It is covered up
	// where a system directory would show it, and New refuses an office whose
	// directories hold it. Home may lie inside. What stands there is not looked
	// at: of its own mount the daemon would ask itself, and if it is killed
	// meanwhile, the kernel waits for an answer before it lets it go.
	Hidden []string
	// Confine is the mode; Auto probes with [Confinement], which starts a
	// process: whoever makes many computers asks once and says the answer here.
	Confine Mode
	// Timeout ends a command that has no time-out; 0 means 10 minutes.
	Timeout time.Duration
}

// Computer runs the commands and holds the files of one office. It keeps
// nothing open between calls, and any number of calls may run at once.
type Computer struct {
	files, home string
	areas       []*area // the deepest first
	hidden      []string
	mode        Mode
	bwrap       string // path of bwrap(1), for mode Bubblewrap
	timeout     time.Duration
	large       lookedAt
}

// New returns the computer of an office. It also marks the descriptors that the
// daemon inherited as not to be inherited further.
func New(cfg Config) (*Computer, error) {
	keepInherited()
	cfg.Hidden = located(cfg.Hidden)
	if err := checkDir(cfg.Files); err != nil {
		return nil, fmt.Errorf("office's files: %w", err)
	}
	areas, err := newAreas(cfg)
	if err != nil {
		return nil, err
	}
	c := &Computer{
		files: canonical(cfg.Files), home: canonical(cfg.Home), areas: areas,
		hidden: cfg.Hidden, mode: cfg.Confine, timeout: cmp.Or(cfg.Timeout, defaultTimeout),
	}
	if inside(c.home, c.files) || inside(c.files, c.home) {
		return nil, fmt.Errorf("office's home %s and its files %s must lie apart", c.home, c.files)
	}
	if err := os.MkdirAll(c.home, 0o700); err != nil {
		return nil, fmt.Errorf("make the office's home: %w", err)
	}
	if err := c.choose(); err != nil {
		return nil, err
	}
	if c.mode == Bubblewrap {
		c.showLarge() // so that the first command does not wait for it
	}
	return c, nil
}

// choose settles the mode, and finds bwrap if it is wanted.
func (c *Computer) choose() error {
	if c.mode == Auto {
		ctx, cancel := context.WithTimeout(context.Background(), probeTime)
		defer cancel()
		c.mode, _ = Confinement(ctx)
	}
	if c.mode == None {
		return nil
	}
	path, err := exec.LookPath("bwrap")
	if err != nil {
		return fmt.Errorf("find bubblewrap: %w; install the package bubblewrap", err)
	}
	c.bwrap = path
	return nil
}

// Dir is the working directory: the office's files, links resolved.
func (c *Computer) Dir() string { return c.files }

// Mode is how commands are confined: Bubblewrap, or None for a trusted office.
func (c *Computer) Mode() Mode { return c.mode }

// tempDir is the commands' TMPDIR.
func (c *Computer) tempDir() string { return filepath.Join(c.home, tempName) }

// tempName is the directory in Home for temporary files.
const tempName = "tmp"

// environment is all that a command finds in its environment; nothing of the
// daemon's own is handed on.
func (c *Computer) environment() []string {
	return []string{
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=" + c.home,
		"TMPDIR=" + c.tempDir(),
		"LANG=C.UTF-8",
	}
}

// keepInherited keeps from our children what descriptors the daemon was itself
// started with, beyond the first three. Its own are so from the start.
func keepInherited() {
	_ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) // Linux 5.11
}

// makeTemp makes TMPDIR, which a command may have removed.
func (c *Computer) makeTemp() error {
	home, err := os.OpenRoot(c.home)
	if err != nil {
		return fmt.Errorf("office's home: %w", err)
	}
	defer home.Close()
	if err := home.Mkdir(tempName, 0o700); err != nil && !os.IsExist(err) {
		return fmt.Errorf("office's temporary directory: %w", err)
	}
	return nil
}

// checkDir reports why path is not an absolute path of a directory.
func checkDir(path string) error {
	if !filepath.IsAbs(path) {
		return fmt.Errorf("%q is not an absolute path", path)
	}
	fi, err := os.Stat(path)
	if err != nil {
		return err
	}
	if !fi.IsDir() {
		return fmt.Errorf("%s is not a directory", path)
	}
	return nil
}
