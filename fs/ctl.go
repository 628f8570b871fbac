package fs

import (
	"bytes"
	"context"
	"time"
	"unicode/utf8"
)

const maxLine = 8 << 10 // bytes of a command

// Ctl is a file of commands. Reading gives a state, as a [Value] does. Each line
// that is written is a command and runs at once, in order; the first that fails
// ends its write and is its error: the lines before it have run, the rest of
// that write is dropped. A last line without a newline is kept and runs when the
// newline comes, at Sync or at Close. Offsets and sizes mean nothing, and a
// write that succeeds has taken everything.
type Ctl struct {
	Mode FileMode // 0: 0660
	// State gives what a reader sees, and when it last changed; nil: nothing.
	State func(ctx context.Context, who *Identity) ([]byte, time.Time, error)
	// Run runs a line: valid UTF-8 of at most 8 KiB, without its newline, not
	// empty. It does not wait for what it starts.
	Run func(ctx context.Context, who *Identity, line string) error
}

var (
	_ Viewer = (*Ctl)(nil)
	_ Opener = (*Ctl)(nil)
)

// Stat describes the state as someone without rights sees it; see StatFor.
func (c *Ctl) Stat(ctx context.Context) (Info, error) { return c.StatFor(ctx, nobody) }

// StatFor describes the state as who sees it.
func (c *Ctl) StatFor(ctx context.Context, who *Identity) (Info, error) {
	info, err := c.value().StatFor(ctx, who)
	info.Mode = modeOr(c.Mode, 0o660)
	return info, err
}

func (c *Ctl) value() *Value { return &Value{Get: c.State} }

// Open opens the file; the state that is read is that of now.
func (c *Ctl) Open(ctx context.Context, who *Identity, how Flags) (Handle, error) {
	if how&Write != 0 && c.Run == nil {
		return nil, Errorf(Permission, "the file takes no commands")
	}
	h := &ctlHandle{ctl: c, who: who, lines: lines{max: maxLine, over: Errorf(TooBig,
		"a command is a line of at most %d bytes; a longer text needs a file of its own", maxLine)}}
	if how&Read == 0 {
		return h, nil
	}
	var err error
	h.state, _, err = c.value().get(ctx, who)
	return h, err
}

type ctlHandle struct {
	ctl   *Ctl
	who   *Identity
	state []byte
	lines lines
}

func (h *ctlHandle) Read(_ context.Context, p []byte, off int64) (int, error) {
	return readAt(h.state, p, off), nil
}

func (h *ctlHandle) Write(ctx context.Context, p []byte, _ int64) (int, error) {
	if err := h.lines.write(p, h.run(ctx)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// run is what is done with a line.
func (h *ctlHandle) run(ctx context.Context) func([]byte) error {
	return func(line []byte) error {
		if !utf8.Valid(line) || bytes.IndexByte(line, 0) >= 0 {
			return Errorf(Invalid, "a command is UTF-8 text without NUL")
		}
		return h.ctl.Run(settled(ctx), h.who, string(line))
	}
}

func (h *ctlHandle) Sync(ctx context.Context) error { return h.lines.flush(h.run(ctx)) }

func (h *ctlHandle) Truncate(context.Context, int64) error { return nil }

func (h *ctlHandle) Close() error { return h.Sync(context.Background()) }
