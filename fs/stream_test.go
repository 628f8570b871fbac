package fs_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"mikan/fs"
)

type brokenSource struct{}

func (brokenSource) Size(context.Context) (int64, time.Time, error) {
	return 0, time.Time{}, errors.New("the disk is gone")
}

func (brokenSource) ReadAt(context.Context, []byte, int64) (int, error) {
	return 0, errors.New("the disk is gone")
}

func TestEveryReaderOfAStreamGetsTheSameBytes(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.SliceOfN(rapid.Byte(), 0, 40)).Draw(rt, "parts")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 50), 1, 4).Draw(rt, "sizes")
		s := fs.NewStream()
		answer := &fs.Answer{Bind: func(context.Context, *fs.Identity) (*fs.Stream, error) { return s, nil }}
		got := make([][]byte, len(sizes))
		var wg sync.WaitGroup
		for i, size := range sizes {
			wg.Go(func() {
				h, _ := answer.Open(t.Context(), owner, fs.Read)
				p := make([]byte, size)
				for {
					n, err := h.(fs.Reader).Read(t.Context(), p, 0)
					if n == 0 || err != nil {
						return
					}
					got[i] = append(got[i], p[:n]...)
				}
			})
		}
		for _, part := range parts {
			s.Append(part)
		}
		s.End(nil)
		wg.Wait()
		whole := bytes.Join(parts, nil)
		for i := range got {
			if !bytes.Equal(got[i], whole) {
				rt.Fatalf("reader %d got %q; want %q", i, got[i], whole)
			}
		}
	})
}

func TestAStreamEndsOnce(t *testing.T) {
	s := fs.NewSettled([]byte("text"), nil)
	s.Append([]byte("more"))
	s.End(errors.New("late"))
	<-s.Done()
	p := make([]byte, 10)
	if n, err := s.Read(t.Context(), p, 0); string(p[:n]) != "text" || err != nil {
		t.Errorf("read %q, %v", p[:n], err)
	}
	if n, err := s.Read(t.Context(), p, 4); n != 0 || err != nil {
		t.Errorf("at the end: %d, %v", n, err)
	}
}

// What is there is read even by one who must not wait; what is not, is
// Interrupted and consumes nothing.
func TestADoneContextReadsWhatIsThere(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	feed, stream := &fs.Feed{}, fs.NewStream()
	tree := newTree(&fs.Dir{Children: map[string]fs.Node{
		"feed":   feed,
		"answer": &fs.Answer{Bind: func(context.Context, *fs.Identity) (*fs.Stream, error) { return stream, nil }},
		"wait": &fs.Waiter{Wait: func(ctx context.Context, _ *fs.Identity) error {
			<-ctx.Done()
			return ctx.Err()
		}},
	}})
	p := make([]byte, 100)
	for name, produce := range map[string]func(){
		"feed":   func() { feed.Publish([]byte("line\n")) },
		"answer": func() { stream.Append([]byte("line\n")) },
		"wait":   nil,
	} {
		f := attach(t, tree, name)
		ok(t, f.Open(t.Context(), fs.Read))
		_, err := f.Read(done, p, 0)
		want(t, err, fs.Interrupted)
		if produce == nil {
			continue
		}
		produce()
		if n, err := f.Read(done, p, 0); string(p[:n]) != "line\n" || err != nil {
			t.Errorf("%s: %q, %v", name, p[:n], err)
		}
	}
}

func TestAFeedGivesWholeLinesAndTheRestOfALongOne(t *testing.T) {
	feed := &fs.Feed{}
	h, err := feed.Open(t.Context(), owner, fs.Read)
	ok(t, err)
	defer h.Close()
	feed.Publish([]byte("one"))
	feed.Publish([]byte("two\n"))
	feed.Publish([]byte("three is long\n"))
	feed.Close()
	for _, want := range []string{"one\ntwo\n", "three is l", "ong\n", ""} {
		p := make([]byte, 10)
		if n, err := h.(fs.Reader).Read(t.Context(), p, 0); string(p[:n]) != want || err != nil {
			t.Errorf("read %q, %v; want %q", p[:n], err, want)
		}
	}
}

// A reader who never reads costs at most 1 MiB, and the producer nothing.
func TestAFeedBoundsWhatWaitsForAReader(t *testing.T) {
	feed := &fs.Feed{Lost: func(n int) []byte { return []byte{byte('0' + n%10)} }}
	h, err := feed.Open(t.Context(), owner, fs.Read)
	ok(t, err)
	defer h.Close()
	for range 25 {
		feed.Publish(bytes.Repeat([]byte("x"), 100<<10))
	}
	feed.Publish(bytes.Repeat([]byte("x"), 2<<20)) // larger than all of it
	feed.Publish([]byte("last"))
	feed.Close()
	all, err := io.ReadAll(reader{h.(fs.Reader)})
	ok(t, err)
	if string(all) != "6\nlast\n" {
		t.Errorf("read %d bytes: %.20q", len(all), all)
	}
}

type reader struct{ r fs.Reader }

func (r reader) Read(p []byte) (int, error) {
	n, err := r.r.Read(context.Background(), p, 0)
	if n == 0 && err == nil {
		err = io.EOF
	}
	return n, err
}

func TestManyProducersAndReadersOfAFeed(t *testing.T) {
	feed := &fs.Feed{}
	const producers, lines = 4, 200
	var readers, writers sync.WaitGroup
	for range 3 {
		h, err := feed.Open(t.Context(), owner, fs.Read)
		ok(t, err)
		readers.Go(func() {
			defer h.Close()
			all, err := io.ReadAll(reader{h.(fs.Reader)})
			if n := bytes.Count(all, []byte("\n")); n != producers*lines || err != nil {
				t.Errorf("%d lines, %v", n, err)
			}
		})
	}
	for range producers {
		writers.Go(func() {
			for range lines {
				feed.Publish([]byte("a line"))
			}
		})
	}
	writers.Wait()
	feed.Close()
	readers.Wait()
}
