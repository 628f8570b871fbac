package fstest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"mikan/fs"
)

// both is how a service file is opened.
const both = fs.Read | fs.Write

var serviceCases = []Case{
	{"a service file gives a request and takes its answer", listening(func(ctx context.Context, d Doors, f, out File) error {
		return errors.Join(
			drive(ctx, d.Owner, `question {"a": 1}`), next(f, `1 {"a":1}`+"\n"),
			send(f, "1 deny not here\n"), next(out, "deny not here\n"),
			drive(ctx, d.Owner, `question {}`), next(f, "2 {}\n"),
			send(f, "2 repl"), send(f, `ace {"b":`), send(f, "2}\n"), next(out, `replace {"b":2}`+"\n"),
		)
	})},
	{"a service file is opened for reading and writing at once", func(ctx context.Context, d Doors) error {
		_, err := d.Owner.Open(ctx, "desk/hook", fs.Read)
		why, err2 := readAll(ctx, d.Owner, "errstr")
		if !strings.Contains(why, "exec 3<>file") {
			err2 = errors.Join(err2, fmt.Errorf("errstr is %q", why))
		}
		_, err3 := d.Owner.Open(ctx, "desk/hook", fs.Write)
		return errors.Join(refused("reading", err, fs.Invalid), err2, refused("writing", err3, fs.Invalid))
	}},
	{"a request is read in pieces", listening(func(ctx context.Context, d Doors, f, out File) error {
		err := drive(ctx, d.Owner, `question {"a":1}`)
		var got strings.Builder
		for p := make([]byte, 1); err == nil && !strings.HasSuffix(got.String(), "\n"); got.Write(p) {
			_, err = f.Read(p)
		}
		return errors.Join(err, same("the request", got.String(), `1 {"a":1}`+"\n"), send(f, "1 allow\n"), next(out, "allow \n"))
	})},
	{"a read waits for a request", listening(func(ctx context.Context, d Doors, f, out File) error {
		got := make(chan error, 1)
		go func() { got <- next(f, "1 {}\n") }()
		return errors.Join(drive(ctx, d.Owner, `question {}`), await(ctx, got), send(f, "1 allow\n"), next(out, "allow \n"))
	})},
	{"a wrong answer is refused and leaves the question open", listening(func(ctx context.Context, d Doors, f, out File) error {
		err := errors.Join(drive(ctx, d.Owner, `question {}`), next(f, "1 {}\n"))
		for _, wrong := range []string{"garbage", "2 allow", "1 maybe", "1 allow it", "1 replace {", "1"} {
			err = errors.Join(err, refused(wrong, send(f, wrong+"\n"), fs.Invalid))
		}
		return errors.Join(err,
			send(f, "1 deny after all\n"), next(out, "deny after all\n"),
			refused("a second answer", send(f, "1 allow\n"), fs.Invalid),
		)
	})},
	{"an answer is bounded", listening(func(ctx context.Context, d Doors, f, out File) error {
		long := strings.Repeat("x", fs.MaxAnswerLine)
		return errors.Join(
			drive(ctx, d.Owner, `question {}`), next(f, "1 {}\n"),
			refused("1 MiB of a reason", send(f, "1 deny "+long), fs.TooBig), refused("its end", send(f, "\n"), fs.TooBig),
			send(f, "1 deny\n"), next(out, "deny \n"),
		)
	})},
	{"what a line is too short for stands beside the file", listening(func(ctx context.Context, d Doors, f, out File) error {
		const size = 4 << 20
		err := errors.Join(
			drive(ctx, d.Owner, fmt.Sprint("big ", size)), next(f, `1 {"big":true,"body":".body/1"}`+"\n"),
			sizeIs(ctx, d.Owner, "desk/.body/1", size),
		)
		body, err2 := readAll(ctx, d.Owner, "desk/.body/1")
		if body != strings.Repeat("x", size) {
			err2 = errors.Join(err2, fmt.Errorf("the body has %d bytes", len(body)))
		}
		return errors.Join(err, err2, send(f, "1 allow\n"), next(out, "allow \n"), gone(ctx, d.Owner, "desk/.body/1"))
	})},
	{"allow without reading the body counts as no answer", listening(func(ctx context.Context, d Doors, f, out File) error {
		return errors.Join(
			drive(ctx, d.Owner, "big 2000"), next(f, `1 {"big":true,"body":".body/1"}`+"\n"),
			refused("allow", send(f, "1 allow\n"), fs.Invalid), next(out, "unread\n"),
		)
	})},
	{"a body is replaced whole", listening(func(ctx context.Context, d Doors, f, out File) error {
		return errors.Join(
			drive(ctx, d.Owner, "big 2000"), next(f, `1 {"big":true,"body":".body/1"}`+"\n"),
			put(ctx, d.Owner, "desk/.body/1", `{"small":`), put(ctx, d.Owner, "desk/.body/1", `{"small":true}`),
			reads(ctx, d.Owner, "desk/.body/1", `{"small":true}`),
			send(f, "1 replace\n"), next(out, `replace {"small":true}`+"\n"),
		)
	})},
	{"bodies are not listed, and are the holder's", listening(func(ctx context.Context, d Doors, f, _ File) error {
		names, err := list(ctx, d.Owner, "desk")
		inside, err2 := list(ctx, d.Owner, "desk/.body")
		err = errors.Join(err, err2, same("the desk", names, "listeners"), same("the bodies", inside, ""),
			drive(ctx, d.Owner, "big 2000"), next(f, `1 {"big":true,"body":".body/1"}`+"\n"),
			gone(ctx, d.Owner, "desk/.body/2"), gone(ctx, d.Owner, "desk/.body/01"))
		if d.Other == nil {
			return err
		}
		_, err3 := d.Other.Open(ctx, "desk/.body/1", fs.Read)
		return errors.Join(err, refused("another user", err3, fs.NotExist))
	})},
	{"closing the file settles what it held", listening(func(ctx context.Context, d Doors, f, out File) error {
		return errors.Join(
			drive(ctx, d.Owner, "question {}"), next(f, "1 {}\n"), f.Close(), next(out, "gone\n"),
			drive(ctx, d.Owner, "question {}"), next(out, "nobody\n"),
		)
	})},
	{"who is silent is left out until he reads again", listening(func(ctx context.Context, d Doors, f, out File) error {
		err := errors.Join(
			drive(ctx, d.Owner, "hurry {}"), next(out, fs.Timeout.String()+"\n"),
			reads(ctx, d.Owner, "desk/listeners", "0\n"),
			drive(ctx, d.Owner, "question {}"), next(out, "nobody\n"),
		)
		got := make(chan error, 1)
		go func() { got <- next(f, "2 {}\n") }()
		return errors.Join(err, listeners(ctx, d, "1\n"), drive(ctx, d.Owner, "question {}"), await(ctx, got),
			refused("a late answer", send(f, "1 allow\n"), fs.Invalid),
			send(f, "2 allow\n"), next(out, "allow \n"))
	})},
	{"a question that was withdrawn is not answered", listening(func(ctx context.Context, d Doors, f, out File) error {
		return errors.Join(
			drive(ctx, d.Owner, "question {}"), next(f, "1 {}\n"),
			drive(ctx, d.Owner, "cancel"), next(out, fs.Interrupted.String()+"\n"),
			refused("the answer", send(f, "1 allow\n"), fs.Invalid),
			drive(ctx, d.Owner, "question {}"), next(f, "2 {}\n"), send(f, "2 allow\n"), next(out, "allow \n"),
		)
	})},
	{"an exclusive service has one client at a time", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "desk/call", both)
		if err != nil {
			return err
		}
		_, err = d.Owner.Open(ctx, "desk/call", both)
		return errors.Join(refused("the second", err, fs.Busy), f.Close(), soon(ctx, func() error {
			f, err := d.Owner.Open(ctx, "desk/call", both)
			if err == nil {
				err = f.Close()
			}
			return err
		}))
	}},
}

// listening is a case that begins with the hook open, and what comes of its
// questions.
func listening(run func(ctx context.Context, d Doors, hook, outcomes File) error) func(context.Context, Doors) error {
	return func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "desk/hook", both)
		if err != nil {
			return err
		}
		defer f.Close()
		out, err := d.Owner.Open(ctx, "desk/outcomes", fs.Read)
		if err != nil {
			return err
		}
		defer out.Close()
		return run(ctx, d, f, out)
	}
}

// listeners waits until so many are to be asked.
func listeners(ctx context.Context, d Doors, want string) error {
	return soon(ctx, func() error { return reads(ctx, d.Owner, "desk/listeners", want) })
}

// soon tries until it works: what a close does may come after it has returned.
func soon(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil {
			return nil
		}
		select {
		case <-time.After(time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}
