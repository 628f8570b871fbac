package e2e

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/harness/modeltest"
)

// TestSecret_a_key_in_the_environment_stays_with_the_daemon has a key that is
// used, commands that look for it, and a provider that refuses it.
func TestSecret_a_key_in_the_environment_stays_with_the_daemon(t *testing.T) {
	t.Parallel()
	const canary, other = "sk-ant-CANARY-0123456789-abcdef", "lab-CANARY-9876543210"
	w := newWorld(t)
	look := `env; cat /proc/self/environ /proc/$PPID/environ /proc/1/environ; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline; set; ls -la ~ $TMPDIR; find / -xdev -name settings.json -o -xdev -name auth.json -o -name sessions.db | head; cat ` + w.state + `/auth.json`
	model := modeltest.NewAnthropic(t,
		modeltest.Turn{Calls: []modeltest.Call{{ID: "toolu_1", Name: "bash", Arguments: fmt.Sprintf(`{"label":"look","command":%q}`, look)}}},
		modeltest.Turn{Text: "Nothing."},
		modeltest.Turn{Status: 401, Body: `{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + canary + `"}}`},
	)
	w.write(w.state+"/models.json", fmt.Sprintf(`{"providers":{"anthropic":{"baseUrl":%q}}}`, model.URL))
	w.write(w.state+"/auth.json", fmt.Sprintf(`{"openai":{"type":"api_key","key":%q}}`, other))
	w.write(w.state+"/settings.json", "{}")
	w.env = []string{"ANTHROPIC_API_KEY=" + canary}
	d := w.serve()
	w.must(`echo debug on > $M/ctl; mkdir $D; mikan ask demo 'find the key'; mikan ask demo again || true; cat $D/wait`)
	for _, r := range model.Requests() {
		if !strings.Contains(r.Header.Get("X-Api-Key")+r.Header.Get("Authorization"), canary) {
			t.Fatalf("the provider was not given its key: %v", r.Header)
		}
		if bytes.Contains(r.Body, []byte("CANARY")) {
			t.Error("the model was shown the key")
		}
	}
	if n := len(model.Requests()); n != 3 {
		t.Fatalf("%d requests, want 3: %s", n, w.must(`cat $D/status`))
	}
	wantAll(t, "transcript", w.must(`cat $D/sessions/main/transcript`), "PATH=/usr/local/sbin") // it has looked

	tree := w.must(`grep -rc '' $M > $T/counted; find $M -type f -exec cat {} +; cat $D/sessions/main/reply $M/errstr || true; mikan env; mikan doctor || true`)
	noSecret(t, "the tree", []byte(tree), canary, other)
	d.term()
	noSecret(t, "standard error", []byte(d.stderr.String()), canary, other)
	for _, root := range []string{w.state, w.workspace} {
		err := filepath.WalkDir(root, func(path string, e fs.DirEntry, err error) error {
			if err != nil || !e.Type().IsRegular() || path == w.state+"/auth.json" {
				return err
			}
			data, err := os.ReadFile(path)
			noSecret(t, path, data, canary, other)
			return err
		})
		if err != nil {
			t.Error(err)
		}
	}
}

// noSecret checks that data has none of the secrets, as they are or in base64.
func noSecret(t *testing.T, what string, data []byte, secrets ...string) {
	t.Helper()
	for _, s := range secrets {
		for shift := range 3 {
			// Without the ends, which depend on what stands beside it.
			code := base64.StdEncoding.EncodeToString([]byte("xyz"[:shift] + s))
			if bytes.Contains(data, []byte(code[4:len(code)-4])) {
				t.Errorf("%s has %s in base64", what, s)
			}
		}
		if i := bytes.Index(data, []byte(s)); i >= 0 {
			t.Errorf("%s shows %s: …%q", what, s, data[max(0, i-100):i])
		}
	}
}
