package runtime_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/wire"
)

// phrase is said in the fifth turn, and asked for in the last.
const phrase = "the heron's nest is behind the third lock"

// life is a session that lives for many turns: three models of three protocols
// answer in turn, each in a window of its own and with its own price, and call
// tools that give much.
type life struct {
	*testing.T
	turns int

	mu       sync.Mutex
	now      int // the turn
	asked    int // requests for an answer
	folded   int // requests for a summary
	spent    float64
	problems []string
}

// mind is one of the models.
type mind struct {
	name, api string
	window    int
	bodyCap   int
	server    *modeltest.Server
}

func (l *life) problem(format string, args ...any) {
	if len(l.problems) < 20 {
		l.problems = append(l.problems, fmt.Sprintf(format, args...))
	}
}

var imageData = regexp.MustCompile(`[A-Za-z0-9+/]{1000,}={0,2}`)

// tokens is what a request takes of the window. The models' own count is less
// kind than a rough one.
func tokens(body []byte) int {
	images := imageData.FindAll(body, -1)
	n := len(body)
	for _, data := range images {
		n -= len(data)
	}
	return n*10/36 + 1600*len(images)
}

// answers makes the turns of a model.
func (l *life) answers(m mind) func(modeltest.Request) modeltest.Turn {
	return func(r modeltest.Request) modeltest.Turn {
		l.mu.Lock()
		defer l.mu.Unlock()
		in := tokens(r.Body)
		if in > m.window {
			l.problem("turn %d: %d tokens for the window of %s, %d", l.now, in, m.name, m.window)
			return overflow(m.api)
		}
		if len(r.Body) > m.bodyCap {
			l.problem("turn %d: a body of %d bytes for %s", l.now, len(r.Body), m.name)
		}
		turn := modeltest.Turn{Usage: modeltest.Usage{Input: in, Output: 100}}
		l.spent += price(in, 100)
		if !strings.Contains(string(r.Body), `"name":"bash"`) { // no tools: it is to sum up
			l.folded++
			turn.Text = fmt.Sprintf("## Goal\nLive long.\n\n## Progress\nAt turn %d.", l.now)
			return turn
		}
		l.asked++
		return l.work(m, r, turn)
	}
}

func price(in, out int) float64 { return float64(in)*1e-6 + float64(out)*5e-6 }

// overflow is how the API refuses what is too long.
func overflow(api string) modeltest.Turn {
	text := `{"error":{"message":"This model's maximum context length is exceeded. Please reduce the length of the messages.","type":"invalid_request_error","code":"context_length_exceeded"}}`
	if api == "anthropic-messages" {
		text = `{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 250000 tokens > 200000 maximum"}}`
	}
	return modeltest.Turn{Status: 400, Header: map[string]string{"Content-Type": "application/json"}, Body: text}
}

// work answers a turn: a call first, and when its result is there, a text.
func (l *life) work(m mind, r modeltest.Request, turn modeltest.Turn) modeltest.Turn {
	last := strings.LastIndex(string(r.Body), fmt.Sprintf("turn %d", l.now))
	called := last >= 0 && strings.Contains(string(r.Body[last:]), fmt.Sprintf("call%d", l.now))
	switch {
	case last < 0:
		l.problem("turn %d: the prompt is not in the request", l.now)
		turn.Text = "What?"
	case called:
		if l.now == l.turns && !strings.Contains(string(r.Body[last:]), phrase) {
			l.problem("the history has not found the phrase of turn 5")
		}
		turn.Text = fmt.Sprintf("Done with %d.", l.now)
	default:
		turn.Calls = []modeltest.Call{l.call()}
	}
	return turn
}

func (l *life) call() modeltest.Call {
	c := modeltest.Call{ID: fmt.Sprintf("call%d", l.now)}
	switch n := l.now; {
	case n == l.turns:
		c.Name, c.Arguments = "history", `{"label":"look back","action":"search","query":"heron's nest"}`
	case n%25 == 0:
		c.Name, c.Arguments = "read", `{"label":"look","path":"picture.png"}`
	case n%3 == 0:
		c.Name, c.Arguments = "bash", fmt.Sprintf(`{"label":"much","command":"seq %d00000 %d08600"}`, n, n)
	default:
		c.Name, c.Arguments = "bash", fmt.Sprintf(`{"label":"little","command":"echo %d"}`, n)
	}
	return c
}

// A long life fits the windows, the price and the size of requests, and at its end
// finds what was said at its beginning: 45 turns, or MIKAN_LONG_TURNS of them.
func TestLongLife(t *testing.T) {
	l := &life{T: t, turns: 45}
	if s := os.Getenv("MIKAN_LONG_TURNS"); s != "" {
		if _, err := fmt.Sscan(s, &l.turns); err != nil {
			t.Fatal(err)
		}
	}
	minds := []mind{
		{name: "a", api: "anthropic-messages", window: 200_000, bodyCap: 32 << 20, server: modeltest.NewAnthropic(t)},
		{name: "b", api: "openai-completions", window: 128_000, bodyCap: 50 << 20, server: modeltest.NewOpenAI(t)},
		{name: "c", api: "openai-responses", window: 64_000, bodyCap: 50 << 20, server: modeltest.NewResponses(t)},
	}
	lab := newLab(t)
	lab.write("models.json", providers(t, minds))
	lab.write("settings.json", `{"llm":{"provider":"a","model":"m"}}`)
	for _, m := range minds {
		m.server.Otherwise = l.answers(m)
	}
	rt := lab.start()
	s := session(t, lab.office(rt, "old"), wire.MainSession)
	l.picture(lab)
	for n := 1; n <= l.turns; n++ {
		if n == l.turns/3 || n == 2*l.turns/3 {
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
			rt = lab.start()
			s = session(t, lab.office(rt, "old"), wire.MainSession)
		}
		if n%20 == 0 {
			if err := s.SetModel(ctx(t), minds[n/20%len(minds)].name+"/m"); err != nil {
				t.Fatal(err)
			}
		}
		l.turn(s, n)
	}
	l.judge(s, minds)
}

func providers(t *testing.T, minds []mind) string {
	all := map[string]any{}
	for _, m := range minds {
		all[m.name] = map[string]any{
			"baseUrl": m.server.URL, "api": m.api, "apiKey": "k",
			"models": []any{map[string]any{
				"id": "m", "contextWindow": m.window, "maxTokens": 8192, "input": []string{"text", "image"},
				"cost": map[string]float64{"input": 1, "output": 5},
			}},
		}
	}
	data, err := json.Marshal(map[string]any{"providers": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// picture puts an image into the office.
func (l *life) picture(lab *lab) {
	l.Helper()
	data, err := base64.StdEncoding.DecodeString(modeltest.PNG(1200, 900))
	if err != nil {
		l.Fatal(err)
	}
	dir := lab.ws.Office(runtime.Address{Platform: "local", ConversationID: "old"}).Dir
	if err := os.WriteFile(filepath.Join(dir, "picture.png"), data, 0o600); err != nil {
		l.Fatal(err)
	}
}

func (l *life) turn(s *runtime.Session, n int) {
	l.Helper()
	l.mu.Lock()
	l.now = n
	l.mu.Unlock()
	text := fmt.Sprintf("turn %d", n)
	if n == 5 {
		text += ": remember that " + phrase
	}
	if got, want := answer(l, s, text), fmt.Sprintf("Done with %d.\n", n); !strings.HasSuffix(got, want) {
		l.Fatalf("turn %d: %q", n, got)
	}
}

// judge looks at the whole life.
func (l *life) judge(s *runtime.Session, minds []mind) {
	l.Helper()
	for _, p := range l.problems {
		l.Error(p)
	}
	for _, m := range minds {
		if r := m.server.Refusals(); len(r) > 0 {
			l.Errorf("%s refused %d requests: %s", m.name, len(r), r[0])
		}
	}
	l.Logf("%d turns: %d answers, %d summaries, USD %.2f", l.turns, l.asked, l.folded, l.spent)
	if l.asked > 2*l.turns+l.folded {
		l.Errorf("%d answers were asked for in %d turns with %d summaries", l.asked, l.turns, l.folded)
	}
	if l.folded > l.turns/4 {
		l.Errorf("%d summaries in %d turns", l.folded, l.turns)
	}
	usage, err := s.Usage(ctx(l))
	if err != nil {
		l.Fatal(err)
	}
	if want := fmt.Sprintf("cost %.6f", l.spent); !strings.Contains(string(usage), want) {
		l.Errorf("usage says\n%s\nwant %s", usage, want)
	}
}
