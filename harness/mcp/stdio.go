package mcp

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxJunk is how many bytes a server may print between two messages that are no
// message, such as the greeting of a program that logs to its standard output.
const maxJunk = 1 << 20

var errDeaf = errors.New("it asks and does not take the answers")

// stdio is the transport of a server that is a process.
type stdio struct{ *process }

var (
	_ sdk.Transport  = stdio{}
	_ sdk.Connection = stdio{}
)

// Connect returns the connection, which is there since the process is.
func (s stdio) Connect(context.Context) (sdk.Connection, error) { return s, nil }

// SessionID is empty: a process has one session.
func (s stdio) SessionID() string { return "" }

// Read returns the next message. A line that is none is passed over.
func (s stdio) Read(context.Context) (jsonrpc.Message, error) {
	for {
		line, err := s.line()
		if err != nil {
			return nil, err
		}
		if len(line) > 0 && line[0] == '{' {
			if m, err := jsonrpc.DecodeMessage(line); err == nil {
				s.junk = 0
				if _, unasked := m.(*jsonrpc.Request); unasked {
					s.pace.wait(1, s.quit)
				}
				return m, nil
			}
		}
		if s.junk += len(line) + 1; s.junk > maxJunk {
			return nil, fmt.Errorf("the server's standard output is not MCP: %s", clip(string(line), 80))
		}
		if len(line) > 0 {
			fmt.Fprintf(s.stderr, "[on standard output: %s]\n", clip(string(line), 200))
		}
	}
}

// Write sends a message. A server that asks and does not read the answers is of
// no use any more.
func (s stdio) Write(ctx context.Context, m jsonrpc.Message) error {
	if _, answer := m.(*jsonrpc.Response); answer {
		defer s.unread.Add(-1)
		if s.unread.Add(1) > maxUnread {
			fmt.Fprintf(s.stderr, "\n[%v]", errDeaf)
			_ = s.Close()
			return errDeaf
		}
	}
	data, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		return fmt.Errorf("encode a message: %w", err)
	}
	return s.send(ctx, data)
}

// line reads a line of the standard output. One that is too long is an error.
func (p *process) line() ([]byte, error) {
	var line []byte
	for {
		piece, err := p.lines.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case len(line) > maxMessage:
			return nil, fmt.Errorf("the server sent a message of more than %d bytes", maxMessage)
		case err == bufio.ErrBufferFull:
			continue
		case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, os.ErrClosed):
			return nil, io.EOF
		case err != nil && len(line) == 0:
			return nil, err
		}
		return bytes.TrimSpace(line), nil
	}
}

// send writes a message. If ctx is done when a part of it is written, the
// connection is of no use any more and is closed.
func (p *process) send(ctx context.Context, message []byte) error {
	select {
	case p.writing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { <-p.writing }()
	expired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(expired)
		_ = p.stdin.SetWriteDeadline(time.Unix(1, 0))
	})
	n, err := p.stdin.Write(append(message, '\n'))
	if !stop() {
		<-expired
		_ = p.stdin.SetWriteDeadline(time.Time{})
	}
	if err != nil && (n > 0 || ctx.Err() == nil) {
		_ = p.Close()
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
