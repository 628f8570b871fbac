package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"mikan/harness"
	"mikan/runtime/store"
	"mikan/wire"
)

const attachSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"path":{"type":"string","description":"The file, absolute or relative to the working directory"},` +
	`"title":{"type":"string","description":"What the file is called in the chat; its name if not given"}},` +
	`"required":["label","path"],"additionalProperties":false}`

// maxTitle is the longest title of a file, in bytes.
const maxTitle = 255

func attachTool(s *Session, computer harness.Computer, p store.Prompt) harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{
			Name: "attach",
			Description: "Send a file of the working directory to the chat, where people can open it. " +
				"What is only written to the working directory they do not see.",
			Schema: json.RawMessage(attachSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			var a struct {
				Path  string `json:"path"`
				Title string `json:"title"`
			}
			if err := json.Unmarshal(args, &a); err != nil {
				return harness.Result{}, fmt.Errorf("bad arguments: %w", err)
			}
			return attach(ctx, s, computer.Dir(), p, a.Path, a.Title)
		},
	}
}

// attach sends a file, named as the agent sees it, to the thread that the answer
// to p goes to. dir is the office's directory as the agent sees it.
func attach(ctx context.Context, s *Session, dir string, p store.Prompt, name, title string) (harness.Result, error) {
	file, err := below(dir, name)
	if err != nil {
		return harness.Result{}, err
	}
	if len(title) > maxTitle {
		return harness.Result{}, fmt.Errorf("bad arguments: title: it has at most %d bytes", maxTitle)
	}
	err = s.perform(ctx, wire.OpRequest{
		Op: "upload", File: file, Name: printable(path.Base(file)), Title: printable(title),
		Thread: p.Reply, Key: "attach-" + uuid.NewString(),
	})
	if err != nil {
		return harness.Result{}, fmt.Errorf("attach: %w", err)
	}
	return textResult("Sent " + printable(path.Base(file)) + " to the chat."), nil
}

// below is a name, as the agent sees it, from the office's directory dir on.
func below(dir, name string) (string, error) {
	switch {
	case name == "":
		return "", errors.New("bad arguments: path is missing")
	case strings.ContainsRune(name, 0):
		return "", errors.New("bad arguments: path holds a NUL character")
	case slices.Contains(strings.Split(name, "/"), ".."):
		return "", fmt.Errorf("bad arguments: path: %.200q: name the file without .. in it", name)
	}
	file := path.Clean(name)
	if !path.IsAbs(file) {
		return file, nil
	}
	file, ok := strings.CutPrefix(file, strings.TrimSuffix(dir, "/")+"/")
	if !ok {
		return "", fmt.Errorf("%.200q is not below the working directory %s; copy the file there first", name, dir)
	}
	return file, nil
}

// printable is s as one line of text, whose characters stand in their order.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.In(r, unicode.Zl, unicode.Zp, unicode.Bidi_Control) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(s, "_"))
}
