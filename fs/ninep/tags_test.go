package ninep

import (
	"context"
	"net"
	"testing"
	"time"

	"mikan/fs"
)

func TestCancelledRequestsGiveTheirTagsBack(t *testing.T) {
	tree := fs.NewTree(&fs.Dir{Mode: 0o755}, 1, 1)
	mine, theirs := net.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- (&Server{Tree: tree}).ServeConn(context.Background(), theirs, &fs.Identity{UID: 1, GID: 1})
	}()
	c, err := Connect(t.Context(), mine, "9P2000")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { c.Close(); <-served }()
	root, err := c.Attach(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5000 { // some are cancelled before the reply, some after, some as it comes
		ctx, cancel := context.WithCancel(t.Context())
		stop := time.AfterFunc(time.Duration(i%60)*time.Microsecond, cancel)
		_, _ = root.Stat(ctx)
		stop.Stop()
		cancel()
	}
	if _, err := root.Stat(t.Context()); err != nil { // behind all their replies
		t.Fatal(err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if lost := int(c.tags.next) - len(c.tags.free) - len(c.calls); lost != 0 {
		t.Errorf("%d tags of %d are lost", lost, c.tags.next)
	}
}

func TestFlushOfWhatHasEndedTakesNoTag(t *testing.T) {
	mine, theirs := net.Pipe()
	defer theirs.Close()
	c := &Conn{out: newOutput(mine, time.Second), calls: map[uint16]*call{}, tags: numbers{end: noTag}}
	defer mine.Close()
	p := &call{done: make(chan struct{})}
	close(p.done)
	if f := c.startFlush(p); f != nil || c.tags.next != 0 {
		t.Errorf("flush %v, %d tags taken", f, c.tags.next)
	}
}
