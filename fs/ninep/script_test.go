package ninep_test

import (
	"encoding/hex"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestScripts plays the conversations of testdata/*.txt. A line "-> message" is
// sent and "<- message" must come back, both in the notation of 9fans'
// plan9.Fcall. "-> raw" is followed by a frame in hexadecimal, "<- eof" is the
// server's hanging up. In what must come back, * stands for a word and ... for
// anything. An empty line, and what follows #, means nothing.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) { play(t, file) })
	}
}

func play(t *testing.T, file string) {
	script, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	nc.SetDeadline(time.Now().Add(5 * time.Second))
	w := &wire{t, nc}
	for i, line := range strings.Split(string(script), "\n") {
		line, _, _ = strings.Cut(line, "#")
		line = strings.TrimSpace(line)
		what, msg, _ := strings.Cut(line, " ")
		switch what {
		case "":
		case "->":
			if raw, ok := strings.CutPrefix(msg, "raw "); ok {
				sendRaw(w, raw)
			} else {
				w.send(msg)
			}
		case "<-":
			if got := w.recv(); !pattern(msg).MatchString(got) {
				t.Fatalf("line %d: got\n\t%s\nwant\n\t%s", i+1, got, msg)
			}
		default:
			t.Fatalf("line %d: %q is neither -> nor <-", i+1, line)
		}
	}
}

func sendRaw(w *wire, text string) {
	frame, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.Write(frame); err != nil {
		w.t.Fatal(err)
	}
}

// pattern compiles what a script expects.
func pattern(text string) *regexp.Regexp {
	p := regexp.QuoteMeta(text)
	p = strings.ReplaceAll(p, `\.\.\.`, `.*`)
	p = strings.ReplaceAll(p, `\*`, `[^ ]+`)
	return regexp.MustCompile(`(?s)^` + p + `$`)
}
