package modeltest_test

import (
	"errors"
	"os"
	"strings"
	"testing"

	"mikan/harness"
	"mikan/harness/modeltest"
	"mikan/wire"
)

// double returns a server that others wrote, with testdata/double/fixtures.json
// as its script. "make test-double" starts one and names it in MIKAN_DOUBLE.
func double(t *testing.T, a api) *modeltest.Server {
	t.Helper()
	url := os.Getenv("MIKAN_DOUBLE")
	if url == "" {
		t.Skip("MIKAN_DOUBLE names no server; make test-double starts one")
	}
	if a.name != "anthropic" {
		url += "/v1"
	}
	return &modeltest.Server{URL: url}
}

func TestDouble_gives_text_and_thinking_as_we_read_them(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		const want = "Hello, grüße 😀 日本語, and more, so that it comes in pieces."
		m, text, thinking, err := ask(t, a, double(t, a), user("say hello"))
		if err != nil || text != want || m.PlainText() != want || thinking != "A greeting is wanted." || m.StopReason != wire.StopEnd ||
			m.Usage.Input != 12 || m.Usage.Output != 7 {
			t.Errorf("%q, thinking %q, %+v %+v %v", text, thinking, m, m.Usage, err)
		}
	})
}

func TestDouble_takes_the_results_of_its_calls(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		j := &journal{t: t, dir: t.TempDir()}
		end := do(t, a, double(t, a), j, "use the tools")
		if end.Outcome != wire.OK || end.Calls != 2 || end.Final[0].PlainText() != "Both are done." {
			t.Fatalf("%+v", end)
		}
		var outputs []string
		for _, m := range paired(t, j) {
			if m.Role == wire.ToolResult {
				outputs = append(outputs, m.PlainText())
			}
		}
		if got := strings.Join(outputs, "; "); got != `bash {"command":"ls"}; read {"path":"x"}` {
			t.Error(got)
		}
	})
}

func TestDouble_refuses_as_we_read_it(t *testing.T) {
	each(t, func(t *testing.T, a api) {
		_, _, _, err := ask(t, a, double(t, a), user("too fast"))
		var e *harness.ModelError
		if !errors.As(err, &e) || e.Trouble != harness.RateLimit || !strings.Contains(e.Text, "Slow down") {
			t.Errorf("%#v", err)
		}
	})
}
