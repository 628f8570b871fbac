package runtime_test

import (
	"fmt"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// A session goes from one provider to the next and back, with thinking, calls
// whose ids only their maker takes, and a restart; no server is given what
// another has signed.
func TestFault_H5_a_session_goes_from_provider_to_provider(t *testing.T) {
	l := newLab(t)
	servers := make([]*modeltest.Server, len(modelServers))
	providers := make([]string, len(modelServers))
	for i, m := range modelServers {
		servers[i] = m.make(t)
		providers[i] = fmt.Sprintf(`"p%d":{"baseUrl":%q,"api":%q,"apiKey":"k","models":[
			{"id":"m","reasoning":true,"input":["text","image"],"contextWindow":200000,"maxTokens":8000}]}`, i, servers[i].URL, m.api)
	}
	l.write("models.json", `{"providers":{`+strings.Join(providers, ",")+`}}`)
	rt := l.start()
	c := l.office(rt, "demo")
	for n := range 2 * len(servers) {
		i := n % len(servers)
		s := session(t, c, "main")
		if err := s.SetModel(ctx(t), fmt.Sprintf("p%d/m:high", i)); err != nil {
			t.Fatal(err)
		}
		servers[i].Then(
			modeltest.Turn{
				Thinking: fmt.Sprint("thoughts of ", i), Signature: fmt.Sprint("signature of ", i), Text: "I look.",
				Calls: []modeltest.Call{
					{ID: "call|" + strings.Repeat("z", 60), Name: "bash", Arguments: `{"label":"x","command":"echo out"}`},
					{ID: "call|" + strings.Repeat("z", 60), Name: "bash", Arguments: `["no object"]`},
				},
			},
			modeltest.Turn{Redacted: fmt.Sprint("opaque of ", i), Text: "Done."})
		if got := answer(t, s, "go"); !strings.HasSuffix(got, "Done.\n") {
			t.Fatalf("turn %d: %q; refused %q", n, got, servers[i].Refusals())
		}
		if n == 3 {
			if err := rt.Close(); err != nil {
				t.Fatal(err)
			}
			rt = l.start()
			c = l.office(rt, "demo")
		}
	}
	for i, s := range servers {
		if refused := s.Refusals(); len(refused) > 0 {
			t.Errorf("server %d refused %q", i, refused)
		}
		for _, r := range s.Requests() {
			for other := range servers {
				for _, what := range []string{"thoughts of ", "signature of ", "opaque of "} {
					if other != i && strings.Contains(string(r.Body), fmt.Sprint(what, other)) {
						t.Errorf("server %d got the %s%d", i, what, other)
					}
				}
			}
		}
	}
}
