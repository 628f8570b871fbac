package runtime_test

import (
	"bytes"
	"database/sql"
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// modelServer is a validating server and how models.json names what it speaks.
type modelServer struct {
	api  string
	make func(testing.TB, ...modeltest.Turn) *modeltest.Server
}

var modelServers = []modelServer{
	{"anthropic-messages", modeltest.NewAnthropic},
	{"openai-completions", modeltest.NewOpenAI},
	{"openai-responses", modeltest.NewResponses},
}

// use makes the model "m" of a server the lab's. Its provider is "p".
func (l *lab) use(m modelServer, s *modeltest.Server) {
	l.write("models.json", fmt.Sprintf(`{"providers":{"p":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[
		{"id":"m","reasoning":true,"input":["text","image"],"contextWindow":200000,"maxTokens":8000}]}}}`, s.URL, m.api))
	l.write("settings.json", `{"llm":{"provider":"p","model":"m","thinkingLevel":"high"}}`)
}

func TestFault_H1_calls_without_results_at_the_end_get_them_in_the_store(t *testing.T) {
	for name, text := range bricked(t, "H1") {
		for _, id := range []string{"c1", "c2", "c3"} {
			if n := strings.Count(text, `"toolCallId":"`+id+`"`); n != 1 {
				t.Errorf("%s: the call %s has %d results:\n%s", name, id, n, text)
			}
		}
	}
}

func TestFault_H2_results_that_a_cut_has_parted_from_their_calls(t *testing.T) { bricked(t, "H2") }
func TestFault_H3_answers_that_were_cut_off_in_a_call(t *testing.T)            { bricked(t, "H3") }
func TestFault_H4_arguments_that_are_no_objects(t *testing.T)                  { bricked(t, "H4") }
func TestFault_H5_ids_that_no_other_server_takes(t *testing.T)                 { bricked(t, "H5") }
func TestFault_H6_images_that_no_server_takes(t *testing.T)                    { bricked(t, "H6") }
func TestFault_H8_messages_between_call_and_result(t *testing.T)               { bricked(t, "H8") }
func TestFault_H9_thinking_of_others_and_after_changes(t *testing.T)           { bricked(t, "H9") }

// An entry that cannot be read does not take the session with it.
func TestBricked_by_entries_that_cannot_be_read(t *testing.T) { bricked(t, "torn") }

// bricked lets a session go on that an older program has left in a state which
// servers refuse, with each of them: what was in the store stays there byte for
// byte, and a restart adds nothing. It returns the transcripts, by API.
func bricked(t *testing.T, fixture string) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, m := range modelServers {
		t.Run(m.api, func(t *testing.T) {
			l := newLab(t)
			server := m.make(t, modeltest.Turn{Text: "fine"}, modeltest.Turn{Text: "still fine"}, modeltest.Turn{Text: "and again"})
			server.Terms.Foreign = true
			l.use(m, server)
			rt := l.start()
			c := l.office(rt, "demo")
			session(t, c, "main")
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
			brick(t, c.Sessions, fixtureMessages(t, fixture, m.api))

			rt = l.start()
			s := session(t, l.office(rt, "demo"), "main")
			before := transcriptOf(t, s)
			for n, want := range []string{"fine\n", "still fine\n"} {
				if got := answer(t, s, "go on"); got != want {
					t.Fatalf("answer %d: %q; refused %q", n, got, server.Refusals())
				}
			}
			mended := transcriptOf(t, s)
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
			rt = l.start()
			s = session(t, l.office(rt, "demo"), "main")
			if got := answer(t, s, "after a restart"); got != "and again\n" {
				t.Fatalf("answer %q; refused %q", got, server.Refusals())
			}
			after := transcriptOf(t, s)
			if !strings.HasPrefix(mended, before) || !strings.HasPrefix(after, mended) {
				t.Errorf("what was written has changed:\n%s\n%s\n%s", before, mended, after)
			}
			if n := strings.Count(after[len(mended):], "\n"); n != 2 {
				t.Errorf("the restart added more than prompt and answer:\n%s", after[len(mended):])
			}
			if refused := server.Refusals(); len(refused) > 0 {
				t.Errorf("refused %q", refused)
			}
			texts[m.api] = after
		})
	}
	return texts
}

// fixtureMessages reads testdata/bricked/<name>.jsonl: one message a line, in
// which $API, $PROVIDER and $MODEL are those of the model that goes on, and the
// images are $GOOD, $WIDE, $TORN and $BIG.
func fixtureMessages(t *testing.T, name, api string) [][]byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "bricked", name+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	raw, err := base64.StdEncoding.DecodeString(modeltest.PNG(60, 60))
	if err != nil {
		t.Fatal(err)
	}
	text := strings.NewReplacer("$API", api, "$PROVIDER", "p", "$MODEL", "m",
		"$GOOD", modeltest.PNG(3, 2), "$WIDE", modeltest.PNG(8001, 2),
		"$TORN", base64.StdEncoding.EncodeToString(raw[:len(raw)-20]),
		"$BIG", base64.StdEncoding.EncodeToString(append(raw, make([]byte, 5<<20)...)),
	).Replace(string(data))
	return bytes.Split(bytes.TrimSpace([]byte(text)), []byte("\n"))
}

// brick writes messages into the session main of a database as they are.
func brick(t *testing.T, path string, messages [][]byte) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	exec := func(query string, args ...any) {
		t.Helper()
		if _, err := db.Exec(query, args...); err != nil {
			t.Fatal(err)
		}
	}
	var id, size, seq int64
	row := db.QueryRow(`SELECT id, size, (SELECT coalesce(max(seq), 0) FROM entry) FROM session WHERE name = 'main'`)
	if err := row.Scan(&id, &size, &seq); err != nil {
		t.Fatal(err)
	}
	parent := []byte("null")
	for _, m := range messages {
		seq++
		line := fmt.Appendf(nil, `{"type":"message","id":"%08x","parentId":%s,"timestamp":"2026-01-02T03:04:05.000Z","message":%s}`+"\n", seq, parent, m)
		parent = fmt.Appendf(nil, `"%08x"`, seq)
		size += int64(len(line))
		exec(`INSERT INTO entry(seq, session, end, line) VALUES (?, ?, ?, ?)`, seq, id, size, line)
	}
	exec(`UPDATE session SET leaf = ?, settled = ?, size = ? WHERE id = ?`, seq, seq, size, id)
}
