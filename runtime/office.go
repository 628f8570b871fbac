package runtime

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"unicode/utf8"

	"mikan/wire"
)

// Local is the built-in platform: offices that a person makes with mkdir.
const Local = "local"

// Address is who a conversation is: a platform and the platform's raw id.
type Address struct {
	Platform       string
	ConversationID string
}

var platformName = regexp.MustCompile(`^[a-z][a-z0-9]{0,15}$`)

// NewAddress checks the parts of an address.
func NewAddress(platform, conversationID string) (Address, error) {
	a := Address{platform, conversationID}
	if !platformName.MatchString(platform) {
		return a, fmt.Errorf("platform %q: want a lower-case letter and at most 15 letters and digits", platform)
	}
	if conversationID == "" || conversationID == "." || conversationID == ".." || !utf8.ValidString(conversationID) ||
		strings.ContainsFunc(conversationID, func(r rune) bool {
			return r == '/' || r == '\\' || r <= 0x1f || r >= 0x7f && r <= 0x9f
		}) {
		return a, fmt.Errorf("conversation %q: an id has no slash, no control character and is not only dots", conversationID)
	}
	return a, nil
}

// String is the address as it stands in the tree: platform/conversation.
func (a Address) String() string { return a.Platform + "/" + wire.EscapeName(a.ConversationID) }

// OfficeKey is where a conversation's data lies: the same name in the
// workspace, the state directory and every sandbox. It cannot be reversed.
type OfficeKey string

var (
	notReadable = regexp.MustCompile(`[^a-z0-9]+`)
	officeKey   = regexp.MustCompile(`^v1-[a-z][a-z0-9]{0,15}-[a-z0-9]+(?:-[a-z0-9]+)*-[a-f0-9]{16}$`)
)

// Key derives the key of a: a readable hint, and a digest that decides.
func (a Address) Key() OfficeKey {
	readable := strings.Trim(notReadable.ReplaceAllString(strings.ToLower(a.ConversationID), "-"), "-")
	readable = strings.TrimRight(readable[:min(len(readable), 32)], "-")
	if readable == "" {
		readable = "conversation"
	}
	sum := sha256.Sum256([]byte("office-address-v1\x00" + a.Platform + "\x00" + a.ConversationID))
	return OfficeKey("v1-" + a.Platform + "-" + readable + "-" + hex.EncodeToString(sum[:8]))
}

// IsOfficeKey reports whether name has the form of a key.
func IsOfficeKey(name string) bool { return officeKey.MatchString(name) }

// Office is one conversation's layout. It is a value that never changes.
type Office struct {
	Address Address
	Key     OfficeKey

	Dir         string // the agent's working directory, files/ in the tree
	Memory      string // MEMORY.md
	Skills      string // skills/
	Attachments string // attachments/
	Log         string // log.jsonl, a copy for the agent

	State     string // what the agent never sees
	Settings  string // settings.json
	HooksPath string // hooks.json: what holds without an answer
	ToolsPath string // tools.json: what clients have added
	Sessions  string // sessions.db
	Home      string // HOME and TMPDIR of its commands on this host
	Archived  string // there if the office is archived
}

// Workspace is where all offices lie: what agents may see under Root, what they
// never see under StateDir.
type Workspace struct {
	Root     string
	StateDir string

	Memory string // MEMORY.md, shared by all offices
	Skills string // skills/
	Agents string // agents/

	registry *Registry
}

// NewWorkspace makes the workspace of two directories, which must lie apart:
// neither may hold the other.
func NewWorkspace(root, stateDir string) (*Workspace, error) {
	root, state, err := apart(root, stateDir)
	if err != nil {
		return nil, err
	}
	return &Workspace{
		Root: root, StateDir: state,
		Memory: filepath.Join(root, "MEMORY.md"), Skills: filepath.Join(root, "skills"), Agents: filepath.Join(root, "agents"),
		registry: NewRegistry(state),
	}, nil
}

// apart resolves both directories and refuses one inside the other.
func apart(root, state string) (string, string, error) {
	r, err := resolve(root)
	if err != nil {
		return "", "", err
	}
	s, err := resolve(state)
	if err != nil {
		return "", "", err
	}
	if contains(r, s) || contains(s, r) {
		return "", "", fmt.Errorf("workspace %s and state directory %s: neither may lie inside the other; choose another --workspace or --state-dir", r, s)
	}
	return r, s, nil
}

// resolve is the real path of a directory, whose last elements may not exist
// yet.
func resolve(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", err
	}
	if real, err := filepath.EvalSymlinks(abs); err == nil {
		return real, nil
	} else if !errors.Is(err, os.ErrNotExist) {
		return "", err
	}
	parent, err := resolve(filepath.Dir(abs))
	return filepath.Join(parent, filepath.Base(abs)), err
}

func contains(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}

// Office returns the layout of a conversation; nothing is made.
func (w *Workspace) Office(a Address) *Office {
	key := a.Key()
	dir, state := filepath.Join(w.Root, string(key)), filepath.Join(w.StateDir, "conversations", string(key))
	return &Office{
		Address: a, Key: key,
		Dir: dir, Memory: filepath.Join(dir, "MEMORY.md"), Skills: filepath.Join(dir, "skills"),
		Attachments: filepath.Join(dir, "attachments"), Log: filepath.Join(dir, "log.jsonl"),
		State: state, Settings: filepath.Join(state, "settings.json"), HooksPath: filepath.Join(state, "hooks.json"), ToolsPath: filepath.Join(state, "tools.json"), Sessions: filepath.Join(state, "sessions.db"),
		Home: filepath.Join(state, "home"), Archived: filepath.Join(state, archivedMark),
	}
}

// Archived reports whether the office with a key is archived.
func Archived(stateDir string, key OfficeKey) bool {
	_, err := os.Lstat(filepath.Join(stateDir, "conversations", string(key), archivedMark))
	return err == nil
}

// archivedMark is the file that an archived office has in its state.
const archivedMark = "archived"

// Ensure makes an office's directories. The registry has the record before
// there is a directory, so that no directory is ever unaccounted for.
func (w *Workspace) Ensure(ctx context.Context, o *Office) error {
	if err := w.registry.Add(ctx, o.Address); err != nil {
		return err
	}
	for _, dir := range []string{o.Dir, o.State, o.Home} {
		if err := ensureDir(dir); err != nil {
			return err
		}
	}
	return nil
}

// ensureDir makes dir, or checks that it is a directory and no link.
func ensureDir(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err == nil || !errors.Is(err, os.ErrExist) {
		return err
	}
	info, err := os.Lstat(dir)
	if err == nil && !info.IsDir() {
		err = fmt.Errorf("%s is in the way: want a directory", dir)
	}
	return err
}
