package modeltest_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/wire"
)

// screenshot is a picture whose file has about that many bytes.
func screenshot(t *testing.T, width, size int) wire.Part {
	t.Helper()
	raw, err := base64.StdEncoding.DecodeString(modeltest.PNG(width, 1))
	if err != nil {
		t.Fatal(err)
	}
	return wire.Part{Type: wire.Image, MimeType: "image/png", Data: base64.StdEncoding.EncodeToString(append(raw, make([]byte, size)...))}
}

// screenshots are n calls, each of which gave a picture of about size bytes.
func screenshots(t *testing.T, a api, n, size int) []wire.Message {
	msgs := []wire.Message{user("look around")}
	for i := range n {
		id := fmt.Sprint("shot", i)
		msgs = append(msgs, assistant(a, callPart(id, "read", `{"path":"x.png"}`)),
			wire.Message{Role: wire.ToolResult, ToolCallID: id, ToolName: "read", Content: []wire.Part{wire.TextPart(fmt.Sprint("picture ", i)), screenshot(t, i+1, size)}})
	}
	return msgs
}

func TestFault_H6_request_under_byte_cap(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		for name, caps := range map[string]harness.Caps{"known": {Body: 32_000_000, Images: 100, ImageBytes: 5 << 20}, "unknown": {}} {
			s := a.server(t, modeltest.Turn{Text: "seen"})
			j := &journal{t: t, dir: t.TempDir()}
			shots := screenshots(t, a, 42, 610_000) // 34 MB in base64
			if err := j.Append(t.Context(), shots...); err != nil {
				t.Fatal(err)
			}
			a.model.Caps = caps
			if end := do(t, a, s, j, "and now?"); end.Outcome != wire.OK {
				t.Fatalf("%s: %+v %.200q", name, end.Err, s.Refusals())
			}
			body := string(s.Requests()[0].Body)
			most := caps.Body
			if most == 0 {
				most = 20 << 20
			}
			if len(body) > most || len(body) < most/2 {
				t.Errorf("%s: the body has %d bytes, and may have %d", name, len(body), most)
			}
			newest, oldest := shots[len(shots)-1].Content[1].Data, shots[2].Content[1].Data
			if !strings.Contains(body, newest) || strings.Contains(body, oldest) || !strings.Contains(body, "[image left out: the newer ones fill the request]") {
				t.Errorf("%s: it is not the oldest that are left out", name)
			}
			if msgs := paired(t, j); len(msgs) != len(shots)+2 || msgs[2].Content[1].Data != oldest {
				t.Errorf("%s: the history has changed", name)
			}
		}
	})
}

func TestFault_H6_image_caps_leave_the_beginning_of_a_request_as_it_is_for_a_while(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		a.model.Caps = harness.Caps{Images: 30}
		changes, was := 0, 0
		for n := 34; n < 42; n++ {
			s := a.server(t, modeltest.Turn{Text: "seen"})
			if _, _, _, err := ask(t, a, s, append(screenshots(t, a, n, 100), user("?"))...); err != nil {
				t.Fatal(err)
			}
			out := strings.Count(string(s.Requests()[0].Body), "[image left out")
			if n-out > 30 || n-out < 20 {
				t.Errorf("%d of %d are left out", out, n)
			}
			if out != was {
				changes++
			}
			was = out
		}
		if changes > 2 {
			t.Errorf("the beginning changed %d times", changes)
		}
	})
}

func TestFault_H6_a_refused_body_is_halved_once(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		refusal := modeltest.Turn{Status: 413, Body: `{"type":"error","error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}`}
		s := a.server(t, refusal, modeltest.Turn{Text: "seen"}, refusal, refusal)
		j := &journal{t: t, dir: t.TempDir()}
		shots := screenshots(t, a, 6, 610_000)
		shots = append(shots, assistant(a, callPart("long", "bash", `{}`)), result("long", strings.Repeat("log line\n", 900_000)))
		if err := j.Append(t.Context(), shots...); err != nil {
			t.Fatal(err)
		}
		a.model.Window = 4_000_000
		if end := do(t, a, s, j, "and now?"); end.Outcome != wire.OK {
			t.Fatalf("%+v", end.Err)
		}
		first, second := len(s.Requests()[0].Body), len(s.Requests()[1].Body)
		if second > first/2 || second < 1000 {
			t.Errorf("%d bytes, then %d", first, second)
		}
		end := do(t, a, s, j, "once more")
		if end.Outcome != wire.Failed || s.Left() != 0 || !strings.Contains(end.Err.Error(), "start a new one with 'new'") {
			t.Errorf("%+v", end)
		}
	})
}

func TestFault_H6_a_refused_body_that_was_at_its_cap_is_halved_too(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		s := a.server(t, modeltest.Turn{Status: 413, Body: `{"error":{"message":"too large"}}`}, modeltest.Turn{Text: "seen"})
		j := &journal{t: t, dir: t.TempDir()}
		if err := j.Append(t.Context(), screenshots(t, a, 70, 610_000)...); err != nil { // 57 MB in base64
			t.Fatal(err)
		}
		if end := do(t, a, s, j, "and now?"); end.Outcome != wire.OK {
			t.Fatalf("%+v", end.Err)
		}
		if first, second := len(s.Requests()[0].Body), len(s.Requests()[1].Body); second > first/2+1<<20 {
			t.Errorf("%d bytes, then %d", first, second)
		}
	})
}
