package mcp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// To find out that a file is no image may take long, so such files count.
func TestResult_imagesThatAreNone(t *testing.T) {
	l := newLab(t, Options{})
	none := &sdk.ImageContent{MIMEType: "image/png", Data: dot[:len(dot)-1]}
	r := &sdk.CallToolResult{Content: slices.Repeat([]sdk.Content{none}, maxImages-1)}
	r.Content = append(r.Content, &sdk.ImageContent{MIMEType: "image/png", Data: dot}, &sdk.ImageContent{MIMEType: "image/png", Data: dot})
	k := keeper{ctx: ctx(t), computer: l.computer, secrets: secretsOf(Config{})}
	k.add(r)
	if images := len(k.images) / 2; images != 1 || k.files != maxImages {
		t.Errorf("%d images, %d files", images, k.files)
	}
}

// The note before an image is bounded and holds no secret, as all else.
func TestResult_nameOfAnImage(t *testing.T) {
	l := newLab(t, Options{})
	name := "x?key=canary-4711" + strings.Repeat("x", 1<<20)
	k := keeper{ctx: ctx(t), computer: l.computer, secrets: secretsOf(Config{Headers: map[string]string{"Key": "canary-4711"}})}
	k.add(&sdk.CallToolResult{Content: []sdk.Content{&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: name, MIMEType: "image/png", Blob: dot}}}})
	r := k.result()
	if len(r.Content) != 2 || len(said(r)) > 1<<10 || strings.Contains(said(r), "canary") {
		t.Errorf("%d parts, %.300s", len(r.Content), said(r))
	}
}

// What is left of a long last line may begin within a secret.
func TestFault_S3_theCutEndOfALogHoldsNoHalfSecret(t *testing.T) {
	const secret = "canary-4711-canary-4712-canary-4713"
	for cut := range len(secret) {
		s := secretsOf(Config{Env: map[string]string{"API_TOKEN": secret}})
		var log tail
		for _, size := range []int{maxTail, 2 * maxTail} {
			log = tail{}
			_, _ = log.Write([]byte("token=" + secret + strings.Repeat("x", size-cut)))
			if got := s.line(log.without(s)); strings.Contains(got, "471") {
				t.Fatalf("cut at %d of %d: %s", cut, size, got)
			}
		}
	}
}

// A server whose questions nobody could answer, for it does not listen, is given
// up before they fill the memory.
func TestFault_P4_aServerThatAsksAndDoesNotListen(t *testing.T) {
	web, _ := webServer(t, func(good http.Handler) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			switch body, _ := io.ReadAll(r.Body); {
			case r.Method == http.MethodGet:
				w.Header().Set("Content-Type", "text/event-stream")
				for i := 0; ; i++ {
					if _, err := fmt.Fprintf(w, "data: {\"jsonrpc\":\"2.0\",\"id\":%d,\"method\":\"ping\"}\n\n", i); err != nil {
						return
					}
				}
			case !bytes.Contains(body, []byte(`"method"`)):
				<-r.Context().Done()
			default:
				r.Body = io.NopCloser(bytes.NewReader(body))
				old(good).ServeHTTP(w, r)
			}
		}
	})
	for _, c := range []Config{role("asker"), web} {
		t.Run(c.Name, func(t *testing.T) {
			l := newLab(t, Options{Retry: time.Hour}, c)
			before := runtime.NumGoroutine()
			l.start()
			eventually(t, func() bool {
				if n := runtime.NumGoroutine() - before; n > 2000 {
					t.Fatalf("%d goroutines more", n)
				}
				return l.status(c.Name).State == Failed
			})
		})
	}
}

func TestSet_aListingOfManyBytesIsCut(t *testing.T) {
	l := newLab(t, Options{}, role("bulky"))
	l.start()
	if s := l.status("bulky"); s.State != Connected || s.Tools > 2*maxListing/(4<<20) || len(s.Notes) == 0 {
		t.Error(s)
	}
}

// Schemas that name each other many times are written anew in no time.
func TestFitSchema_bomb(t *testing.T) {
	choices := strings.Join(slices.Repeat([]string{`{"$ref":"#/$defs/a"}`}, 50), ",")
	var schema any
	if err := json.Unmarshal([]byte(`{"anyOf":[`+choices+`],"$defs":{"a":{"properties":{"x":{"type":"string"}},"anyOf":[`+choices+`]}}}`), &schema); err != nil {
		t.Fatal(err)
	}
	done := make(chan json.RawMessage, 1)
	go func() {
		text, _ := fitSchema(schema)
		done <- text
	}()
	select {
	case text := <-done:
		if !strings.Contains(string(text), `"properties":{"x":{"type":"string"}}`) {
			t.Error(string(text))
		}
	case <-ctx(t).Done():
		t.Error("it takes for ever")
	}
}

// A secret is hidden in whatever clothes it comes back.
func TestFault_S3_secretsInOtherClothes(t *testing.T) {
	l := newLab(t, Options{})
	for name, c := range map[string]Config{
		"path":     {URL: "https://example.com/s/canary-4711-4711/mcp"},
		"user":     {URL: "https://canary-4711@example.com/mcp"},
		"password": {URL: "https://admin:canary-4711@example.com/mcp"},
		"header":   {Headers: map[string]string{"X-Key": `canary-4711&<"\`}},
	} {
		s := secretsOf(c)
		secret := c.Headers["X-Key"]
		if got := s.line(fmt.Sprintf("Post %q: refused", c.URL)); strings.Contains(got, "canary") {
			t.Errorf("%s: %s", name, got)
		}
		k := keeper{ctx: ctx(t), computer: l.computer, secrets: s}
		k.add(&sdk.CallToolResult{StructuredContent: map[string]any{"url": c.URL, "key": secret}})
		if got := said(k.result()); strings.Contains(got, "canary") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// What is cut is cut after the secrets were hidden, and a word that everyone
// uses is none.
func TestFault_S3_noHalfSecretsAndNoFalseOnes(t *testing.T) {
	s := secretsOf(Config{Headers: map[string]string{"X-Key": "canary-4711", "X-Readonly": "true"}})
	if got := s.hideIn(`{"ok": true}`); got != `{"ok": true}` {
		t.Error(got)
	}
	if got := s.line("it is true"); strings.Contains(got, "true") {
		t.Error(got)
	}
	c := catalogue{server: "x", secrets: s, names: map[string]bool{}}
	for cut := range len("canary-4711") {
		about := strings.Repeat("x", maxDescription-len("…")-cut) + "canary-4711" + strings.Repeat("x", 100)
		c.add([]*sdk.Tool{{Name: fmt.Sprint("t", cut), Description: about}})
		if got := c.tools[cut].spec.Description; strings.Contains(got, "xcan") || len(got) > maxDescription {
			t.Errorf("cut at %d: %s", cut, got[len(got)-40:])
		}
	}
}

// Whatever a server answers, the daemon lives.
func TestFault_P4_oddAnswers(t *testing.T) {
	odd := []string{
		`"result":null`, `"result":[]`, `"result":7`, `"result":{}`, `"error":null`, `"error":{}`, `"error":7`, `"x":1`,
		`"result":{},"error":{"code":1,"message":"x"}`, `"result":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
	}
	answers := map[string][]string{
		"server/discover": {`"result":{"supportedVersions":["2026-07-28"]}`, `"result":{"supportedVersions":null,"capabilities":null}`},
		"initialize": {
			`"result":{"protocolVersion":"2025-06-18"}`, `"result":{"protocolVersion":"1"}`, `"result":{"protocolVersion":null,"capabilities":{"tools":null}}`,
		},
		"tools/list": {
			`"result":{"tools":null}`, `"result":{"tools":[null]}`, `"result":{"tools":[{}]}`, `"result":{"tools":[[]]}`,
			`"result":{"tools":[{"name":null,"inputSchema":[]}]}`, `"result":{"tools":[{"name":"t","inputSchema":7}]}`,
			`"result":{"tools":[{"name":"t","inputSchema":{"required":[1,null,{}],"properties":{"a":null,"b":[{}]},"anyOf":[null,[],{"anyOf":null}]},"annotations":null,"icons":[null]}]}`,
			`"result":{"tools":[{"name":"t","inputSchema":{"required":[[],{}],"properties":{"a":{"x-mcp-header":7}}}}]}`,
		},
		"tools/call": {
			`"result":{"content":null}`, `"result":{"content":[null]}`, `"result":{"content":{}}`, `"result":{"content":[{}]}`, `"result":{"content":[{"type":"odd"}]}`,
			`"result":{"content":[{"type":"resource"}]}`, `"result":{"content":[{"type":"resource","resource":null}]}`, `"result":{"content":[{"type":"image"}]}`,
			`"result":{"content":[{"type":"image","data":"%%"}]}`, `"result":{"content":[{"type":"resource_link"}]}`, `"result":{"resultType":"input_required"}`,
			`"result":{"resultType":"input_required","inputRequests":{"x":null}}`, `"result":{"resultType":"task","task":null}`,
		},
		"ASK": {
			`{"jsonrpc":"2.0","method":"notifications/progress"}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":null}`,
			`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":{}}}`, `{"jsonrpc":"2.0","method":"notifications/progress","params":[]}`,
			`{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":7}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`,
			`{"jsonrpc":"2.0","id":1,"method":"sampling/createMessage"}`, `{"jsonrpc":"2.0","id":1,"method":"elicitation/create","params":null}`,
			`{"jsonrpc":"2.0","id":1,"method":"roots/list","params":null}`, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}`,
			`{"jsonrpc":"2.0","method":"notifications/cancelled"}`, `{"jsonrpc":"2.0","id":1,"result":null}`, `{"jsonrpc":"2.0","id":99,"result":{}}`, `{"jsonrpc":"2.0","method":7}`,
			`{"jsonrpc":"2.0","method":"notifications/message","params":null}`, `[]`, `[null]`, `{}`, `null`,
		},
	}
	for method, list := range answers {
		if method != "ASK" {
			list = slices.Concat(list, odd)
		}
		for _, answer := range list {
			c := role("odd")
			c.Env[method] = answer
			l := newLab(t, Options{Retry: time.Hour, Start: 100 * time.Millisecond, Call: 100 * time.Millisecond}, c)
			l.start()
			for _, tool := range l.Tools(l.computer) {
				_, err := tool.Run(ctx(t), json.RawMessage(`{}`), quiet)
				t.Logf("%s %.80s: %v", method, answer, err)
			}
			if got := l.status("odd"); got.State == Failed {
				t.Logf("%s %.80s: %.200v", method, answer, got)
			}
			l.Close()
		}
	}
}
