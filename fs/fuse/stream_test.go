package fuse_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// talk is a directory with one file of each conversational kind.
type talk struct {
	feed  fs.Feed
	reply *fs.Stream
	asked record
}

// newTalk returns it and its mount. ask answers "you said: …".
func newTalk(tb testing.TB) (*talk, string, *fuse.Server) {
	t := &talk{reply: fs.NewStream()}
	dir := &fs.Dir{Children: map[string]fs.Node{
		"feed":  &t.feed,
		"reply": &fs.Answer{Bind: func(context.Context, *fs.Identity) (*fs.Stream, error) { return t.reply, nil }},
		"ask":   &fs.Ask{Commit: t.commit},
	}}
	tree := newTree(dir)
	dir.Add("errstr", tree.Errstr())
	m, srv := mountedServer(tb, tree, fuse.Options{})
	return t, m, srv
}

func (t *talk) commit(_ context.Context, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
	if string(body) == "bad\n" {
		return nil, 0, fs.Errorf(fs.Invalid, "say something else")
	}
	t.asked.add(who, string(body))
	answer := fs.NewStream()
	answer.Append([]byte("you said: "))
	answer.Append(body)
	answer.End(nil)
	return answer, 1, nil
}

// passes publishes line and waits until p has it.
func (t *talk) passes(tb testing.TB, p *started, line string) {
	tb.Helper()
	t.feed.Publish([]byte(line))
	got, err := p.out.ReadString('\n')
	if err != nil || got != line+"\n" {
		tb.Fatalf("read %q, %v; want %q", got, err, line)
	}
}

func TestAskOnOneOpenFile(t *testing.T) {
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			needs(t, shell)
			talk, m, _ := newTalk(t)
			r := run(t, m, shell, "-c", `exec 3<>$M/ask; echo hi >&3; cat <&3; echo again >&3; cat <&3`)
			want(t, "answers", r.out+r.err, "you said: hi\nyou said: again\n")
			want(t, "bodies", fmt.Sprint(talk.asked.taken()), fmt.Sprint([]string{"hi\n", "again\n"}))
		})
	}
}

func TestAskHereDocumentIsOneBody(t *testing.T) {
	talk, m, _ := newTalk(t)
	must(t, m, "exec 3<>$M/ask; cat >&3 <<'E'\nline one\n\nline three\nE\nread -r line <&3; echo $line")
	// The document was written by a child, so it is the read that commits.
	want(t, "bodies", fmt.Sprintf("%q", talk.asked.taken()), fmt.Sprintf("%q", []string{"line one\n\nline three\n"}))
}

func TestAskRefusedIsAnErrorOfTheRead(t *testing.T) {
	_, m, _ := newTalk(t)
	r := sh(t, m, `exec 3<>$M/ask; printf 'bad\n' | cat >&3; cat <&3; echo $?; cat $M/errstr`)
	want(t, "output", r.out, "1\nread ask: say something else\n")
}

func TestFeedLoopLosesNothing(t *testing.T) {
	for _, shell := range []string{"bash", "dash"} {
		t.Run(shell, func(t *testing.T) {
			needs(t, shell)
			talk, m, _ := newTalk(t)
			cmd := fmt.Sprintf(`exec %s -c 'exec 3<$M/feed; echo open; while IFS= read -r line; do echo "$line"; done <&3'`, shell)
			p := bash(t, m, cmd)
			var sent strings.Builder
			for i := range 50 {
				line := fmt.Sprintf("line %d %s\n", i, strings.Repeat("x", i))
				talk.feed.Publish([]byte(line))
				sent.WriteString(line)
			}
			talk.feed.Close()
			got, err := io.ReadAll(p.out)
			if err != nil || string(got) != sent.String() {
				t.Errorf("%v: got %d bytes, want %d", err, len(got), sent.Len())
			}
		})
	}
}

func TestBlockedReadersAreDeliveredAtOnceAndIndependently(t *testing.T) {
	talk, m, _ := newTalk(t)
	var readers []*started
	for range 20 {
		readers = append(readers, bash(t, m, `exec 3<$M/feed; echo open; exec cat <&3`))
	}
	for i := range 3 {
		line := fmt.Sprint("line ", i)
		talk.feed.Publish([]byte(line))
		for _, p := range readers {
			if got, err := p.out.ReadString('\n'); err != nil || got != line+"\n" {
				t.Fatalf("%q, %v", got, err)
			}
		}
	}
	want(t, "ls while they wait", must(t, m, `ls $M`), "errstr\n")
}

func TestKilledReaderEndsPromptlyAndLosesNothing(t *testing.T) {
	talk, m, _ := newTalk(t)
	for _, signal := range []string{"TERM", "INT", "KILL"} {
		p := bash(t, m, `exec 3<$M/reply; echo open; exec cat <&3`)
		began := time.Now()
		must(t, m, fmt.Sprintf(`kill -%s %d`, signal, p.cmd.Process.Pid))
		if _, err := p.out.ReadByte(); err != io.EOF {
			t.Errorf("%s: %v", signal, err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("%s: it took %v", signal, took)
		}
	}
	talk.reply.Append([]byte("all of it"))
	talk.reply.End(nil)
	want(t, "the next reader", must(t, m, `cat $M/reply`), "all of it")
}

func TestSignalThatIsHandledDoesNotEndARead(t *testing.T) {
	needs(t, "python3")
	talk, m, _ := newTalk(t)
	p := bash(t, m, `exec python3 -c '
import os, signal, sys
signal.signal(signal.SIGUSR1, lambda *a: None)
fd = os.open(os.environ["M"]+"/feed", os.O_RDONLY)
print("open", flush=True)
while True:
    line = os.read(fd, 4096)
    sys.stdout.write(line.decode()); sys.stdout.flush()
'`)
	for i := range 20 {
		must(t, m, fmt.Sprintf(`kill -USR1 %d`, p.cmd.Process.Pid))
		talk.passes(t, p, fmt.Sprint("line ", i))
	}
}

func TestNonBlockingReaderIsAtTheEnd(t *testing.T) {
	needs(t, "grep", "dd")
	_, m, _ := newTalk(t)
	r := sh(t, m, `dd if=$M/feed iflag=nonblock status=none; echo $?; grep -D skip . $M/feed $M/ask $M/reply; echo $?`)
	want(t, "output", r.out, "0\n1\n")
}

func TestFailedAnswerIsAnErrorAfterItsText(t *testing.T) {
	talk, m, _ := newTalk(t)
	talk.reply.Append([]byte("half\n"))
	talk.reply.End(fs.Errorf(fs.IO, "the model went away"))
	r := sh(t, m, `cat $M/reply; echo $?; cat $M/errstr`)
	want(t, "output", r.out, "half\n1\nread reply: the model went away\n")
	if !strings.Contains(r.err, "Input/output error") {
		t.Errorf("cat said %q", r.err)
	}
}

func TestCloseGivesBlockedReadersTheEnd(t *testing.T) {
	_, m, srv := newTalk(t)
	var readers []*started
	for range 10 {
		readers = append(readers, bash(t, m, `exec 3<$M/reply; echo open; cat <&3; echo "exit $?"`))
	}
	began := time.Now()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
	for _, p := range readers {
		p.wantEnd(t, "exit 0\n")
	}
}

func TestCloseEndsAReaderThatIgnoresTheEnd(t *testing.T) {
	_, m, srv := newTalk(t)
	p := bash(t, m, `exec 3<$M/feed; echo open; while head -c 1 <&3 2>/dev/null; do :; done; echo over`)
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	p.wantEnd(t, "over\n")
}

// growing is the source of a log.
type growing struct {
	mu   sync.Mutex
	text []byte
}

func (g *growing) add(line string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.text = append(g.text, line...)
}

func (g *growing) Size(context.Context) (int64, time.Time, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return int64(len(g.text)), time.Unix(1e9, 0), nil
}

func (g *growing) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return bytes.NewReader(g.text).ReadAt(p, off)
}

func TestTailFollowsALog(t *testing.T) {
	needs(t, "tail")
	source := &growing{}
	source.add("one\n")
	m := mounted(t, newTree(&fs.Dir{Children: map[string]fs.Node{"log": &fs.Log{Source: source}}}), fuse.Options{})
	p := bash(t, m, `exec tail -s 0.05 -f $M/log`)
	want(t, "first line", p.line, "one\n")
	for _, line := range []string{"two\n", "three\n"} {
		source.add(line)
		got, err := p.out.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		want(t, "next line", got, line)
	}
}
