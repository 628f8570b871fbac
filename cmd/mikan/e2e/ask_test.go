package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"mikan/harness/modeltest"
	"mikan/wire"
)

var interrupt = os.Interrupt

// useModel makes a scripted server the model of this world.
func (w *world) useModel(s *modeltest.Server) {
	w.Helper()
	w.write(w.state+"/models.json", fmt.Sprintf(`{"providers":{"lab":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m"}]}}}`, s.URL))
	w.write(w.state+"/settings.json", `{"llm":{"provider":"lab","model":"m"}}`)
}

func TestAsk_exit_status_says_how_the_run_ended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	model := modeltest.NewOpenAI(t,
		modeltest.Turn{Text: "Two files."},
		modeltest.Turn{Status: 401, Body: `{"error":{"message":"Incorrect API key provided"}}`},
		modeltest.Turn{Text: "This is the beginning of a long answer that hangs.", HangAfter: 700},
		modeltest.Turn{Hang: true},
		modeltest.Turn{Text: "From the pipe."},
	)
	w.useModel(model)
	w.serve9P()
	w.mikan("mkdir", "offices/local/demo").ok(t)

	r := w.mikan("ask", "demo", "how", "many?").ok(t)
	want(t, "answer", r.out+r.err, "Two files.\n")

	r = w.mikan("ask", "local/demo", "again")
	if r.code != 1 {
		t.Errorf("a model that fails: exit %d, want 1", r.code)
	}
	wantAll(t, "its error", r.err, "mikan: ", "Incorrect API key provided")

	for _, stop := range []string{`mikan write offices/local/demo/ctl stop`, `kill -INT $PID`} {
		ask := w.start(`mikan ask demo wait & PID=$!; read -r; ` + stop + `; wait $PID; echo exit $?`)
		<-model.Hung()
		if _, err := ask.in.Write([]byte("\n")); err != nil {
			t.Fatal(err)
		}
		lines := ask.rest()
		if len(lines) == 0 || lines[len(lines)-1] != "exit 3" {
			t.Errorf("%s: %q, want exit 3", stop, lines)
		}
	}

	for _, args := range [][]string{{"ask"}, {"ask", "--no-such-flag", "demo", "x"}, {"aks", "demo"}} {
		if r := w.mikan(args...); r.code != 2 {
			t.Errorf("%q: exit %d, want 2", args, r.code)
		}
	}
	for _, c := range []struct {
		args []string
		why  string
	}{
		{[]string{"ask", "nobody", "hello"}, "lists the offices"},
		{[]string{"ask", "demo", "--session", "nowhere", "hello"}, "nowhere"},
		{[]string{"ask", "demo", "  "}, "empty"},
		{[]string{"ask", "demo"}, "empty"}, // standard input has nothing
	} {
		r := w.mikan(c.args...)
		if r.code != 5 || r.out != "" {
			t.Errorf("%q: exit %d, %q, want 5", c.args, r.code, r.out)
		}
		wantAll(t, strings.Join(c.args, " "), r.err, c.why)
	}
	want(t, "piped", w.must(`echo 'in the pipe' | mikan ask demo`), "From the pipe.\n")
	if left := model.Left(); left != 0 {
		t.Errorf("%d turns were not asked for", left)
	}
	for _, refused := range model.Refusals() {
		t.Error("the model refused:", refused)
	}
}

func TestAsk_json_prints_the_events_of_the_run(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve9P()
	w.mikan("mkdir", "offices/local/demo").ok(t)
	out := w.mikan("ask", "--json", "demo", "$ echo one").ok(t).out
	var types []string
	var seq uint64
	for line := range strings.Lines(out) {
		var e wire.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		if e.Office != "local/demo" || e.Session != "main" || e.Seq <= seq {
			t.Errorf("event %q does not belong here", line)
		}
		seq = e.Seq
		if len(types) == 0 || types[len(types)-1] != string(e.Type) {
			types = append(types, string(e.Type))
		}
	}
	got := strings.Join(types, " ")
	for _, part := range []string{"accepted message", "turn_start", "tool_call", "tool_result", "delta", "message_end", "settled"} {
		wantAll(t, "events", got, part)
	}
	if !strings.HasPrefix(got, "accepted ") || !strings.HasSuffix(got, " settled") {
		t.Errorf("events %s: want accepted first and settled last", got)
	}
}

func TestAsk_without_a_daemon_says_what_to_start(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.mikan("ask", "demo", "hello")
	if r.code == 0 {
		t.Error("exit 0")
	}
	wantAll(t, "error", r.err, "no daemon", "mikan serve")
}
