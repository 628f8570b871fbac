package harness

import "mikan/wire"

// lost is the result of a call whose own result is nowhere.
const lost = "[no result: the run ended before this call's result was recorded; what the call did is not known]"

// Close returns the results that are missing at the end of a history whose run
// was cut short: an error result for each tool call of the last assistant
// message that has none, with why as its text. Appended to the history they are
// found by [Repair], whatever else stands between.
func Close(msgs []wire.Message, why string) []wire.Message {
	answered := map[string]int{}
	for i := len(msgs) - 1; i >= 0; i-- {
		switch msgs[i].Role {
		case wire.ToolResult:
			answered[msgs[i].ToolCallID]++
		case wire.Assistant:
			var missing []wire.Message
			for _, c := range msgs[i].Calls() {
				if answered[c.ID]--; answered[c.ID] < 0 {
					missing = append(missing, failure(c, why))
				}
			}
			return missing
		}
	}
	return nil
}

// Repair returns msgs as every provider takes them, which is how a run leaves
// them: directly after an assistant message stand the results of its tool
// calls, exactly one for each, in the order of the calls; ids are unique,
// arguments are objects, and no assistant message is empty. Results that belong
// to no call are dropped, missing ones made up. A history that is in order is
// returned as it is.
func Repair(msgs []wire.Message) []wire.Message {
	var out []wire.Message
	ids := map[string]bool{}
	for i := 0; i < len(msgs); i++ {
		switch msgs[i].Role {
		case wire.ToolResult: // taken up with its call, or an orphan
		case wire.Assistant:
			next := i + 1
			for next < len(msgs) && msgs[next].Role != wire.Assistant {
				next++
			}
			out = append(out, exchange(msgs[i], msgs[i+1:next], ids)...)
		default:
			out = append(out, msgs[i])
		}
	}
	return out
}

// exchange returns the assistant message m with its results, which it finds in
// after.
func exchange(m wire.Message, after []wire.Message, ids map[string]bool) []wire.Message {
	results := map[string][]wire.Message{}
	for _, r := range after {
		if r.Role == wire.ToolResult {
			results[r.ToolCallID] = append(results[r.ToolCallID], r)
		}
	}
	m.Content = presentable(m.Content)
	if len(m.Content) == 0 {
		return nil
	}
	out := []wire.Message{m}
	for i := range m.Content {
		c := &m.Content[i]
		if c.Type != wire.ToolCall {
			continue
		}
		was := c.ID
		c.ID, c.Name = freshID(c.ID, ids), toolName(c.Name)
		c.Arguments, _ = object(c.Arguments)
		r := missing(*c, m.Timestamp)
		if own := results[was]; len(own) > 0 {
			r, results[was] = own[0], own[1:]
		}
		r.ToolCallID, r.ToolName = c.ID, c.Name
		out = append(out, r)
	}
	return out
}

// missing makes up a result, the same one each time.
func missing(c wire.Part, at int64) wire.Message {
	r := failure(c, lost)
	r.Timestamp = at
	return r
}
