package runtime_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"mikan/adapters/fake"
	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/wire"
)

// greeter is an MCP server in shell, with a tool that greets. The file whose name
// it is given lasts as long as it lives.
const greeter = `trap 'rm -f "$0"' EXIT
touch "$0"
while read -r line; do
	id=${line#*'"id":'}; id=${id%%[,\}]*}
	case $line in
	*'"method":"initialize"'*) r='"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"greeter","version":"1"},"capabilities":{"tools":{}}}' ;;
	*'"method":"tools/list"'*) r='"result":{"tools":[{"name":"hello","description":"Greet someone.","inputSchema":{"type":"object","properties":{"who":{"type":"string"}}}}]}' ;;
	*'"method":"tools/call"'*) r='"result":{"content":[{"type":"text","text":"Hello!"}]}' ;;
	*'"id":'*) r='"error":{"code":-32601,"message":"method not found"}' ;;
	*) continue ;;
	esac
	echo '{"jsonrpc":"2.0","id":'$id,$r'}'
done`

// mcpLab is a lab whose offices have the greeter, and a scripted model.
type mcpLab struct {
	*lab
	model  *modeltest.Server
	marker string // the file that there is while the greeter lives
}

func newMCPLab(t *testing.T, script ...modeltest.Turn) *mcpLab {
	l := &mcpLab{lab: newLab(t), model: modeltest.NewOpenAI(t, script...), marker: filepath.Join(t.TempDir(), "alive")}
	l.write("models.json", fmt.Sprintf(`{"providers":{"lab":{"baseUrl":%q,"api":"openai-completions","apiKey":"k","models":[{"id":"m"}]}}}`, l.model.URL))
	l.settings("", "greeter")
	return l
}

// settings gives the daemon the greeter under some names, with more keys.
func (l *mcpLab) settings(more string, names ...string) {
	l.write("settings.json", l.settingsText(more, names...))
}

func (l *mcpLab) settingsText(more string, names ...string) string {
	var servers []string
	for _, name := range names {
		args, _ := json.Marshal([]string{"-c", greeter, l.marker})
		servers = append(servers, fmt.Sprintf(`%q:{"command":"sh","args":%s%s}`, name, args, more))
	}
	return `{"llm":{"provider":"lab","model":"m"},"mcpServers":{` + strings.Join(servers, ",") + `}}`
}

// sent are the names of the tools in the nth model request.
func (l *mcpLab) sent(n int) (names []string) {
	l.t.Helper()
	var body struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(l.model.Requests()[n].Body, &body); err != nil {
		l.t.Fatal(err)
	}
	for _, t := range body.Tools {
		names = append(names, t.Function.Name)
	}
	return names
}

func (l *mcpLab) alive() bool { return exists(l.marker)() }

// ended waits until the greeter is gone.
func (l *mcpLab) ended() {
	l.t.Helper()
	eventually(l.t, "the server's end", func() bool { return !l.alive() })
}

func statusOf(t *testing.T, c *runtime.Conversation) string {
	t.Helper()
	text, _, err := c.Status(ctx(t))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func greet() modeltest.Turn {
	return modeltest.Turn{Calls: []modeltest.Call{{ID: "1", Name: "mcp__greeter__hello", Arguments: `{"who":"you"}`}}}
}

func TestMCP_aRunCallsAServersTool(t *testing.T) {
	l := newMCPLab(t, greet(), modeltest.Turn{Text: "done"}, modeltest.Turn{Text: "bye"})
	rt := l.start()
	c := l.office(rt, "demo")
	if got := statusOf(t, c); !strings.Contains(got, "mcp greeter idle\n") || l.alive() {
		t.Errorf("before the first run: %s", got)
	}
	s := session(t, c, "main")
	if got := answer(t, s, "go"); got != "done\n" {
		t.Error(got)
	}
	if sent := l.sent(0); !slices.Contains(sent, "mcp__greeter__hello") || !slices.IsSorted(sent) {
		t.Error(sent)
	}
	if got := transcriptOf(t, s); !strings.Contains(got, "Hello!") {
		t.Error(got)
	}
	if got := statusOf(t, c); !strings.Contains(got, "mcp greeter connected, 1 tools\n") {
		t.Error(got)
	}
	if err := rt.Close(); err != nil || l.alive() {
		t.Errorf("after the daemon's end: alive %v, %v", l.alive(), err)
	}
	again := session(t, l.office(l.start(), "demo"), "main")
	answer(t, again, "once more")
	if diff := cmp.Diff(l.sent(0), l.sent(2)); diff != "" {
		t.Errorf("after a restart: %s", diff)
	}
}

func TestMCP_deferredToolsAreFound(t *testing.T) {
	l := newMCPLab(t,
		modeltest.Turn{Calls: []modeltest.Call{{ID: "0", Name: "tool_search", Arguments: `{"label":"l","query":"greet","namespace":"greeter"}`}}},
		greet(), modeltest.Turn{Text: "done"})
	l.settings(`,"exposure":"codemode","description":"Manners."`, "greeter")
	c := l.office(l.start(), "demo")
	answer(t, session(t, c, "main"), "go")
	if got := l.sent(0); slices.Contains(got, "mcp__greeter__hello") || !slices.Contains(got, "tool_search") {
		t.Errorf("first: %v", got)
	}
	if got := l.sent(1); !slices.Contains(got, "mcp__greeter__hello") {
		t.Errorf("second: %v", got)
	}
	if got := statusOf(t, c); !strings.Contains(got, "(exposure codemode is not there yet; its tools are deferred)") {
		t.Error(got)
	}
}

func TestMCP_serversEndWithWhatTheyWereStartedFor(t *testing.T) {
	for name, change := range map[string]func(*mcpLab, *runtime.Runtime, *runtime.Conversation) error{
		"the office's settings": func(l *mcpLab, _ *runtime.Runtime, c *runtime.Conversation) error {
			return c.SetSettings(ctx(t), []byte(`{"mcpServers":{"greeter":{"disabled":true}}}`))
		},
		"the daemon's settings": func(l *mcpLab, rt *runtime.Runtime, _ *runtime.Conversation) error {
			return rt.SetSettings([]byte(l.settingsText("")))
		},
		"settings by hand": func(l *mcpLab, _ *runtime.Runtime, c *runtime.Conversation) error {
			l.settings("")
			answer(l.t, session(l.t, c, "main"), "again")
			return nil
		},
		"eviction of its last runner": func(l *mcpLab, _ *runtime.Runtime, c *runtime.Conversation) error {
			if c.SweepLater(ctx(t), 10*time.Minute); !l.alive() {
				return errors.New("the server ended while a runner is warm")
			}
			c.SweepLater(ctx(t), 2*time.Hour)
			return nil
		},
		"archiving": func(_ *mcpLab, _ *runtime.Runtime, c *runtime.Conversation) error { return c.Archive(ctx(t)) },
		"shutdown":  func(_ *mcpLab, rt *runtime.Runtime, _ *runtime.Conversation) error { return rt.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			l := newMCPLab(t, modeltest.Turn{Text: "one"}, modeltest.Turn{Text: "two"})
			rt := l.start()
			c := l.office(rt, "demo")
			answer(t, session(t, c, "main"), "go")
			if !l.alive() {
				t.Fatal("the server did not start")
			}
			if err := change(l, rt, c); err != nil {
				t.Fatal(err)
			}
			l.ended()
		})
	}
}

// A run of another session goes on with the servers that it began with.
func TestMCP_settingsDoNotEndTheServersOfARun(t *testing.T) {
	l := newMCPLab(t, modeltest.Turn{Hang: true}, modeltest.Turn{Text: "done"})
	rt := l.start()
	s := session(t, l.office(rt, "demo"), "main")
	a := prompt(t, s, "go")
	<-l.model.Hung()
	if err := rt.SetSettings([]byte(l.settingsText(""))); err != nil {
		t.Fatal(err)
	}
	if !l.alive() {
		t.Error("the server of a run was ended")
	}
	s.Stop()
	if _, err := read(t, a.Answer); err != nil {
		t.Fatal(err)
	}
	l.ended()
}

// Where anyone can make the office run nothing is started, whoever configured it,
// and what was started before ends.
func TestInvariant_mcp_conversation_authority(t *testing.T) {
	l := newMCPLab(t, modeltest.Turn{Text: "one"}, modeltest.Turn{Text: "two"}, modeltest.Turn{Text: "three"})
	c := l.join(l.start(), "bus", fake.NewBus())
	trust := func(trust wire.Trust) {
		t.Helper()
		d, err := c.rt.Desk("bus")
		if err == nil {
			err = d.SetCaps(ctx(t), []byte(fmt.Sprintf(`{"trust":%q}`, trust)))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	office := func() *runtime.Conversation {
		t.Helper()
		o, err := c.rt.Conversation(runtime.Address{Platform: "bus", ConversationID: "C1"})
		if err != nil {
			t.Fatal(err)
		}
		return o
	}
	say := func(n int) {
		t.Helper()
		c.bus.Say(wire.InMessage{Conversation: "C1", Session: "C1", User: "U1", Text: "go"})
		eventually(t, "an answer", func() bool { return len(l.model.Requests()) == n && len(c.bus.Answers("C1")) == n })
	}
	trust(wire.OpenTrigger)
	say(1)
	if l.alive() || slices.Contains(l.sent(0), "mcp__greeter__hello") {
		t.Fatalf("an open office has %v", l.sent(0))
	}
	if got := statusOf(t, office()); !strings.Contains(got, "mcp greeter refused") {
		t.Error(got)
	}
	trust(wire.Membership)
	say(2)
	if !l.alive() || !slices.Contains(l.sent(1), "mcp__greeter__hello") {
		t.Fatalf("a closed office has %v", l.sent(1))
	}
	trust(wire.OpenTrigger)
	l.ended()
	say(3)
	if l.alive() || slices.Contains(l.sent(2), "mcp__greeter__hello") {
		t.Fatalf("an office that was opened has %v", l.sent(2))
	}
}

// A runner that cannot be made has started no server, and the next one can.
func TestFault_21_31_aRunnerThatCannotBeMadeLeavesNothing(t *testing.T) {
	l := newMCPLab(t, modeltest.Turn{Text: "done"})
	broken := true
	whole := l.computer
	l.computer = func(ctx context.Context, o *runtime.Office) (harness.Computer, string, error) {
		if broken {
			return nil, "", errors.New("no computer today")
		}
		return whole(ctx, o)
	}
	s := session(t, l.office(l.start(), "demo"), "main")
	if _, err := read(t, prompt(t, s, "go").Answer); err == nil || !strings.Contains(err.Error(), "no computer today") {
		t.Error(err)
	}
	if l.alive() {
		t.Error("a server was started for a runner that could not be made")
	}
	broken = false
	if got := answer(t, s, "go"); got != "done\n" || !l.alive() {
		t.Errorf("%q, server alive: %v", got, l.alive())
	}
}

// A stop is heeded while the run waits for a server.
func TestMCP_stopWhileAServerIsAwaited(t *testing.T) {
	l := newMCPLab(t, modeltest.Turn{Text: "never"})
	l.mcp.Wait = 2 * patience
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	l.write("settings.json", fmt.Sprintf(`{"llm":{"provider":"lab","model":"m"},"mcpServers":{"silent":{"command":"sh","args":["-c","echo here >$0; exec sleep 600",%q]}}}`, fifo))
	s := session(t, l.office(l.start(), "demo"), "main")
	a := prompt(t, s, "go")
	if _, err := os.ReadFile(fifo); err != nil { // it runs
		t.Fatal(err)
	}
	s.Stop()
	if _, err := read(t, a.Answer); err != nil {
		t.Fatal(err)
	}
	if n := len(l.model.Requests()); n != 0 {
		t.Errorf("%d model requests after the stop", n)
	}
}
