package runtime

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// The names of the tools for tasks.
const (
	startTask  = "start_task"
	taskStatus = "task_status"
)

const startTaskSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"acknowledgement":{"type":"string","description":"What the chat is told at once: that you are at it, and what they will get"},` +
	`"task":{"type":"string","description":"What to do, in full: the task knows nothing of this conversation"}},` +
	`"required":["label","acknowledgement","task"],"additionalProperties":false}`

// startTask is the tool with which a run begins a background task.
func (s *Session) startTask(r *runner, now *run) harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{
			Name: startTask,
			Description: "Begin a background task: work that takes long and goes on by itself while this conversation goes on. " +
				"It must be the only call of your reply. The acknowledgement is sent to the chat at once, and the task answers there when it is done. " +
				"It survives a new session and a restart, and may cost up to USD 10 a run.",
			Schema: json.RawMessage(startTaskSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			if past := s.past(r); len(past) > 0 && len(past[len(past)-1].Calls()) > 1 {
				return harness.Result{}, errors.New("start_task must be the only call of its reply; nothing was started")
			}
			var a struct{ Acknowledgement, Task string }
			if err := json.Unmarshal(args, &a); err != nil {
				return harness.Result{}, fmt.Errorf("bad arguments: %w", err)
			}
			ack, task := strings.TrimSpace(a.Acknowledgement), strings.TrimSpace(a.Task)
			if ack == "" || task == "" {
				return harness.Result{}, errors.New("bad arguments: acknowledgement and task are needed")
			}
			t, err := s.c.begin(ctx, now, ack, task)
			if err != nil {
				return harness.Result{}, fmt.Errorf("no task was started: %w", err)
			}
			id := strings.TrimPrefix(t.name, wire.TaskPrefix)
			return textResult(fmt.Sprintf("Task %s has started, and the chat has your acknowledgement; do not repeat it. If there is nothing else to say, answer %s.", id, silentMark)), nil
		},
	}
}

const taskStatusSchema = `{"type":"object","properties":{` +
	`"label":{"type":"string","description":"What this is for, in a few words; shown to people"},` +
	`"id":{"type":"string","description":"The task's number; all if not given"}},` +
	`"required":["label"],"additionalProperties":false}`

// taskStatus is the tool with which a run sees how tasks stand.
func (s *Session) taskStatus() harness.Tool {
	return harness.Tool{
		ToolSpec: harness.ToolSpec{
			Name: taskStatus,
			Description: "See how background tasks stand: queued, running (and with which tool), done, failed, stopped or unknown. " +
				"Nothing else tells that; never guess it from the conversation.",
			Schema: json.RawMessage(taskStatusSchema),
		},
		Run: func(ctx context.Context, args json.RawMessage, _ func(string)) (harness.Result, error) {
			var a struct{ ID json.RawMessage } // models write a number, too
			if err := json.Unmarshal(args, &a); err != nil {
				return harness.Result{}, fmt.Errorf("bad arguments: %w", err)
			}
			id := strings.TrimPrefix(strings.Trim(string(a.ID), `"`), wire.TaskPrefix)
			list, err := s.c.observe(ctx, id)
			if err != nil {
				return harness.Result{}, err
			}
			text, err := wire.PlainJSON(map[string]any{"tasks": list})
			return textResult(string(text)), err
		},
	}
}
