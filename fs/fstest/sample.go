package fstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"mikan/fs"
)

// NewTree returns the sample tree, owned by uid and gid, with the host directory
// dir as its work. It has
//
//	value, fixed   values; value refuses what starts with "bad"
//	secret         a secret; bodies shows that it was set
//	ctl            runs all but "fail"; reads as the lines that have run
//	log feed answer wait
//	ask            answers "x" with "you said x"; refuses what starts with "bad"
//	prompt         takes a body; the same
//	bodies         what was committed to ask, prompt and secret, a line each
//	desk/          hook, a service with bodies; call, an exclusive one; outcomes,
//	               what came of the hook's questions; listeners, their number
//	private/note   in a directory of mode 0700
//	rooms/         where directories can be made and removed
//	work/          a host directory
//	errstr
//	drive          makes things happen: see its verbs
func NewTree(dir string, uid, gid uint32) *fs.Tree {
	s := &sample{value: []byte("one\n"), changed: time.Unix(1e9, 0), rooms: map[string]bool{}}
	root := &fs.Dir{
		Mode:    0o755,
		Scratch: true,
		Children: map[string]fs.Node{
			"value":   &fs.Value{Get: s.get, Set: s.set, Max: 64 << 10},
			"fixed":   &fs.Value{Mode: 0o444, Get: constant("fixed\n")},
			"secret":  &fs.Secret{Set: s.body},
			"ctl":     &fs.Ctl{State: s.lines, Run: s.run},
			"drive":   &fs.Ctl{Run: s.drive},
			"log":     &fs.Log{Source: s},
			"feed":    &s.feed,
			"answer":  &fs.Answer{Bind: s.bind},
			"wait":    &fs.Waiter{Wait: s.wait},
			"ask":     &fs.Ask{Commit: s.ask},
			"prompt":  &fs.Body{Commit: s.body},
			"bodies":  &fs.Value{Get: s.bodies},
			"private": &fs.Dir{Mode: 0o700, Children: map[string]fs.Node{"note": &fs.Value{Mode: 0o444, Get: constant("private\n")}}},
			"rooms":   &fs.Dir{Dynamic: s.room, List: s.roomNames, Make: s.makeRoom, Unmake: s.unmakeRoom},
			"work":    fs.NewHostDir(dir),
			"desk":    s.desk.node(),
		},
	}
	tree := fs.NewTree(root, uid, gid)
	root.Add("errstr", tree.Errstr())
	return tree
}

// sample is the state behind the tree.
type sample struct {
	feed fs.Feed
	desk desk

	mu      sync.Mutex
	value   []byte
	changed time.Time
	ran     []string
	taken   []string
	log     strings.Builder
	answer  *fs.Stream
	rooms   map[string]bool
}

func constant(text string) func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	return func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
		return []byte(text), time.Unix(1e9, 0), nil
	}
}

func (s *sample) get(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.value, s.changed, nil
}

func (s *sample) set(_ context.Context, _ *fs.Identity, data []byte) error {
	if strings.HasPrefix(string(data), "bad") {
		return fs.Errorf(fs.Invalid, "the value is bad; write a good one")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.value, s.changed = data, s.changed.Add(time.Second)
	return nil
}

func (s *sample) run(_ context.Context, _ *fs.Identity, line string) error {
	if line == "fail" {
		return fs.Errorf(fs.Invalid, "unknown verb %q", line)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ran = append(s.ran, line)
	return nil
}

func (s *sample) lines(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []byte(join(s.ran)), time.Unix(1e9+int64(len(s.ran)), 0), nil
}

func join(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		b.WriteString(line + "\n")
	}
	return b.String()
}

func (s *sample) body(_ context.Context, _ *fs.Identity, body []byte) error {
	if strings.HasPrefix(string(body), "bad") {
		return fs.Errorf(fs.Invalid, "the body is bad; write a good one")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.taken = append(s.taken, strconv.Quote(string(body)))
	return nil
}

func (s *sample) bodies(context.Context, *fs.Identity) ([]byte, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return []byte(join(s.taken)), time.Unix(1e9+int64(len(s.taken)), 0), nil
}

func (s *sample) ask(ctx context.Context, who *fs.Identity, body []byte) (*fs.Stream, uint32, error) {
	if err := s.body(ctx, who, body); err != nil {
		return nil, 0, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return fs.NewSettled([]byte("you said "+string(body)), nil), uint32(len(s.taken)), nil
}

func (s *sample) bind(context.Context, *fs.Identity) (*fs.Stream, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer, nil
}

func (s *sample) wait(ctx context.Context, who *fs.Identity) error {
	answer, _ := s.bind(ctx, who)
	if answer == nil {
		return nil
	}
	select {
	case <-answer.Done():
		return nil
	default:
	}
	select {
	case <-answer.Done():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Size makes the sample the source of its log.
func (s *sample) Size(context.Context) (int64, time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return int64(s.log.Len()), time.Unix(1e9, 0), nil
}

// ReadAt reads the log.
func (s *sample) ReadAt(_ context.Context, p []byte, off int64) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.NewReader(s.log.String()).ReadAt(p, off)
}

func (s *sample) room(_ context.Context, name string) (fs.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.rooms[name] {
		return nil, fs.NotExist
	}
	return &fs.Dir{}, nil
}

func (s *sample) roomNames(context.Context) (names []string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for name := range s.rooms {
		names = append(names, name)
	}
	return names, nil
}

func (s *sample) makeRoom(_ context.Context, _ *fs.Identity, name string) (fs.Node, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[name] = true
	return &fs.Dir{}, nil
}

func (s *sample) unmakeRoom(_ context.Context, _ *fs.Identity, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.rooms, name)
	return nil
}

// drive makes something happen in the tree:
//
//	log TEXT     add a line to the log
//	feed TEXT    publish a line
//	flood N      publish the lines 1 to N
//	begin        start an answer
//	append TEXT  add a line to it
//	end          end it
//	break TEXT   end it badly
//	close        end the feed
//	question J   ask the hook's first listener
//	hurry J      the same, but not for long
//	big N        ask with a body of N bytes
//	cancel       withdraw the last question
//	reset        forget what was written, logged and made: begin anew
func (s *sample) drive(_ context.Context, _ *fs.Identity, line string) error {
	verb, arg, _ := strings.Cut(line, " ")
	s.mu.Lock()
	defer s.mu.Unlock()
	switch verb {
	case "log":
		io.WriteString(&s.log, arg+"\n")
	case "feed":
		s.feed.Publish([]byte(arg))
	case "flood":
		n, err := strconv.Atoi(arg)
		for i := range n {
			s.feed.Publish(fmt.Append(nil, i+1))
		}
		return err
	case "begin":
		s.answer = fs.NewStream()
	case "append":
		s.answer.Append([]byte(arg + "\n"))
	case "end":
		s.answer.End(nil)
	case "break":
		s.answer.End(errors.New(arg))
	case "close":
		s.feed.Close()
	case "reset":
		s.value, s.changed = []byte("one\n"), s.changed.Add(time.Second)
		s.ran, s.taken, s.rooms = nil, nil, map[string]bool{}
		s.log.Reset()
	default:
		return s.desk.drive(verb, arg)
	}
	return nil
}
