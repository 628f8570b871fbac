package subagents

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"mikan/harness"
	"mikan/wire"
)

// judge says how the subagent ended.
func (k *child) judge(ctx context.Context, end harness.Ending) {
	r := &k.result
	r.Usage, r.Tokens, r.CostUSD = end.Usage, end.Usage.Total, end.Usage.Cost.Total
	r.Text = final(end.Final)
	switch cause := context.Cause(ctx); {
	case end.Outcome == wire.OK:
		k.complete()
	case end.Outcome == wire.OverBudget:
		k.end(BudgetExceeded, end.Err)
	case errors.Is(cause, errTime):
		k.end(Timeout, fmt.Errorf("%dms >= %dms limit", r.DurationMS, k.step.limits(k.profile).Duration.Milliseconds()))
	case cause != nil:
		k.end(Cancelled, cause)
	default:
		k.end(Failed, end.Err)
	}
}

// complete looks at the last words of a run that ended well.
func (k *child) complete() {
	switch text := strings.TrimSpace(k.result.Text); {
	case text == "":
		k.end(Failed, errors.New("it ended without a final text"))
	case k.step.schema == nil:
		k.end(Completed, nil)
	default:
		out, err := output(k.step.schema, text)
		if err != nil {
			k.end(InvalidOutput, err)
			return
		}
		k.result.Output = out
		k.end(Completed, nil)
	}
}

// end notes how the subagent ended, and why if it did not end well.
func (k *child) end(s Status, why error) Result {
	k.result.Status = s
	if why != nil {
		k.result.Error = oneLine(why.Error(), maxReason)
	}
	k.progress.set(k.i, func(l *line) { l.status, l.reason = s, k.result.Error })
	return k.result
}

// final is the text of the last message of an agent.
func final(msgs []wire.Message) string {
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].Role == wire.Assistant {
			return msgs[i].PlainText()
		}
	}
	return ""
}
