package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"mikan/fs"
)

const blockedReads = 1000

// gate is a conversational file whose reads wait for ever.
type gate struct{ entered chan struct{} }

func (g gate) Stat(context.Context) (fs.Info, error) {
	return fs.Info{Mode: 0o440 | os.ModeTemporary}, nil
}
func (g gate) Open(context.Context, *fs.Identity, fs.Flags) (fs.Handle, error) { return g, nil }
func (g gate) Close() error                                                    { return nil }

func (g gate) Read(ctx context.Context, _ []byte, _ int64) (int, error) {
	g.entered <- struct{}{}
	<-ctx.Done()
	return 0, fs.Interrupted
}

// blockedRow asks whether readers that wait slow down who does not: a stat on a
// connection with a thousand of them beside one on a connection with none.
func blockedRow(ctx context.Context, w *world) error {
	g := gate{make(chan struct{}, blockedReads)}
	tree := fs.NewTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"gate": g}}, me.UID, me.GID)
	with, hangUp, err := dialed(serveMikan, tree)
	if err != nil {
		return err
	}
	without, hangUpToo, err := dialed(serveMikan, tree)
	if err != nil {
		hangUp()
		return err
	}
	var readers sync.WaitGroup
	defer func() {
		hangUp()
		hangUpToo()
		readers.Wait()
	}()
	for range blockedReads {
		f, err := with.Walk(ctx, "gate")
		if err == nil {
			err = f.Open(ctx, fs.Read)
		}
		if err != nil {
			return err
		}
		readers.Go(func() { _, _ = f.Read(context.Background(), make([]byte, 16), 0) })
	}
	for range blockedReads {
		select {
		case <-g.entered:
		case <-time.After(10 * time.Second):
			return fmt.Errorf("the %d reads do not all block", blockedReads)
		}
	}
	n := w.times(2000)
	d, err := duel(w.times(20),
		func() (time.Duration, error) { return slowest(ctx, with, n) },
		func() (time.Duration, error) { return slowest(ctx, without, n) })
	if err == nil {
		w.cost("9P stat beside 1,000 blocked reads, p99", "no reads", d, 3)
	}
	return err
}

// slowest is the 99th percentile of n stats.
func slowest(ctx context.Context, f fs.Fid, n int) (time.Duration, error) {
	list := make([]time.Duration, 0, n)
	for range n {
		began := time.Now()
		if _, err := f.Stat(ctx); err != nil {
			return 0, err
		}
		list = append(list, time.Since(began))
	}
	return percentile(list, 99), nil
}
