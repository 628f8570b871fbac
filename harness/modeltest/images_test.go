package modeltest_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/harness/picture"
	"mikan/wire"
)

// Images enter a history through prompts, steering texts and tools; each fits
// the model from then on, and later requests send the bytes that are stored.
func TestFault_H6_images_are_made_to_fit_when_they_enter_the_history(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		side := 2000
		if a.name == "anthropic" {
			side = 1568
		}
		raw, err := base64.StdEncoding.DecodeString(modeltest.PNG(50, 50))
		if err != nil {
			t.Fatal(err)
		}
		image := func(data string) wire.Part { return wire.Part{Type: wire.Image, Data: data, MimeType: "image/jpeg"} } // a lie
		wide := image(modeltest.PNG(8001, 30))
		s := a.server(t,
			modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "look", Arguments: "{}"}, {ID: "c2", Name: "look", Arguments: "{}"}}},
			modeltest.Turn{Calls: []modeltest.Call{{ID: "c3", Name: "look", Arguments: "{}"}}},
			modeltest.Turn{Text: "seen"})
		steer := []wire.Message{{Role: wire.User, Content: []wire.Part{wide, wire.TextPart("and this")}}}
		j := &journal{t: t, dir: t.TempDir()}
		run := &harness.Run{
			Model: a.model, Provider: a.dial(s, client(t)), Store: j,
			Prompt: wire.Message{Role: wire.User, Content: []wire.Part{wide, image("no base64!"), wire.TextPart("what is this?")}},
			Tools: []harness.Tool{{
				ToolSpec: harness.ToolSpec{Name: "look", Schema: json.RawMessage(`{"type":"object"}`)},
				Run: func(context.Context, json.RawMessage, func(string)) (harness.Result, error) {
					return harness.Result{Content: []wire.Part{
						wide, image(base64.StdEncoding.EncodeToString(raw[:90])),
						image(base64.StdEncoding.EncodeToString(append(raw, make([]byte, 6<<20)...))),
					}}, nil
				},
			}},
			Steer: func(context.Context) []wire.Message { in := steer; steer = nil; return in },
		}
		if end := run.Do(t.Context()); end.Outcome != wire.OK || len(s.Refusals()) > 0 {
			t.Fatalf("%+v; refused %q", end, s.Refusals())
		}
		run.Wait()
		msgs, err := j.Context(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		images, texts := 0, ""
		for _, m := range msgs {
			texts += m.PlainText()
			for _, p := range m.Content {
				if p.Type != wire.Image {
					continue
				}
				images++
				info, ok := picture.Check(p.Data)
				if !ok || info.Type != p.MimeType || max(info.Width, info.Height) > side {
					t.Errorf("the history has %+v of type %s", info, p.MimeType)
				}
				if n := strings.Count(string(s.Requests()[2].Body), p.Data); n == 0 {
					t.Error("an image of the history was not sent as it is there")
				}
			}
		}
		if images != 2+3*2 || strings.Count(texts, "[image left out: not base64]") != 1 || strings.Count(texts, "cannot be decoded") != 3 {
			t.Errorf("%d images in the history, texts %q", images, texts)
		}
	})
}

// A model that takes text only is told of images, and a later one sees them.
func TestFault_H6_a_model_of_text_gets_lines_in_the_place_of_images(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Text: "blind"}, modeltest.Turn{Text: "seen"})
		j := &journal{t: t, dir: t.TempDir()}
		see := func(m harness.Model, msg wire.Message, blind bool) {
			t.Helper()
			s.Terms.TextOnly = blind
			run := &harness.Run{Model: m, Provider: a.dial(s, client(t)), Store: j, Prompt: msg}
			if end := run.Do(t.Context()); end.Outcome != wire.OK || len(s.Refusals()) > 0 {
				t.Fatalf("%+v; refused %q", end, s.Refusals())
			}
			run.Wait()
		}
		text := a.model
		text.Input = []string{"text"}
		see(text, wire.Message{Role: wire.User, Content: []wire.Part{{Type: wire.Image, Data: modeltest.PNG(2, 2), MimeType: "image/png"}}}, true)
		see(a.model, user("and now?"), false)
		r := s.Requests()
		if !strings.Contains(string(r[0].Body), "this model takes text only") || !strings.Contains(string(r[1].Body), modeltest.PNG(2, 2)) {
			t.Errorf("sent %s\nand %s", r[0].Body, r[1].Body)
		}
	})
}

// A tool that fails may still show something.
func TestImages_of_errors_are_not_refused(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Calls: []modeltest.Call{{ID: "c1", Name: "look", Arguments: "{}"}}}, modeltest.Turn{Text: "seen"})
		run := &harness.Run{
			Model: a.model, Provider: a.dial(s, client(t)), Store: &journal{t: t, dir: t.TempDir()}, Prompt: user("look"),
			Tools: []harness.Tool{{
				ToolSpec: harness.ToolSpec{Name: "look", Description: strings.Repeat("語", 2000), Schema: json.RawMessage(`{"type":"object"}`)},
				Run: func(context.Context, json.RawMessage, func(string)) (harness.Result, error) {
					return harness.Result{Content: []wire.Part{{Type: wire.Image, Data: modeltest.PNG(2, 2), MimeType: "image/png"}}}, errors.New("it failed")
				},
			}},
		}
		if end := run.Do(t.Context()); end.Outcome != wire.OK || len(s.Refusals()) > 0 {
			t.Fatalf("%+v; refused %q", end, s.Refusals())
		}
		run.Wait()
		if body := string(s.Requests()[1].Body); !strings.Contains(body, "it failed") || !strings.Contains(body, modeltest.PNG(2, 2)) {
			t.Errorf("sent %s", body)
		}
	})
}
