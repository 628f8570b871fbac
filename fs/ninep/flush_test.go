package ninep_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"9fans.net/go/plan9"

	"mikan/fs"
)

// blocked opens the gate as fid 1 and lets a read with tag 5 block in it.
func blocked(t *testing.T) (*wire, *gate) {
	t.Helper()
	tree, g := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	w.open(1, "gate", "ORDWR")
	w.send("Tread tag 5 fid 1 offset 0 count 100")
	<-g.entered
	return w, g
}

func TestFlush_of_a_blocked_read_ends_it_without_a_reply(t *testing.T) {
	w, g := blocked(t)
	w.send("Tflush tag 6 oldtag 5")
	w.expect("Rflush tag 6")

	// The tag is free again, and nothing was consumed.
	g.tokens <- "token"
	w.send("Tread tag 5 fid 1 offset 0 count 100")
	w.expect(`Rread tag 5 count 5 "token"`)
}

func TestFlush_after_the_reply_and_of_an_unknown_tag_is_answered_at_once(t *testing.T) {
	w, g := blocked(t)
	g.tokens <- "token"
	w.expect(`Rread tag 5 count 5 "token"`)
	w.send("Tflush tag 6 oldtag 5")
	w.send("Tflush tag 7 oldtag 4321")
	w.send("Tflush tag 8 oldtag 8")
	w.expect("Rflush tag 6", "Rflush tag 7", "Rflush tag 8")
}

func TestFlush_more_than_once_is_answered_in_order(t *testing.T) {
	w, _ := blocked(t)
	w.send("Tflush tag 9 oldtag 5")
	w.send("Tflush tag 7 oldtag 5")
	w.send("Tflush tag 8 oldtag 5")
	w.expect("Rflush tag 9", "Rflush tag 7", "Rflush tag 8")
}

func TestFlush_of_a_flush_comes_after_it(t *testing.T) {
	tree, g := newTree()
	g.hold = make(chan struct{})
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	w.open(1, "gate", "ORDWR")
	w.send("Twrite tag 5 fid 1 offset 0 data zz")
	<-g.entered
	w.send("Tflush tag 6 oldtag 5")
	w.send("Tflush tag 7 oldtag 6")
	w.rpc("Tstat tag 1 fid 0") // neither is answered yet
	close(g.hold)
	// What was done is told, and told first.
	w.expect("Rwrite tag 5 count 2", "Rflush tag 6", "Rflush tag 7")
}

func TestFlush_of_what_still_waits_its_turn_is_answered_at_once(t *testing.T) {
	w, g := blocked(t)
	w.send("Tread tag 10 fid 1 offset 0 count 100")
	w.send("Tread tag 11 fid 1 offset 0 count 100")
	w.send("Tflush tag 6 oldtag 10")
	w.expect("Rflush tag 6")
	g.tokens <- "one"
	g.tokens <- "two"
	w.expect(`Rread tag 5 count 3 "one"`, `Rread tag 11 count 3 "two"`)
}

func TestFlush_that_comes_with_its_read_leaves_no_tag_behind(t *testing.T) {
	w, _ := blocked(t)
	for range 200 {
		w.send("Tread tag 10 fid 1 offset 0 count 100")
		w.send("Tflush tag 6 oldtag 10")
		w.expect("Rflush tag 6")
	}
}

func TestLoop_a_blocked_read_delays_no_write_on_the_same_fid(t *testing.T) {
	w, g := blocked(t)
	if got := w.rpc("Twrite tag 6 fid 1 offset 0 data 'a line'"); got != "Rwrite tag 6 count 6" {
		t.Error(got)
	}
	w.rpc("Tstat tag 6 fid 1")
	if g.writes() != "a line" {
		t.Errorf("written %q", g.writes())
	}
}

func TestLoop_a_thousand_blocked_reads_delay_no_stat(t *testing.T) {
	tree, g := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	for i := range 1000 {
		w.open(i+1, "gate", "OREAD")
		w.send(fmt.Sprintf("Tread tag %d fid %d offset 0 count 8192", i+100, i+1))
	}
	for range 1000 {
		<-g.entered
	}
	w.SetDeadline(time.Now().Add(time.Second))
	w.rpc("Tstat tag 1 fid 0")
	w.send("Tflush tag 2 oldtag 100")
	w.expect("Rflush tag 2")
}

func TestLoop_requests_on_a_fid_keep_their_order(t *testing.T) {
	tree, g := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	// All of it in flight at once, and the fid used again before its Rclunk.
	for round := range 100 {
		for i, msg := range []string{
			"Twalk fid 0 newfid 1 wname gate",
			"Topen fid 1 mode OWRITE",
			fmt.Sprintf("Twrite fid 1 offset 0 data 'a%d.'", round),
			fmt.Sprintf("Twrite fid 1 offset 0 data 'b%d.'", round),
			"Tstat fid 1",
			"Tclunk fid 1",
		} {
			w.send(fmt.Sprintf("%s tag %d", msg, round*6+i+10))
		}
	}
	for range 600 {
		if reply := w.recv(); reply[:6] == "Rerror" {
			t.Fatal(reply)
		}
	}
	for round := range 100 {
		got := g.writes()
		a, b := fmt.Sprintf("a%d.", round), fmt.Sprintf("b%d.", round)
		if i, j := strings.Index(got, a), strings.Index(got, b); i < 0 || j < i {
			t.Errorf("%s and %s are not in order in %q", a, b, got)
		}
	}
}

func TestLoop_a_read_comes_after_the_writes_before_it(t *testing.T) {
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	for round := range 100 {
		w.open(1, "hello", "ORDWR|OTRUNC")
		w.send(fmt.Sprintf("Twrite tag 2 fid 1 offset 0 data 'round %d'", round))
		w.send("Tread tag 3 fid 1 offset 6 count 100")
		number := fmt.Sprint(round)
		w.expect(fmt.Sprintf("Rwrite tag 2 count %d", 6+len(number)),
			fmt.Sprintf("Rread tag 3 count %d %q", len(number), number))
		w.rpc("Tclunk tag 1 fid 1")
	}
}

func TestLoop_a_clunk_ends_the_reads_of_its_fid_and_comes_last(t *testing.T) {
	w, _ := blocked(t)
	w.send("Tread tag 10 fid 1 offset 0 count 100")
	w.send("Tclunk tag 11 fid 1")
	w.expect("Rerror tag 5 ename Interrupted system call",
		"Rerror tag 10 ename Interrupted system call", "Rclunk tag 11")
}

func TestLoop_a_version_ends_what_is_in_progress(t *testing.T) {
	w, g := blocked(t)
	w.send("Tversion tag 65535 msize 8192 version '9P2000'")
	w.expect("Rversion tag 65535 msize 8192 version '9P2000'")
	w.rpc("Tattach tag 1 fid 0 afid NOFID uname none aname ''")
	g.tokens <- "token"
	w.open(1, "gate", "OREAD")
	w.send("Tread tag 5 fid 1 offset 0 count 100")
	w.expect(`Rread tag 5 count 5 "token"`)
}

func TestLoop_a_tag_in_use_is_refused(t *testing.T) {
	w, _ := blocked(t)
	w.send("Tstat tag 5 fid 0")
	w.expect("Rerror tag 5 ename tag 5 is in use: Invalid argument")
}

func TestLoop_more_than_1024_reads_get_an_error_and_a_flush_still_works(t *testing.T) {
	w, _ := blocked(t)
	for i := range 1023 {
		w.send(fmt.Sprintf("Tread tag %d fid 1 offset 0 count 10", i+100))
	}
	w.send("Tread tag 9 fid 1 offset 0 count 10")
	w.expect("Rerror tag 9 ename 1024 requests are in progress on this connection; " +
		"wait for some: Resource temporarily unavailable")
	w.send("Tflush tag 2 oldtag 100")
	w.expect("Rflush tag 2")
}

func TestLoop_more_than_4096_fids_get_an_error(t *testing.T) {
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	for i := 1; i < 4096; i++ {
		w.rpc(fmt.Sprintf("Twalk tag 1 fid 0 newfid %d", i))
	}
	w.send("Twalk tag 1 fid 0 newfid 5000")
	w.expect("Rerror tag 1 ename this connection has 4096 fids; clunk some: Resource temporarily unavailable")
}

// together sends messages in one packet, so that the loop has read the last of
// them before a goroutine that the first one started gets to run.
func (w *wire) together(msgs ...string) {
	w.t.Helper()
	var all []byte
	for _, msg := range msgs {
		f, err := plan9.ParseFcall(msg)
		if err != nil {
			w.t.Fatalf("%s: %v", msg, err)
		}
		frame, err := f.Bytes()
		if err != nil {
			w.t.Fatalf("%s: %v", msg, err)
		}
		all = append(all, frame...)
	}
	if _, err := w.Write(all); err != nil {
		w.t.Fatal(err)
	}
}

func TestFlush_of_a_read_that_has_not_begun_does_not_lose_the_clunk_behind_it(t *testing.T) {
	svc := &fs.Service{Exclusive: true}
	tree := fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"out": svc}}, owner.UID, owner.GID)
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	for range 300 {
		w.open(1, "out", "ORDWR")
		w.together("Tread tag 5 fid 1 offset 0 count 100", "Tclunk tag 6 fid 1", "Tflush tag 7 oldtag 5")
		// If the read had begun, the clunk may have ended it before the flush came.
		got := []string{w.recv(), w.recv()}
		if slices.ContainsFunc(got, func(r string) bool { return strings.HasPrefix(r, "Rerror tag 5 ") }) {
			got = append(got, w.recv())
		}
		if !slices.Contains(got, "Rclunk tag 6") || !slices.Contains(got, "Rflush tag 7") {
			t.Fatalf("replies %q", got)
		}
		if n := len(svc.Listeners()); n != 0 {
			t.Fatalf("the file is clunked, and still open %d times", n)
		}
	}
}

// alone is a file that notices when two writes of one handle overlap.
type alone struct{ writing, overlaps atomic.Int32 }

func (a *alone) Stat(context.Context) (fs.Info, error) { return fs.Info{Mode: 0o660}, nil }
func (a *alone) Open(context.Context, *fs.Identity, fs.Flags) (fs.Handle, error) {
	return a, nil
}
func (a *alone) Close() error { return nil }
func (a *alone) Write(_ context.Context, p []byte, _ int64) (int, error) {
	if a.writing.Add(1) > 1 {
		a.overlaps.Add(1)
	}
	for range 100 {
		runtime.Gosched()
	}
	a.writing.Add(-1)
	return len(p), nil
}

func TestFlush_of_a_write_that_has_not_begun_makes_no_second_writer(t *testing.T) {
	a := &alone{}
	tree := fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"a": a}}, owner.UID, owner.GID)
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	w.open(1, "a", "OWRITE")
	for range 300 {
		w.together("Twrite tag 5 fid 1 offset 0 data aa", "Tflush tag 7 oldtag 5",
			"Twrite tag 8 fid 1 offset 0 data bb", "Twrite tag 9 fid 1 offset 0 data cc")
		for left := 3; left > 0; { // and an Rwrite of tag 5, if it was not too late
			if r := w.recv(); !strings.HasPrefix(r, "Rwrite tag 5 ") {
				left--
			}
		}
	}
	if n := a.overlaps.Load(); n > 0 {
		t.Errorf("%d writes ran beside another of the same fid", n)
	}
}
