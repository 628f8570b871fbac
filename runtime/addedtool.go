package runtime

import (
	"context"
	"sync"
	"time"

	"mikan/fs"
	"mikan/wire"
)

// AddedTool is a tool that a client has added.
type AddedTool struct {
	Name   string
	Call   *fs.Service // its calls, for whoever serves it
	Bodies *fs.Bodies  // of the requests of Call

	tools *Tools

	mu   sync.Mutex
	kept toolRecord
}

func newAddedTool(of *Tools, kept toolRecord) *AddedTool {
	bodies := &fs.Bodies{}
	return &AddedTool{
		Name: kept.Name, Bodies: bodies, Call: &fs.Service{Of: of, Exclusive: true, Bodies: bodies},
		tools: of, kept: kept,
	}
}

func (t *AddedTool) record() toolRecord {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.kept
}

// schema is what the model is told of the tool, nil if nothing yet. It is not
// modified.
func (t *AddedTool) schema() *wire.ToolSchema { return t.record().Schema }

// served reports whether a client has the tool's file open, silent or not.
func (t *AddedTool) served() bool {
	return len(t.Call.Listeners()) > 0 || t.Call.Suspects() > 0
}

// SchemaText is the file schema and when it was written.
func (t *AddedTool) SchemaText() ([]byte, time.Time) {
	kept := t.record()
	if kept.Schema == nil {
		return nil, kept.ChangedAt
	}
	return kept.Schema.Text(), kept.ChangedAt
}

// SetSchema judges what the model is to be told of the tool, and keeps it over
// restarts. The runs that begin from now on are told.
func (t *AddedTool) SetSchema(ctx context.Context, data []byte) error {
	schema, err := wire.ParseToolSchema(data)
	if err != nil {
		return fs.Errorf(fs.Invalid, "%w", err)
	}
	return t.tools.change(ctx, func() error {
		if is, err := t.tools.Find(t.Name); err != nil || is != t {
			return fs.Errorf(fs.NotExist, "the tool %s has been removed", t.Name)
		}
		if err := t.tools.room(t, &schema); err != nil {
			return err
		}
		old := t.record()
		t.keep(toolRecord{Name: t.Name, Schema: &schema, ChangedAt: now()})
		err := t.tools.save()
		if err != nil {
			t.keep(old)
		}
		return err
	})
}

func (t *AddedTool) keep(r toolRecord) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.kept = r
}
