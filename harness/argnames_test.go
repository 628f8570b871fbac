package harness

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mikan/wire"
)

// A hook sees the arguments that the tool will take, whatever case their names are
// in.
func TestNoArgumentPassesAHookInCapitals(t *testing.T) {
	s := newShell(t)
	b := newBench(Tools(s, nil),
		says(call("1", "bash", `{"label":"x","command":"true","COMMAND":"touch evil"}`)),
		says(call("2", "bash", `{"label":"x","Command":"touch evil"}`)),
		says(text("done")))
	var seen []string
	b.Hooks.Call = func(_ context.Context, c *wire.Part) error {
		var args map[string]string
		if err := json.Unmarshal(c.Arguments, &args); err != nil {
			return err
		}
		seen = append(seen, args["command"])
		if strings.Contains(args["command"], "touch") || len(args) != 2 {
			return errors.New("no")
		}
		return nil
	}
	if e := b.Do(t.Context()); e.Outcome != wire.OK {
		t.Errorf("%+v", e)
	}
	if got := strings.Join(seen, ", "); got != "true, touch evil" {
		t.Errorf("the hook saw %s", got)
	}
	if _, err := s.Open(t.Context(), "evil"); err == nil {
		t.Error("the command was run")
	}
}
