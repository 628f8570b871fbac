package runtime_test

import (
	"encoding/json"
	"strings"
	"testing"

	"mikan/wire"
)

func TestFault_P5_where_nobody_can_answer_policy_does_at_once(t *testing.T) {
	rt, s := hookLab(t)
	policyOf(t, rt, "timeout tool_call 10m", "timeout before_agent_start 10m")
	if got := answer(t, s, "$ echo done"); got != "done\n" { // within patience, which is less
		t.Errorf("optional: %q", got)
	}
	policyOf(t, rt, "require tool_call")
	if got := answer(t, s, "$ echo done"); !strings.Contains(got, "the hook tool_call must answer") {
		t.Errorf("required: %q", got)
	}
}

func TestFault_21_9_an_answer_is_one_record_however_it_came(t *testing.T) {
	rt, s := hookLab(t)
	text := strings.Repeat("many words ", 200)
	answer(t, s, text)
	data, err := client(t, rt).ReadFile(ctx(t), "offices/local/demo/log")
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for line := range strings.Lines(string(data)) {
		var r wire.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		list = append(list, r.User+" "+strings.TrimSpace(r.Text))
	}
	text = strings.TrimSpace(text)
	if len(list) != 2 || list[0] != "local:ann "+text || !strings.HasPrefix(list[1], "bot demo: "+text) {
		t.Errorf("%d records: %.300q", len(list), list)
	}
}
