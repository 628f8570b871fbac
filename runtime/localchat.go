package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mikan/fs"
	"mikan/runtime/store"
	"mikan/wire"
)

// localOps are the operations of the built-in platform.
var localOps = []string{"post", "upload", "history", "users"}

// The bounds of history on the built-in platform.
const (
	localHistory    = 20
	maxLocalHistory = 200
)

// localChat does an operation on the built-in platform, whose messages are the
// office's log.
func (c *Conversation) localChat(ctx context.Context, r wire.OpRequest) (*fs.Stream, error) {
	var a wire.OpAnswer
	var err error
	switch r.Op {
	case "post":
		a.TS, err = c.said(ctx, r, "")
	case "upload": // it is there already, and the log says where
		a.TS, err = c.localUpload(ctx, r)
	case "history":
		limit := min(max(r.Limit, 0), maxLocalHistory)
		if limit == 0 {
			limit = localHistory
		}
		err = c.use(ctx, func(db *store.DB) (err error) {
			a.Messages, err = db.History(ctx, limit, r.Oldest, r.Thread, r.Key)
			return err
		})
	case "users":
		err = c.use(ctx, func(db *store.DB) (err error) { a.Users, err = db.Users(ctx); return err })
	default:
		return nil, fs.Errorf(fs.NotSupported, "%s has no operation %s; it has %s", Local, r.Op, strings.Join(localOps, ", "))
	}
	if err != nil {
		return nil, err
	}
	line, err := json.Marshal(a)
	return fs.NewSettled(append(line, '\n'), nil), err
}

// localUpload records that a file of the office is shown to whoever reads along.
func (c *Conversation) localUpload(ctx context.Context, r wire.OpRequest) (ts string, err error) {
	f, _, err := c.openFile(r.File)
	if err != nil {
		return "", fmt.Errorf("upload: %w", err)
	}
	r.Text = uploaded(r)
	ts, err = c.said(ctx, r, "")
	return ts, errors.Join(err, f.Close())
}
