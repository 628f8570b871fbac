package runtime_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// Of a session of ten turns, with tools, a memory that is written and a restart,
// each request reads from the server's cache all that the request before it sent,
// as far as the protocol goes: to its marks, or to a step of the server's.
func TestCacheShare_of_ten_turns_is_what_the_protocol_allows(t *testing.T) {
	const turns = 10
	for _, m := range modelServers {
		t.Run(m.api, func(t *testing.T) {
			l := newLab(t)
			server := m.make(t)
			server.Counts = true
			l.use(m, server)
			rt := l.start()
			for n := range turns {
				c := l.office(rt, "demo")
				calls := []modeltest.Call{{ID: fmt.Sprint("call_", n), Name: "bash", Arguments: `{"label":"look","command":"seq 1 400"}`}}
				for i := range n % 5 * 8 { // more than a server looks back for a mark
					calls = append(calls, modeltest.Call{ID: fmt.Sprintf("call_%d_%d", n, i), Name: "nosuch", Arguments: fmt.Sprintf(`{"n":%d}`, i)})
				}
				server.Then(
					modeltest.Turn{Thinking: "hm", Signature: fmt.Sprint("a", n), Text: "I look.", Calls: calls},
					modeltest.Turn{Thinking: "so", Signature: fmt.Sprint("b", n), Text: strings.Repeat("An answer. ", 50)})
				answer(t, session(t, c, "main"), strings.Repeat("a question ", 20))
				switch n {
				case 3:
					if err := os.WriteFile(filepath.Join(c.Dir, "MEMORY.md"), []byte("a new fact\n"), 0o600); err != nil {
						t.Fatal(err)
					}
				case 6:
					if err := rt.Close(); err != nil {
						t.Fatal(err)
					}
					rt = l.start()
				}
			}
			if refused := server.Refusals(); len(refused) > 0 {
				t.Fatalf("refused %q", refused)
			}
			holdsCache(t, server, m.api)
		})
	}
}

// holdsCache compares what each request read from the cache with what the one
// before it had sent.
func holdsCache(t *testing.T, server *modeltest.Server, api string) {
	t.Helper()
	const least, step = 1024, 128 // tokens
	read, all, before := 0, 0, 0
	for n, u := range server.Usages() {
		want := before
		if api != "anthropic-messages" {
			want -= step // its last step may be lost, and the end of the list of messages
		}
		if want >= least && u.CacheRead < want {
			t.Errorf("request %d read %d tokens from the cache, of %d that were sent before", n, u.CacheRead, before)
		}
		if api == "anthropic-messages" && before >= least && u.Input != 0 {
			t.Errorf("request %d has %d tokens behind its last mark", n, u.Input)
		}
		before = u.Input + u.CacheRead + u.CacheWrite
		read, all = read+u.CacheRead, all+before
	}
	share := 100 * read / all
	t.Logf("%d%% of %d tokens were read from the cache", share, all)
	if share < 85 {
		t.Errorf("only %d%% of the tokens were read from the cache", share)
	}
	var first, last struct{ System, Instructions, Tools json.RawMessage }
	requests := server.Requests()
	for _, r := range []struct {
		body []byte
		to   any
	}{{requests[0].Body, &first}, {requests[len(requests)-1].Body, &last}} {
		if err := json.Unmarshal(r.body, r.to); err != nil {
			t.Fatal(err)
		}
	}
	if string(first.System)+string(first.Instructions)+string(first.Tools) != string(last.System)+string(last.Instructions)+string(last.Tools) {
		t.Error("the system prompt or the tools have changed")
	}
}
