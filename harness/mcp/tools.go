package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"mikan/harness"
)

// tool is a tool of a server.
type tool struct {
	name string // as the server knows it
	spec harness.ToolSpec
}

const (
	maxPages       = 200            // of a listing
	maxListing     = 2 * maxMessage // bytes of all its pages
	maxDescription = 4 << 10        // bytes
	maxNotes       = 5              // of a listing
)

// list asks the server for its tools, and says what is wrong with some.
func (s *server) list(ctx context.Context, session *sdk.ClientSession) (list []tool, notes []string, err error) {
	c := catalogue{server: s.Name, secrets: s.secrets, names: map[string]bool{}}
	params := &sdk.ListToolsParams{}
	for range maxPages {
		page, err := unharmed(func() (*sdk.ListToolsResult, error) { return session.ListTools(ctx, params) })
		if err != nil && !offersTools(session) {
			return nil, nil, nil
		}
		if err != nil {
			return nil, nil, err
		}
		c.weigh(page)
		c.add(page.Tools)
		if page.NextCursor == "" || c.full {
			break
		}
		params = &sdk.ListToolsParams{Cursor: page.NextCursor}
	}
	return c.tools, c.notes, nil
}

// offersTools reports whether the server has said that it has tools.
func offersTools(session *sdk.ClientSession) bool {
	caps := session.InitializeResult().Capabilities
	return caps != nil && caps.Tools != nil
}

// catalogue gathers the tools of a server.
type catalogue struct {
	server  string
	secrets secrets
	names   map[string]bool
	tools   []tool
	notes   []string
	bytes   int // of the pages
	full    bool
}

// weigh sees to it that the pages do not fill the memory.
func (c *catalogue) weigh(page *sdk.ListToolsResult) {
	text, _ := json.Marshal(page) // it came as JSON
	if c.bytes += len(text); c.bytes > maxListing {
		c.full = true
		c.note("its list of tools has more than %d bytes; the rest is left out", maxListing)
	}
}

func (c *catalogue) add(list []*sdk.Tool) {
	for _, t := range list {
		if len(c.tools) == maxTools {
			c.full = true
			c.note("it has more than %d tools; the others are left out", maxTools)
			return
		}
		name := toolName(c.server, t.Name)
		if c.names[name] {
			c.note("it has two tools %.64q; the second is left out", t.Name)
			continue
		}
		schema, ok := fitSchema(t.InputSchema)
		if !ok {
			c.note("the schema of its tool %.64q has more than %d bytes; the tool is left out", t.Name, maxSchema)
			continue
		}
		c.names[name] = true
		c.tools = append(c.tools, tool{t.Name, harness.ToolSpec{Name: name, Description: clip(c.secrets.hideIn(describe(t)), maxDescription), Schema: schema}})
	}
}

func (c *catalogue) note(format string, args ...any) {
	if len(c.notes) < maxNotes {
		c.notes = append(c.notes, c.secrets.line(fmt.Sprintf(format, args...)))
	}
}

// describe is what a model is told of a tool. It is never empty, which some
// providers do not take.
func describe(t *sdk.Tool) string {
	for _, text := range []string{t.Description, t.Title, t.Name} {
		if text = strings.TrimSpace(strings.ToValidUTF8(text, "\uFFFD")); text != "" {
			return text
		}
	}
	return "A tool."
}

// size is how many bytes the tools take in a model call.
func size(list []tool) (n int) {
	for _, t := range list {
		n += len(t.spec.Name) + len(t.spec.Description) + len(t.spec.Schema)
	}
	return n
}
