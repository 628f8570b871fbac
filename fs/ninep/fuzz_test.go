package ninep_test

import (
	"bytes"
	"encoding/binary"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"9fans.net/go/plan9"

	"mikan/fs/ninep"
)

// seeds is one message of each type, which together are a session.
var seeds = []string{
	"Tversion tag 65535 msize 8192 version '9P2000'",
	"Tauth tag 1 afid 9 uname u aname a",
	"Tattach tag 1 fid 0 afid NOFID uname u aname ''",
	"Twalk tag 2 fid 0 newfid 1 wname [letters a]",
	"Topen tag 3 fid 1 mode ORDWR|OTRUNC",
	"Tread tag 4 fid 1 offset 0 count 100",
	"Twrite tag 5 fid 1 offset 0 data 'some data'",
	"Tstat tag 6 fid 1",
	"Twstat tag 7 fid 1 stat (name x mtime 5 length 0)",
	"Tflush tag 8 oldtag 4",
	"Twalk tag 2 fid 0 newfid 2 wname work",
	"Tcreate tag 9 fid 2 name new perm --rw-r--r-- mode OREAD",
	"Tclunk tag 10 fid 1",
	"Tremove tag 11 fid 2",
}

// talk sends bytes to a server of the tests' tree, hangs up, and returns what it
// answered. The test fails if the server does not end, or panics.
func talk(t *testing.T, input []byte) []byte {
	tree, _ := newTree()
	nc, stop := serve(t, tree, owner)
	nc.SetDeadline(time.Now().Add(10 * time.Second))
	answered := make(chan []byte)
	go func() {
		out, _ := io.ReadAll(nc)
		answered <- out
	}()
	nc.Write(input)
	nc.(interface{ CloseWrite() error }).CloseWrite()
	out := <-answered
	if err := stop(); err != nil && bytes.Contains([]byte(err.Error()), []byte("did not end")) {
		t.Fatal(err)
	}
	return out
}

// checkReplies fails the test unless out is whole replies.
func checkReplies(t *testing.T, out []byte) {
	for r := bytes.NewReader(out); r.Len() > 0; {
		reply, err := plan9.ReadFcall(r)
		if err != nil {
			t.Fatalf("a reply cannot be read: %v", err)
		}
		if reply.Type%2 == 0 {
			t.Fatalf("the server sent the request %v", reply)
		}
	}
}

func session(t testing.TB) (all []byte, frames [][]byte) {
	for _, msg := range seeds {
		f := frame(t, msg)
		frames = append(frames, f)
		all = append(all, f...)
	}
	return all, frames
}

// FuzzFrame gives a live tree any bytes after a proper beginning: the server
// answers with whole replies, ends, and leaves nothing behind.
func FuzzFrame(f *testing.F) {
	all, frames := session(f)
	hello := append(bytes.Clone(frames[0]), frames[2]...)
	f.Add(all)
	for _, fr := range frames {
		f.Add(fr)
	}
	f.Add([]byte{})
	f.Add([]byte{4, 0, 0, 0})
	f.Add([]byte{255, 255, 255, 255, 118, 1, 0})
	f.Fuzz(func(t *testing.T, input []byte) {
		checkReplies(t, talk(t, append(bytes.Clone(hello), input...)))
	})
}

func TestFrame_each_message_cut_at_each_byte_is_refused_and_the_next_one_answered(t *testing.T) {
	_, frames := session(t)
	probe := frame(t, "Tstat tag 99 fid 0")
	var input []byte
	cuts := 0
	input = append(append(input, frames[0]...), frames[2]...)
	for _, fr := range frames {
		for n := 7; n < len(fr); n++ {
			cut := bytes.Clone(fr[:n])
			binary.LittleEndian.PutUint32(cut, uint32(n))
			input = append(append(input, cut...), probe...)
			cuts++
		}
	}
	out := bytes.NewReader(talk(t, input))
	plan9.ReadFcall(out)
	plan9.ReadFcall(out)
	for i := range cuts {
		refused, err := plan9.ReadFcall(out)
		if err != nil || refused.Type != plan9.Rerror {
			t.Fatalf("cut %d: %v, %v", i, refused, err)
		}
		if next, err := plan9.ReadFcall(out); err != nil || next.Type != plan9.Rstat || next.Tag != 99 {
			t.Fatalf("after cut %d: %v, %v", i, next, err)
		}
	}
}

func TestFrame_a_session_with_any_bytes_changed_does_no_harm(t *testing.T) {
	all, _ := session(t)
	rnd := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		input := bytes.Clone(all)
		for range 1 + rnd.IntN(4) {
			input[rnd.IntN(len(input))] = byte(rnd.Uint32())
		}
		checkReplies(t, talk(t, input))
	}
}

// FuzzReply gives a client any bytes after a proper Rversion: each call ends, and
// the connection can be closed.
func FuzzReply(f *testing.F) {
	for _, msg := range []string{
		"Rattach tag 0 qid 0x0.0.d",
		"Rwalk tag 0 wqid [0x1.1]",
		"Rstat tag 0 stat (name x uid u gid g length 1 mode --rw-r--r--)",
		"Rread tag 0 data some",
		"Rerror tag 0 ename 'permission denied'",
		"Rclunk tag 0",
	} {
		f.Add(append(frame(f, seeds[2]), frame(f, msg)...))
		f.Add(append(frame(f, "Rattach tag 0 qid 0x0.0.d"), frame(f, msg)...))
	}
	hello := frame(f, "Rversion tag 65535 msize 8192 version '9P2000'")
	f.Fuzz(func(t *testing.T, input []byte) {
		mine, theirs := pair(t)
		var server sync.WaitGroup
		server.Go(func() {
			defer theirs.Close()
			theirs.Write(append(bytes.Clone(hello), input...))
			theirs.(*net.UnixConn).CloseWrite()
			io.Copy(io.Discard, theirs)
		})
		defer server.Wait()
		c, err := ninep.Connect(t.Context(), mine, "9P2000")
		if err != nil {
			return
		}
		defer c.Close()
		root, err := c.Attach(t.Context(), nil)
		if err != nil {
			return
		}
		root.Stat(t.Context())
		root.ReadDir(t.Context())
		root.Walk(t.Context(), "a", "b")
		root.Clunk(t.Context())
	})
}
