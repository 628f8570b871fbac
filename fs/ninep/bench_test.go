package ninep_test

import (
	"bytes"
	"context"
	"net"
	"sync"
	"testing"

	"github.com/knusbaum/go9p"

	"mikan/fs"
	"mikan/fs/ninep"
)

// peers are the loops that are compared: ours and go9p's, with the same tree,
// the same session and the same client.
var peers = []struct {
	name  string
	serve func(b *testing.B, tree fs.Attacher) net.Conn
}{
	{"mikan", func(b *testing.B, tree fs.Attacher) net.Conn {
		nc, _ := serve(b, tree, owner)
		return nc
	}},
	{"go9p", func(b *testing.B, tree fs.Attacher) net.Conn {
		mine, theirs := pair(b)
		srv := (&ninep.Server{Tree: tree, Log: quiet}).Srv(owner)
		var served sync.WaitGroup
		served.Go(func() { go9p.ServeReadWriter(theirs, theirs, srv) })
		b.Cleanup(func() {
			mine.Close()
			served.Wait()
			theirs.Close()
		})
		return mine
	}},
}

// eachPeer runs a benchmark against each of peers.
func eachPeer(b *testing.B, tree fs.Attacher, run func(b *testing.B, root fs.Fid)) {
	for _, p := range peers {
		b.Run(p.name, func(b *testing.B) {
			c, err := ninep.Connect(context.Background(), p.serve(b, tree), "9P2000")
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			root, err := c.Attach(context.Background(), nil)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			b.ResetTimer()
			run(b, root)
		})
	}
}

func BenchmarkStat(b *testing.B) {
	tree, _ := newTree()
	eachPeer(b, tree, func(b *testing.B, root fs.Fid) {
		for b.Loop() {
			if _, err := root.Stat(context.Background()); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkStat64 has 64 stats in flight on one connection.
func BenchmarkStat64(b *testing.B) {
	tree, _ := newTree()
	eachPeer(b, tree, func(b *testing.B, root fs.Fid) {
		b.SetParallelism(64)
		b.RunParallel(func(pb *testing.PB) {
			f, err := root.Walk(context.Background(), "hello")
			if err != nil {
				b.Error(err)
				return
			}
			for pb.Next() {
				if _, err := f.Stat(context.Background()); err != nil {
					b.Error(err)
					return
				}
			}
		})
	})
}

func BenchmarkOpenReadClose(b *testing.B) {
	tree, _ := newTree()
	eachPeer(b, tree, func(b *testing.B, root fs.Fid) {
		c := fs.NewClient(root)
		for b.Loop() {
			if _, err := c.ReadFile(context.Background(), "hello"); err != nil {
				b.Fatal(err)
			}
		}
	})
}

func BenchmarkBulkRead(b *testing.B) {
	big := text(string(bytes.Repeat([]byte("x"), 1<<20)))
	tree := fs.NewTree(&fs.Dir{Children: map[string]fs.Node{"big": big}}, owner.UID, owner.GID)
	eachPeer(b, tree, func(b *testing.B, root fs.Fid) {
		f, err := root.Walk(context.Background(), "big")
		if err == nil {
			err = f.Open(context.Background(), fs.Read)
		}
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(1 << 20)
		buf := make([]byte, 64<<10)
		for b.Loop() {
			for off := int64(0); off < 1<<20; {
				n, err := f.Read(context.Background(), buf, off)
				if err != nil || n == 0 {
					b.Fatal(n, err)
				}
				off += int64(n)
			}
		}
	})
}
