package subagents

import (
	"context"
	"encoding/json"
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// Name is the tool's name.
const Name = "subagent"

// Tool is the tool with which a run has subagents work for it. Its name,
// description and schema are the same bytes each time.
func Tool(p Parent) harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{Name: Name, Description: description, Schema: json.RawMessage(schema)},
		Run: func(ctx context.Context, args json.RawMessage, progress func(string)) (harness.Result, error) {
			return p.use(ctx, args, progress)
		},
	}
}

// use answers one call. An error is for a request that is wrong; whatever happens
// to the subagents stands in their results.
func (p Parent) use(ctx context.Context, args json.RawMessage, progress func(string)) (harness.Result, error) {
	steps, err := parse(args)
	if err != nil {
		return harness.Result{}, err
	}
	c, err := newCall(p, steps, progress)
	if err != nil {
		return harness.Result{}, err
	}
	text, err := shown(c.do(ctx))
	return harness.Result{Content: []wire.Part{wire.TextPart(string(text))}}, err
}

var description = func() string {
	s := "Have subagents work for you, and get their answers. " +
		"Each begins with an empty history and knows only what task, input and parentContext say. " +
		"Give exactly one of task (one subagent), tasks (up to 8 at the same time) and dag " +
		"(up to 8 nodes; each gets the results of its dependsOn, and is skipped if one fails). " +
		"Each may use 100 turns, 10 minutes, USD 10 and 1,000,000 tokens, counted as yours too. The profiles:"
	for _, p := range Builtin() {
		s += "\n- " + p.Name + ": " + p.Description
	}
	return s + "\nagents/<name>.md of the shared workspace change them and add more."
}()

// schema is written out, without references and alternatives, which not every
// provider takes.
var schema = func() string {
	one := func(more string) string {
		return `{"type":"object","properties":{` + more + assignmentSchema + `},"required":["task"],"additionalProperties":false}`
	}
	node := strings.Replace(one(`"id":{"type":"string","description":"1 to 64 letters, digits, _ and -"},`+
		`"dependsOn":{"type":"array","items":{"type":"string"},"description":"The ids of the nodes whose results this one needs"},`+
		`"label":`+labelSchema+`,`), `"required":["task"]`, `"required":["id","task"]`, 1)
	return `{"type":"object","properties":{"label":` + labelSchema + `,` + assignmentSchema + `,` +
		`"tasks":{"type":"array","maxItems":8,"description":"Tasks that do not depend on each other","items":` + one(`"label":`+labelSchema+`,`) + `},` +
		`"dag":{"type":"object","description":"Tasks of which some need the results of others","properties":{"nodes":{"type":"array","maxItems":8,"items":` + node + `}},"required":["nodes"],"additionalProperties":false}` +
		`},"required":["label"],"additionalProperties":false}`
}()

const labelSchema = `{"type":"string","description":"What this is for, in a few words; shown to people"}`

const assignmentSchema = `"task":{"type":"string","description":"What to do, in full: the subagent knows nothing else"},` +
	`"profile":{"type":"string","description":"Who does it; worker if not given"},` +
	`"input":{"type":"object","properties":{},"additionalProperties":true,"description":"Data for the task"},` +
	`"parentContext":{"type":"object","description":"Also give it the end of this conversation","properties":{` +
	`"mode":{"type":"string","enum":["normalized"]},"recentTurns":{"type":"integer","minimum":1,"maximum":8,"description":"3 if not given"}},"required":["mode"],"additionalProperties":false},` +
	`"outputSchema":{"type":"object","properties":{},"additionalProperties":true,"description":"A JSON Schema, without $ref; the final message must be exactly JSON that fits it"},` +
	`"budget":{"type":"object","description":"Allow it more than its profile does","properties":{"maxTokens":{"type":"integer","minimum":1}},"additionalProperties":false}`
