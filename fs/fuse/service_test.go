package fuse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// hooks is a tree with service files.
type hooks struct {
	services map[string]*fs.Service
	reads    atomic.Int64 // of tool_call
	tree     *fs.Tree
}

func newHooks(tb testing.TB) *hooks {
	bodies := &fs.Bodies{}
	verbs := []fs.Verb{
		{Name: "allow", Informed: true}, {Name: "deny", Takes: fs.TakesText}, {Name: "replace", Takes: fs.TakesJSON},
	}
	h := &hooks{services: map[string]*fs.Service{"call": {Exclusive: true}}}
	for _, name := range []string{"tool_call", "before_agent_start", "tool_result"} {
		h.services[name] = &fs.Service{Verbs: verbs, Bodies: bodies}
	}
	dir := &fs.Dir{Children: map[string]fs.Node{fs.BodyDir: bodies}}
	for name, s := range h.services {
		tb.Cleanup(s.Close)
		dir.Add(name, s)
	}
	dir.Add("tool_call", counted{h.services["tool_call"], &h.reads})
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"hooks": dir}}
	h.tree = newTree(root)
	root.Add("errstr", h.tree.Errstr())
	root.Add("holds", &fs.Value{Get: func(_ context.Context, who *fs.Identity) ([]byte, time.Time, error) {
		return fmt.Appendln(nil, h.services["tool_call"].Holds(who)), time.Unix(1e9, 0), nil
	}})
	return h
}

// counted is a service that counts the reads of its files.
type counted struct {
	*fs.Service
	reads *atomic.Int64
}

type serviceHandle interface {
	fs.Handle
	fs.Reader
	fs.Writer
	fs.Syncer
	fs.Truncater
}

type countedHandle struct {
	serviceHandle
	reads *atomic.Int64
}

func (c counted) Open(ctx context.Context, who *fs.Identity, how fs.Flags) (fs.Handle, error) {
	h, err := c.Service.Open(ctx, who, how)
	if err != nil {
		return nil, err
	}
	return countedHandle{h.(serviceHandle), c.reads}, nil
}

func (h countedHandle) Read(ctx context.Context, p []byte, off int64) (int, error) {
	h.reads.Add(1)
	return h.serviceHandle.Read(ctx, p, off)
}

// listener waits for the one who has opened the hook.
func (h *hooks) listener(t *testing.T, hook string) *fs.Listener {
	t.Helper()
	eventually(t, "a listener of "+hook, func() bool { return len(h.services[hook].Listeners()) == 1 })
	return h.services[hook].Listeners()[0]
}

// script runs a script that serves hooks, in the directory that holds them.
func script(t *testing.T, mount, text string) *started {
	t.Helper()
	return bash(t, mount, "cd $M; echo ready\n"+text)
}

func ask(t *testing.T, l *fs.Listener, limit time.Duration, q fs.Question) (fs.Reply, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), limit)
	defer cancel()
	return l.Ask(ctx, q)
}

const patient = 10 * time.Second

func question(line string) fs.Question { return fs.Question{Line: json.RawMessage(line)} }

func large(body string) fs.Question {
	return fs.Question{Line: json.RawMessage(`{"toolName":"bash"}`), Body: []byte(body)}
}

const (
	veto = `exec 3<>hooks/tool_call                               # veto
while read -r tag req <&3; do
	case $req in *'rm -rf'*) echo "$tag deny not on my watch";; *) echo "$tag allow";; esac >&3
done`
	rewrite = `exec 3<>hooks/before_agent_start                      # rewrite
while read -r tag req <&3; do
	printf '%s replace %s\n' "$tag" "$(jq -c '.prompt+="\n(be brief)"|{prompt}' <<<"$req")" >&3
done`
	redact = `exec 3<>hooks/tool_result                             # redact
while read -r tag req <&3; do
	printf '%s replace %s\n' "$tag" "$(sed -E 's/AKIA[0-9A-Z]{16}/[redacted]/g' <<<"$req")" >&3
done`
	redactBodies = `exec 3<>hooks/tool_result
while read -r tag req <&3; do
	sed -E 's/AKIA[0-9A-Z]{16}/[redacted]/g' hooks/.body/$tag >$T/body
	cat $T/body >hooks/.body/$tag && echo "$tag replace" >&3
done`
)

const key = "AKIA0123456789ABCDEF"

// eachMount runs a test on a mount of the tree, and on one of a 9P connection to
// it.
func eachMount(t *testing.T, test func(t *testing.T, h *hooks, mount string)) {
	t.Run("in process", func(t *testing.T) {
		t.Parallel()
		h := newHooks(t)
		test(t, h, mounted(t, h.tree, fuse.Options{}))
	})
	t.Run("9p", func(t *testing.T) {
		t.Parallel()
		h := newHooks(t)
		test(t, h, mounted(t, overNinep(t, h.tree), fuse.Options{}))
	})
}

func TestShellScriptsServeHooks(t *testing.T) {
	needs(t, "jq", "sed")
	eachMount(t, func(t *testing.T, h *hooks, m string) {
		for _, c := range []struct {
			script, hook string
			question     fs.Question
			want         string
		}{
			{veto, "tool_call", question(`{"toolName":"bash","args":{"command":"rm -rf /"}}`), "deny not on my watch"},
			{veto, "tool_call", question(`{"toolName":"bash","args":{"command":"ls"}}`), "allow"},
			{rewrite, "before_agent_start", question(`{"prompt":"hello","images":[]}`), `replace {"prompt":"hello\n(be brief)"}`},
			{redact, "tool_result", question(`{"content":"` + key + `"}`), `replace {"content":"[redacted]"}`},
			{redactBodies, "tool_result", large(strings.Repeat("x", 100_000) + key), "replace " + strings.Repeat("x", 100_000) + "[redacted]"},
		} {
			p := script(t, m, c.script)
			l := h.listener(t, c.hook)
			for range 3 {
				r, err := ask(t, l, patient, c.question)
				got := strings.TrimRight(fmt.Sprintf("%s %s%s", r.Verb, r.Text, r.Content()), " ")
				if err != nil || got != c.want {
					t.Errorf("%.40s: %.200q, %v; want %.200q", c.script, got, err, c.want)
				}
			}
			p.kill()
			<-l.Done()
		}
	})
}

func TestDashServesAHook(t *testing.T) {
	needs(t, "dash")
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	script(t, m, "exec dash -c '"+strings.ReplaceAll(veto, "'", `'\''`)+"'")
	r, err := ask(t, h.listener(t, "tool_call"), patient, question(`"rm -rf"`))
	if err != nil || r.Text != "not on my watch" {
		t.Errorf("%+v, %v", r, err)
	}
}

// A script that cannot see all of a request does not let it pass by accident.
func TestAVetoThatDoesNotReadTheBodyIsNoAnswer(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	script(t, m, veto)
	_, err := ask(t, h.listener(t, "tool_call"), patient, large("rm -rf /"))
	if !errors.Is(err, fs.ErrUnread) {
		t.Error(err)
	}
}

func TestALargeBodyCostsAShellNoMoreReadsThanTheLineHasBytes(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	script(t, m, `exec 3<>hooks/tool_call; read -r tag req <&3; wc -c <hooks/.body/$tag >$T/n; echo "$tag deny $(<$T/n)" >&3; read`)
	r, err := ask(t, h.listener(t, "tool_call"), patient, large(strings.Repeat("x", 4<<20)))
	if err != nil || r.Text != "4194304" {
		t.Errorf("%+v, %v", r, err)
	}
	if n := h.reads.Load(); n > fs.MaxRequestLine {
		t.Errorf("%d reads", n)
	}
}

func TestGarbageIsRefusedAndASecondAnswerToo(t *testing.T) {
	eachMount(t, func(t *testing.T, h *hooks, m string) {
		p := script(t, m, `exec 3<>hooks/tool_call; read -r tag req <&3
for answer in garbage "$tag" "$tag maybe" "$tag replace {" "$tag deny once" "$tag allow"; do
	if echo "$answer" 2>/dev/null >&3; then echo taken: $answer; else echo refused: $answer; fi
done`)
		r, err := ask(t, h.listener(t, "tool_call"), patient, question(`{}`))
		if err != nil || r.Text != "once" {
			t.Errorf("%+v, %v", r, err)
		}
		p.wantEnd(t, "refused: garbage\nrefused: 1\nrefused: 1 maybe\nrefused: 1 replace {\ntaken: 1 deny once\nrefused: 1 allow\n")
	})
}

func TestALongAnswerArrivesInManyWrites(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	script(t, m, `exec 3<>hooks/tool_call; read -r tag req <&3; printf -v long '%0500000d' 0; echo "$tag deny $long" >&3; read`)
	r, err := ask(t, h.listener(t, "tool_call"), patient, question(`{}`))
	if err != nil || len(r.Text) != 500_000 {
		t.Errorf("%d bytes, %v", len(r.Text), err)
	}
}

func TestAListenerThatDiesSettlesAtOnce(t *testing.T) {
	eachMount(t, func(t *testing.T, h *hooks, m string) {
		p := script(t, m, `exec 3<>hooks/tool_call; read -r tag req <&3; echo held; read`)
		l := h.listener(t, "tool_call")
		done := make(chan error, 1)
		go func() { _, err := l.Ask(context.Background(), question(`{}`)); done <- err }()
		if line, err := p.out.ReadString('\n'); line != "held\n" {
			t.Fatal(line, err)
		}
		began := time.Now()
		p.kill()
		if err := <-done; !errors.Is(err, fs.ErrGone) {
			t.Error(err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
	})
}

// A script is dead, but what it has started holds its files open.
func TestAChildThatKeepsTheFileOpenIsNotAskedAgain(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	p := script(t, m, `exec 3<>hooks/tool_call; read -r tag req <&3; sleep 1000 >/dev/null 2>&1 & exit`)
	l := h.listener(t, "tool_call")
	ctx, cancel := context.WithCancel(t.Context())
	held := make(chan error, 1)
	go func() { _, err := l.Ask(ctx, question(`{}`)); held <- err }()
	if _, err := io.ReadAll(p.out); err != nil { // to the script's end
		t.Fatal(err)
	}
	if _, err := ask(t, l, 50*time.Millisecond, question(`{}`)); !errors.Is(err, fs.Timeout) {
		t.Error(err)
	}
	cancel()
	if err := <-held; !errors.Is(err, fs.Interrupted) {
		t.Error(err)
	}
	if n := len(h.services["tool_call"].Listeners()); n != 0 {
		t.Errorf("%d listeners are asked", n)
	}
	p.kill()
	<-l.Done()
}

func TestASecondClientOfAnExclusiveServiceIsBusy(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	p := script(t, m, `exec 3<>hooks/call; echo open; read`)
	if line, err := p.out.ReadString('\n'); line != "open\n" {
		t.Fatal(line, err)
	}
	r := sh(t, m, `exec 3<>$M/hooks/call`)
	if r.code == 0 || !strings.Contains(r.err, "Device or resource busy") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	p.kill()
	h.services["call"].Close()
}

func TestReadingAServiceSaysHowToOpenIt(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	r := sh(t, m, `cat $M/hooks/tool_call; cat $M/errstr`)
	if !strings.Contains(r.err, "Invalid argument") || !strings.Contains(r.out, "exec 3<>file") {
		t.Errorf("%s%s", r.out, r.err)
	}
	want(t, "the directory", must(t, m, `ls -a $M/hooks`), ".\n..\n")
}

func TestAReaderThatMustNotWaitIsAtTheEnd(t *testing.T) {
	needs(t, "python3")
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	out := must(t, m, `python3 -c '
import os
fd = os.open(os.environ["M"]+"/hooks/tool_call", os.O_RDWR|os.O_NONBLOCK)
print(os.read(fd, 100))'`)
	want(t, "read", out, "b''\n")
}

// The client is the script and what it starts, not the user's other shells.
func TestWhoHoldsAQuestionIsKnownThroughAMount(t *testing.T) {
	h := newHooks(t)
	m := mounted(t, h.tree, fuse.Options{})
	p := script(t, m, `exec 3<>hooks/tool_call; read -r tag req <&3; read -r self <holds; echo $self $(cat holds) $(bash -c 'cat holds; :'); read -r go; echo "$tag allow" >&3; cat holds; read`)
	done := make(chan error, 1)
	l := h.listener(t, "tool_call")
	go func() { _, err := l.Ask(context.Background(), question(`{}`)); done <- err }()
	lines := bufio.NewScanner(p.out)
	lines.Scan()
	want(t, "the script", lines.Text(), "true true true")
	want(t, "another shell", must(t, m, `cat $M/holds`), "false\n")
	fmt.Fprintln(p.in)
	if err := <-done; err != nil {
		t.Error(err)
	}
	lines.Scan()
	want(t, "afterwards", lines.Text(), "false")
}
