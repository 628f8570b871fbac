package ninep_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"9fans.net/go/plan9"

	"mikan/fs/ninep"
)

// frame is the bytes of a message.
func frame(t testing.TB, msg string) []byte {
	t.Helper()
	f, err := plan9.ParseFcall(msg)
	if err != nil {
		t.Fatalf("%s: %v", msg, err)
	}
	b, err := f.Bytes()
	if err != nil {
		t.Fatalf("%s: %v", msg, err)
	}
	return b
}

func TestFlood_20000_pipelined_requests_are_all_answered(t *testing.T) {
	const n = 20_000
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	newWire(t, nc)
	var flood []byte
	for i := range n {
		flood = append(flood, frame(t, fmt.Sprintf("Tstat tag %d fid 0", i))...)
	}
	// Nothing is read before everything is written.
	if _, err := nc.Write(flood); err != nil {
		t.Fatal(err)
	}
	for i := range n {
		reply, err := plan9.ReadFcall(nc)
		if err != nil {
			t.Fatal(err)
		}
		if reply.Type != plan9.Rstat || int(reply.Tag) != i {
			t.Fatalf("reply %d is %v", i, reply)
		}
	}
}

func TestFlood_replies_arrive_whole_at_a_client_that_reads_slower_than_it_asks(t *testing.T) {
	const n = 20_000
	tree, _ := newTree()
	mine, _ := serve(t, tree, owner)
	newWire(t, mine)
	nc := mine.(*net.UnixConn)
	nc.SetReadBuffer(4 << 10)
	var asking sync.WaitGroup
	asking.Go(func() {
		for i := range n {
			nc.Write(frame(t, fmt.Sprintf("Tstat tag %d fid 0", i)))
		}
	})
	defer asking.Wait()
	for i := range n {
		reply, err := plan9.ReadFcall(nc)
		if err != nil || reply.Type != plan9.Rstat || int(reply.Tag) != i {
			nc.Close()
			t.Fatalf("reply %d is %v, %v", i, reply, err)
		}
	}
}

func TestFlood_a_client_that_never_reads_is_dropped_and_takes_little_memory(t *testing.T) {
	tree, _ := newTree()
	for _, c := range []struct {
		name    string
		timeout time.Duration
	}{
		{"because too much waits for it", time.Hour},
		{"because it waits too long", 50 * time.Millisecond},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := &ninep.Server{Tree: tree, Log: quiet, WriteTimeout: c.timeout}
			nc, stop := serveWith(t, s, owner)
			newWire(t, nc)
			flood := bytes.Repeat(frame(t, "Tstat tag 1 fid 0"), 1000)
			var before, now, most runtime.MemStats
			runtime.ReadMemStats(&before)
			var err error
			for range 10_000 {
				if _, err = nc.Write(flood); err != nil {
					break
				}
				runtime.ReadMemStats(&now)
				most.HeapInuse = max(most.HeapInuse, now.HeapInuse)
			}
			if err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("after ten million requests without a read the client is still there: %v", err)
			}
			if grown := int64(most.HeapInuse) - int64(before.HeapInuse); grown > 64<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
			if err := stop(); err == nil || !strings.Contains(err.Error(), "does not read") {
				t.Errorf("the server's error is %v", err)
			}
		})
	}
}

// Every tag that there is asks for a read that nobody answers.
func TestFlood_65535_tags_are_bounded_and_leave_the_connection_usable(t *testing.T) {
	const tags, most = 65535, 1024
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	w.open(1, "gate", "OREAD")
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var asking sync.WaitGroup
	asking.Go(func() {
		for tag := range tags {
			w.Write(frame(t, fmt.Sprintf("Tread tag %d fid 1 offset 0 count 65000", tag)))
		}
	})
	refused := map[uint16]bool{}
	for len(refused) < tags-most {
		reply, err := plan9.ReadFcall(nc)
		if err != nil || reply.Type != plan9.Rerror || !strings.HasSuffix(reply.Ename, "Resource temporarily unavailable") || refused[reply.Tag] {
			t.Fatalf("after %d replies: %v, %v", len(refused), reply, err)
		}
		refused[reply.Tag] = true
	}
	asking.Wait()
	runtime.ReadMemStats(&after)
	if grown := int64(after.HeapInuse) - int64(before.HeapInuse); grown > 128<<20 {
		t.Errorf("the heap grew by %d MiB", grown>>20)
	}
	for tag := range uint16(tags) {
		if !refused[tag] {
			w.send(fmt.Sprintf("Tflush tag 60000 oldtag %d", tag))
			w.expect("Rflush tag 60000")
		}
	}
	w.rpc("Tstat tag 1 fid 1")
	w.rpc("Tclunk tag 1 fid 1")
}

func TestHangUp_with_blocked_reads_leaves_nothing_behind(t *testing.T) {
	tree, g := newTree()
	goroutines, fds := runtime.NumGoroutine(), openFiles(t)
	for range 200 {
		nc, stop := serve(t, tree, owner)
		w := newWire(t, nc)
		for i := range 5 {
			w.open(i+1, "gate", "OREAD")
			w.send(fmt.Sprintf("Tread tag %d fid %d offset 0 count 100", i+10, i+1))
			<-g.entered
		}
		if err := stop(); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(5 * time.Second); ; time.Sleep(time.Millisecond) {
		g, f := runtime.NumGoroutine(), openFiles(t)
		if g <= goroutines && f <= fds {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines and %d files, before %d and %d", g, f, goroutines, fds)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	list, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip("no /proc")
	}
	return len(list)
}

func TestHangUp_in_the_middle_of_a_message_ends_the_connection(t *testing.T) {
	tree, _ := newTree()
	nc, stop := serve(t, tree, owner)
	w := newWire(t, nc)
	w.Write([]byte{100, 0, 0, 0, plan9.Twrite})
	if err := stop(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("error %v", err)
	}
}

func TestHangUp_after_the_last_request_still_gets_the_replies(t *testing.T) {
	tree, _ := newTree()
	nc, _ := serve(t, tree, owner)
	w := newWire(t, nc)
	for range 100 {
		w.send("Tstat tag 1 fid 0")
	}
	if err := nc.(*net.UnixConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if got := w.recv(); !strings.HasPrefix(got, "Rstat") {
			t.Fatalf("reply %d is %s", i, got)
		}
	}
	w.expect("eof")
}
