package runtime_test

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"image"
	"image/color/palette"
	"image/gif"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/harness/modeltest"
	"mikan/runtime"
	"mikan/runtime/store"
)

// Whatever models answer and people do, no server is given a request that it
// refuses: with each of the protocols in turn, thinking, images, calls of every
// kind, stops, messages that come in, compactions, limits and restarts.
func TestInvariant_no_request_of_a_session_is_refused(t *testing.T) {
	l := newLab(t)
	w := &walk{lab: l}
	providers := make([]string, len(modelServers))
	for i, m := range modelServers {
		s := m.make(t)
		w.servers = append(w.servers, s)
		providers[i] = fmt.Sprintf(`"p%d":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[
			{"id":"m","reasoning":true,"input":["text","image"],"contextWindow":200000,"maxTokens":8000},
			{"id":"text","contextWindow":30000,"maxTokens":2000}]}`, i, s.URL, m.api)
	}
	l.write("models.json", `{"providers":{`+strings.Join(providers, ",")+`}}`)
	w.rt = l.start()
	rapid.Check(t, w.check)
}

// walks are how many are tried, which takes some seconds.
const walks = 40

// walk is a way through the life of a session.
type walk struct {
	*lab
	servers []*modeltest.Server
	rt      *runtime.Runtime
	offices int
	thought int
}

func (w *walk) check(rt *rapid.T) {
	if w.offices++; w.offices > walks {
		return
	}
	office := fmt.Sprint("office", w.offices)
	c := w.office(w.rt, office)
	w.pictures(c.Dir)
	before := w.refused()
	for n := range rapid.IntRange(2, 6).Draw(rt, "steps") {
		i := rapid.IntRange(0, len(w.servers)-1).Draw(rt, "server")
		model := rapid.SampledFrom([]string{"m:off", "m:high", "m:low", "text"}).Draw(rt, "model")
		s := session(w.t, c, "main")
		if err := s.SetModel(ctx(w.t), fmt.Sprintf("p%d/%s", i, model)); err != nil {
			rt.Fatal(err)
		}
		server := w.servers[i]
		end := modeltest.Turn{Text: "Done."}
		turns := append(rapid.SliceOfN(w.turn(), 0, 4).Draw(rt, "turns"), end, end, end, end, end, end)
		server.Instead(turns...)
		what := rapid.SampledFrom([]string{"go", "go", "steer", "compact", "kill", "budget", "fork"}).Draw(rt, "what")
		limit := `{}`
		if what == "budget" {
			limit = `{"budget":{"calls":1}}`
		}
		if err := c.SetSettings(ctx(w.t), []byte(limit)); err != nil {
			rt.Fatal(err)
		}
		if what == "compact" {
			if err := s.Compact(); err != nil {
				rt.Fatal(err)
			}
		}
		a := prompt(w.t, s, strings.Repeat("go ", rapid.SampledFrom([]int{1, 1, 2000}).Draw(rt, "length")))
		if what == "steer" {
			if _, err := s.Prompt(ctx(w.t), ann, store.KindSteer, "steered"); err != nil {
				rt.Fatal(err)
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, _ = read(w.t, a.Answer) // runs may fail
			_ = s.Wait(ctx(w.t))
		}()
		for running := true; running; {
			select {
			case <-done:
				running = false
			case <-server.Hung():
				if what == "kill" {
					if err := w.rt.Close(); err != nil {
						rt.Fatal(err)
					}
					w.rt = w.start()
					c = w.office(w.rt, office)
				} else {
					s.Stop()
				}
			}
		}
		if what == "fork" {
			if err := c.Command(ctx(w.t), ann, fmt.Sprint("fork f", n)); err != nil {
				rt.Fatal(err)
			}
		}
	}
	if refused := w.refused(); len(refused) > len(before) {
		rt.Fatalf("refused %q", refused[len(before):])
	}
}

func (w *walk) refused() (all []string) {
	for _, s := range w.servers {
		all = append(all, s.Refusals()...)
	}
	return all
}

// pictures are files that a model may look at.
func (w *walk) pictures(dir string) {
	frame := image.NewPaletted(image.Rect(0, 0, 3, 3), palette.Plan9)
	var moving bytes.Buffer
	if err := gif.EncodeAll(&moving, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{1, 1}}); err != nil {
		w.t.Fatal(err)
	}
	raw := func(s string) []byte { b, _ := base64.StdEncoding.DecodeString(s); return b }
	for name, data := range map[string][]byte{
		"wide.png": raw(modeltest.PNG(9000, 2)), "small.png": raw(modeltest.PNG(3, 3)), "torn.png": raw(modeltest.PNG(60, 60))[:90], "moving.gif": moving.Bytes(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
}

// turn is an answer of a model, of any protocol.
func (w *walk) turn() *rapid.Generator[modeltest.Turn] {
	text := rapid.SampledFrom([]string{"", " \n", "Some text.", "nul\x00 and \u2028", "日本"})
	call := rapid.Custom(func(t *rapid.T) modeltest.Call {
		name := rapid.SampledFrom([]string{"bash", "read", "read", "write", "subagent", "history", "no such", "", strings.Repeat("n", 100), "日"}).Draw(t, "name")
		args := rapid.SampledFrom([]string{"", "{}", `[1]`, `{"label":`, `"\ud800"`, `{"label":"x","command":"printf 'a\\0b\\377'","path":"MEMORY.md","content":"\u0000\ud800 x"}`,
			`{"label":"x","path":"wide.png"}`, `{"label":"x","path":"small.png"}`, `{"label":"x","path":"torn.png"}`, `{"label":"x","path":"moving.gif"}`}).Draw(t, "args")
		id := rapid.SampledFrom([]string{"", "a", "a", "x|y", "call|" + strings.Repeat("z", 100), "日"}).Draw(t, "id")
		return modeltest.Call{ID: id, Name: name, Arguments: args, Signature: rapid.SampledFrom([]string{"", "c2ln"}).Draw(t, "signature")}
	})
	return rapid.Custom(func(t *rapid.T) modeltest.Turn {
		turn := modeltest.Turn{Text: text.Draw(t, "text"), Calls: rapid.SliceOfN(call, 0, 3).Draw(t, "calls")}
		w.thought++
		if rapid.Bool().Draw(t, "thinks") {
			turn.Thinking, turn.Signature = "thought", fmt.Sprint("signature", w.thought)
		}
		if rapid.IntRange(0, 3).Draw(t, "redacted") == 0 {
			turn.Redacted = fmt.Sprint("opaque", w.thought)
		}
		turn.Stop = rapid.SampledFrom([]string{"", "", "", "max_tokens", "length"}).Draw(t, "stop")
		turn.Usage = modeltest.Usage{Input: rapid.SampledFrom([]int{10, 10, 10, 29000, 199000}).Draw(t, "used"), Output: 5}
		switch rapid.IntRange(0, 5).Draw(t, "trouble") {
		case 0:
			turn.HangAfter = rapid.IntRange(1, 2500).Draw(t, "hang")
		case 1:
			turn.Status, turn.Body = 400, `{"error":{"type":"invalid_request_error","message":"prompt is too long"}}`
		}
		return turn
	})
}
