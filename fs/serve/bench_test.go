package serve_test

import (
	"bufio"
	"context"
	"io"
	"net"
	"path/filepath"
	"runtime"
	"testing"

	"mikan/fs"
	"mikan/fs/ninep"
	"mikan/fs/serve"
)

// A question that a client answers over a Unix socket, beside a line that is
// echoed over one.
func BenchmarkRoundTrip(b *testing.B) {
	b.Run("hook", func(b *testing.B) {
		mine, theirs := socket(b)
		hook := &fs.Service{}
		tree := fs.NewTree(&fs.Dir{Children: map[string]fs.Node{"hook": hook}}, owner.UID, owner.GID)
		served := make(chan error, 2)
		go func() { served <- (&ninep.Server{Tree: tree}).ServeConn(context.Background(), theirs, owner) }()
		c, err := ninep.NewClient(context.Background(), mine)
		if err != nil {
			b.Fatal(err)
		}
		go func() {
			served <- serve.File(context.Background(), c, "hook", func(context.Context, *serve.Request) serve.Answer {
				return serve.OK(nil)
			}, serve.Options{})
		}()
		for len(hook.Listeners()) == 0 {
			runtime.Gosched()
		}
		l := hook.Listeners()[0]
		for b.Loop() {
			if _, err := l.Ask(context.Background(), line(1)); err != nil {
				b.Fatal(err)
			}
		}
		hook.Close()
		<-served
		c.Close()
		<-served
	})
	b.Run("echo", func(b *testing.B) {
		mine, theirs := socket(b)
		go io.Copy(theirs, theirs)
		in := bufio.NewReader(mine)
		for b.Loop() {
			if _, err := io.WriteString(mine, "1 1\n"); err != nil {
				b.Fatal(err)
			}
			if _, err := in.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// socket is two ends of a connection.
func socket(b *testing.B) (mine, theirs net.Conn) {
	l, err := net.Listen("unix", filepath.Join(b.TempDir(), "s"))
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	if mine, err = net.Dial("unix", l.Addr().String()); err != nil {
		b.Fatal(err)
	}
	if theirs, err = l.Accept(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { mine.Close(); theirs.Close() })
	return mine, theirs
}
