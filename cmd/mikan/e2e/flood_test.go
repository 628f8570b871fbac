package e2e

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"9fans.net/go/plan9"

	"mikan/fs"
	"mikan/fs/ninep"
)

// memory is what the daemon had resident at most, in MiB.
func (d *daemon) memory() int {
	d.w.Helper()
	for line := range strings.Lines(d.w.read(fmt.Sprintf("/proc/%d/status", d.cmd.Process.Pid))) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			n, err := strconv.Atoi(strings.Fields(rest)[0])
			if err != nil {
				d.w.Fatal(err)
			}
			return n >> 10
		}
	}
	d.w.Fatal("the system does not say how much memory a process has")
	return 0
}

// files is how many files the daemon has open.
func (d *daemon) files() int {
	d.w.Helper()
	list, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", d.cmd.Process.Pid))
	if err != nil {
		d.w.Fatal(err)
	}
	return len(list)
}

// wire is a connection that knows no rules.
func (w *world) wire() net.Conn {
	w.Helper()
	nc, err := net.Dial("unix", w.socket())
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { nc.Close() })
	for _, f := range []*plan9.Fcall{
		{Type: plan9.Tversion, Tag: plan9.NOTAG, Msize: 65535, Version: "9P2000"},
		{Type: plan9.Tattach, Tag: 1, Fid: 0, Afid: plan9.NOFID},
	} {
		if err := plan9.WriteFcall(nc, f); err != nil {
			w.Fatal(err)
		}
		if _, err := plan9.ReadFcall(nc); err != nil {
			w.Fatal(err)
		}
	}
	return nc
}

// send writes messages, and does not care whether it can.
func send(nc net.Conn, messages ...*plan9.Fcall) {
	for _, f := range messages {
		_ = plan9.WriteFcall(nc, f)
	}
}

// TestFlood_of_every_sort_leaves_the_daemon_as_it_was is what one user's broken
// or hostile programs may do to the daemon that all share.
func TestFlood_of_every_sort_leaves_the_daemon_as_it_was(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve9P()
	w.must(`mikan mkdir offices/local/demo; mikan ask demo hello`)
	office := []string{"offices", "local", "demo"}
	for name, flood := range map[string]func(nc net.Conn){
		"20,000 requests, and no reply is read": func(nc net.Conn) {
			nc.SetDeadline(time.Now().Add(2 * time.Second))
			for i := range 20_000 {
				send(nc, &plan9.Fcall{Type: plan9.Tstat, Tag: uint16(i), Fid: 0})
			}
		},
		"65,535 reads that wait": func(nc net.Conn) {
			go io.Copy(io.Discard, nc)
			send(nc, &plan9.Fcall{Type: plan9.Twalk, Tag: 1, Fid: 0, Newfid: 1, Wname: append(office, "feed")},
				&plan9.Fcall{Type: plan9.Topen, Tag: 1, Fid: 1, Mode: plan9.OREAD})
			for tag := range 65_535 {
				send(nc, &plan9.Fcall{Type: plan9.Tread, Tag: uint16(tag), Fid: 1, Count: 65_000})
			}
		},
		"every fid, and more": func(nc net.Conn) {
			go io.Copy(io.Discard, nc)
			for fid := range uint32(10_000) {
				send(nc, &plan9.Fcall{Type: plan9.Twalk, Tag: 1, Fid: 0, Newfid: fid + 1, Wname: append(office, "status")},
					&plan9.Fcall{Type: plan9.Topen, Tag: 1, Fid: fid + 1, Mode: plan9.OREAD})
			}
		},
		"bodies that are never finished": func(nc net.Conn) {
			go io.Copy(io.Discard, nc)
			for fid := range uint32(30) {
				send(nc, &plan9.Fcall{Type: plan9.Twalk, Tag: 1, Fid: 0, Newfid: fid + 1, Wname: append(office, "sessions", "main", "prompt")},
					&plan9.Fcall{Type: plan9.Topen, Tag: 1, Fid: fid + 1, Mode: plan9.OWRITE})
				for tag := range uint16(40) { // more than a body may have
					send(nc, &plan9.Fcall{Type: plan9.Twrite, Tag: 100*uint16(fid) + tag, Fid: fid + 1, Data: make([]byte, 60_000)})
				}
			}
		},
		"listeners without end": func(nc net.Conn) {
			go io.Copy(io.Discard, nc)
			for fid := range uint32(1000) {
				send(nc, &plan9.Fcall{Type: plan9.Twalk, Tag: 1, Fid: 0, Newfid: fid + 1, Wname: append(office, "hooks", "tool_result")},
					&plan9.Fcall{Type: plan9.Topen, Tag: 1, Fid: fid + 1, Mode: plan9.ORDWR})
			}
		},
		"a message that says it is large": func(nc net.Conn) {
			_ = binary.Write(nc, binary.LittleEndian, uint32(0xfffffff0))
			send(nc, &plan9.Fcall{Type: plan9.Tstat, Tag: 1, Fid: 0})
		},
	} {
		nc := w.wire()
		flood(nc)
		w.mikan("cat", "status", "offices/local/demo/log").ok(t) // another client
		nc.Close()
		t.Logf("%s: %d MiB", name, d.memory())
	}
	for range 200 {
		nc := w.wire()
		send(nc, &plan9.Fcall{Type: plan9.Twalk, Tag: 1, Fid: 0, Newfid: 1, Wname: append(office, "feed")},
			&plan9.Fcall{Type: plan9.Topen, Tag: 1, Fid: 1, Mode: plan9.OREAD}, &plan9.Fcall{Type: plan9.Tread, Tag: 2, Fid: 1, Count: 100})
	}
	w.mikan("ask", "demo", "hello again").ok(t)
	if n := d.memory(); n > 250 {
		t.Errorf("the daemon has had %d MiB", n)
	}
}

// TestFlood_leaves_no_file_open counts the daemon's descriptors around clients
// that leave without a word.
func TestFlood_leaves_no_file_open(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	d := w.serve9P()
	w.must(`mikan mkdir offices/local/demo; mikan ask demo hello`)
	files := d.files()
	for range 200 {
		c, err := ninep.Dial(t.Context(), w.socket())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"offices/local/demo/feed", "offices/local/demo/files/log.jsonl"} {
			if _, err := c.Open(t.Context(), name, fs.Read); err != nil && !errors.Is(err, fs.NotExist) {
				t.Fatal(err)
			}
		}
		c.Close()
	}
	eventually(t, "the files are closed", func() bool { return d.files() <= files })
}
