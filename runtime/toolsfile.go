package runtime

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"mikan/wire"
)

// toolsFile is the format of tools.json.
type toolsFile struct {
	Version int          `json:"version"`
	Tools   []toolRecord `json:"tools"`
}

// toolRecord is what is kept of a tool.
type toolRecord struct {
	Name      string           `json:"name"`
	Schema    *wire.ToolSchema `json:"schema,omitempty"` // none: the agent does not have it yet
	ChangedAt time.Time        `json:"changedAt,omitzero"`
}

// loadTools reads the tools that a file keeps for an office or a desk.
func loadTools(path string, of any) *Tools {
	t := &Tools{path: path, of: of, editing: make(chan struct{}, 1), open: map[string]*AddedTool{}}
	if err := t.load(); err != nil {
		t.broken = fmt.Errorf("%w; mend the file or remove it, and start the daemon again", err)
	}
	return t
}

func (t *Tools) load() error {
	data, ok, err := readState(t.path)
	if err != nil || !ok {
		return err
	}
	file := toolsFile{Version: 1}
	if err := wire.DecodeJSON(t.path, data, &file); err != nil {
		return err
	}
	if file.Version != 1 {
		return fmt.Errorf("%s: version %d is not known to this program", t.path, file.Version)
	}
	for _, r := range file.Tools {
		err := wire.CheckToolName(r.Name)
		if err == nil && r.Schema != nil {
			err = r.Schema.Check()
		}
		if err != nil {
			return fmt.Errorf("%s: %s: %w", t.path, r.Name, err)
		}
		t.open[r.Name] = newAddedTool(t, r)
	}
	return nil
}

// save writes the tools that there are.
func (t *Tools) save() error {
	names, err := t.Names()
	if err != nil {
		return err
	}
	file := toolsFile{Version: 1, Tools: []toolRecord{}}
	for _, name := range names {
		if tool, err := t.Find(name); err == nil {
			file.Tools = append(file.Tools, tool.record())
		}
	}
	data, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return err
	}
	return writeState(t.path, append(data, '\n'))
}

// forget ends all tools, and removes the file that keeps them.
func (t *Tools) forget() error {
	t.mu.Lock()
	for _, tool := range t.open {
		tool.Call.Close()
	}
	clear(t.open)
	t.mu.Unlock()
	return removeState(t.path)
}
