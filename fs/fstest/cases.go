package fstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"mikan/fs"
)

// Cases are the promises that hold through every door.
func Cases() []Case {
	return slices.Concat(valueCases, lineCases, streamCases, serviceCases, directoryCases)
}

var valueCases = []Case{
	{"a value is replaced whole", func(ctx context.Context, d Doors) error {
		return errors.Join(
			reads(ctx, d.Owner, "value", "one\n"),
			put(ctx, d.Owner, "value", "a longer second\n"),
			reads(ctx, d.Owner, "value", "a longer second\n"),
			put(ctx, d.Owner, "value", "3\n"),
			reads(ctx, d.Owner, "value", "3\n"),
			sizeIs(ctx, d.Owner, "value", 2),
		)
	}},
	{"a refused value keeps the old content", func(ctx context.Context, d Doors) error {
		return errors.Join(
			refused("a bad value", put(ctx, d.Owner, "value", "bad\n"), fs.Invalid),
			reads(ctx, d.Owner, "value", "one\n"),
		)
	}},
	{"a value is fixed for its reader at the open", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "value", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		return errors.Join(put(ctx, d.Owner, "value", "two\n"), next(f, "one\n"), next(f, ""))
	}},
	{"truncating alone changes nothing", func(ctx context.Context, d Doors) error {
		return errors.Join(put(ctx, d.Owner, "value", ""), reads(ctx, d.Owner, "value", "one\n"))
	}},
	{"a value is written in parts and committed once", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "value", fs.Write|fs.Truncate)
		if err != nil {
			return err
		}
		return errors.Join(
			send(f, "ba"), reads(ctx, d.Owner, "value", "one\n"), send(f, "con\n"),
			f.Sync(ctx), f.Close(), reads(ctx, d.Owner, "value", "bacon\n"),
		)
	}},
	{"a value's time is that of its last change", func(ctx context.Context, d Doors) error {
		before, err := d.Owner.Stat(ctx, "value")
		again, err2 := d.Owner.Stat(ctx, "value")
		err3 := put(ctx, d.Owner, "value", "two\n")
		after, err4 := d.Owner.Stat(ctx, "value")
		if err := errors.Join(err, err2, err3, err4); err != nil {
			return err
		}
		if !before.MTime.Equal(again.MTime) || !after.MTime.After(before.MTime) {
			return fmt.Errorf("times %v, %v, then %v", before.MTime, again.MTime, after.MTime)
		}
		return nil
	}},
	{"a value is bounded", func(ctx context.Context, d Doors) error {
		return errors.Join(
			refused("100 KiB", put(ctx, d.Owner, "value", strings.Repeat("x", 100<<10)), fs.TooBig),
			reads(ctx, d.Owner, "value", "one\n"),
		)
	}},
	{"a value without a use for writing refuses it, for root too", func(ctx context.Context, d Doors) error {
		return refused("a write", put(ctx, d.Owner, "fixed", "x"), fs.Permission)
	}},
	{"a secret is written and never read", func(ctx context.Context, d Doors) error {
		_, err := readAll(ctx, d.Owner, "secret")
		return errors.Join(
			put(ctx, d.Owner, "secret", "hunter2\n"),
			reads(ctx, d.Owner, "bodies", "\"hunter2\"\n"),
			refused("reading it", err, fs.Permission),
			sizeIs(ctx, d.Owner, "secret", 0),
		)
	}},
	{"errstr has the sentence of the last error", func(ctx context.Context, d Doors) error {
		err := refused("a bad value", put(ctx, d.Owner, "value", "bad\n"), fs.Invalid)
		text, err2 := readAll(ctx, d.Owner, "errstr")
		if !strings.HasSuffix(text, "the value is bad; write a good one\n") {
			err = errors.Join(err, fmt.Errorf("errstr is %q", text))
		}
		return errors.Join(err, err2, sizeIs(ctx, d.Owner, "errstr", int64(len(text))))
	}},
}

func sizeIs(ctx context.Context, d Door, name string, want int64) error {
	info, err := d.Stat(ctx, name)
	if err == nil && info.Size != want {
		err = fmt.Errorf("%s has size %d; want %d", name, info.Size, want)
	}
	return err
}

var lineCases = []Case{
	{"ctl runs line by line", func(ctx context.Context, d Doors) error {
		return errors.Join(
			put(ctx, d.Owner, "ctl", "one\ntwo words\r\n\nthree\n"),
			reads(ctx, d.Owner, "ctl", "one\ntwo words\nthree\n"),
		)
	}},
	{"ctl keeps a part of a line until the rest comes", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "ctl", fs.Write)
		if err != nil {
			return err
		}
		return errors.Join(
			send(f, "on"), reads(ctx, d.Owner, "ctl", ""),
			send(f, "e\ntw"), reads(ctx, d.Owner, "ctl", "one\n"),
			send(f, "o"), f.Sync(ctx), f.Close(), reads(ctx, d.Owner, "ctl", "one\ntwo\n"),
		)
	}},
	{"a failing line ends its write and is its error", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "ctl", fs.Write)
		if err != nil {
			return err
		}
		return errors.Join(
			refused("the write", send(f, "one\nfail\ntwo\n"), fs.Invalid),
			send(f, "three\n"), f.Sync(ctx), f.Close(),
			reads(ctx, d.Owner, "ctl", "one\nthree\n"),
		)
	}},
	{"an over-long line is refused, and its tail is no command", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "ctl", fs.Write)
		if err != nil {
			return err
		}
		return errors.Join(
			refused("a long line", send(f, strings.Repeat("x", 9000)), fs.TooBig),
			refused("its tail", send(f, "tail\n"), fs.TooBig),
			send(f, "next\n"), f.Close(),
			reads(ctx, d.Owner, "ctl", "next\n"),
		)
	}},
	{"a body is committed once, whole", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "prompt", fs.Write|fs.Truncate)
		if err != nil {
			return err
		}
		return errors.Join(
			send(f, "one\n"), send(f, "two\n"), f.Sync(ctx), f.Sync(ctx),
			reads(ctx, d.Owner, "bodies", `"one\ntwo\n"`+"\n"),
			send(f, "three\n"), f.Sync(ctx), f.Close(),
			reads(ctx, d.Owner, "bodies", `"one\ntwo\n"`+"\n"+`"three\n"`+"\n"),
			reads(ctx, d.Owner, "prompt", ""),
		)
	}},
	{"a refused body is an error and leaves nothing", func(ctx context.Context, d Doors) error {
		return errors.Join(
			refused("a bad body", put(ctx, d.Owner, "prompt", "bad"), fs.Invalid),
			refused("blanks", put(ctx, d.Owner, "prompt", " \n"), fs.Invalid),
			put(ctx, d.Owner, "prompt", ""),
			reads(ctx, d.Owner, "bodies", ""),
		)
	}},
	{"ask answers on the same open file", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "ask", fs.Read|fs.Write)
		if err != nil {
			return err
		}
		return errors.Join(
			send(f, "hi"), next(f, "you said hi"), next(f, ""),
			send(f, "again"), f.Sync(ctx), next(f, "you said again"), next(f, ""),
			f.Close(),
		)
	}},
	{"ask without a body is at its end", func(ctx context.Context, d Doors) error {
		return errors.Join(reads(ctx, d.Owner, "ask", ""), put(ctx, d.Owner, "ask", "only written"),
			reads(ctx, d.Owner, "bodies", "\"only written\"\n"))
	}},
	{"a refused question is an error", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "ask", fs.Read|fs.Write)
		if err != nil {
			return err
		}
		return errors.Join(
			send(f, "bad"), refused("the commit", f.Sync(ctx), fs.Invalid),
			send(f, "good"), f.Sync(ctx), next(f, "you said good"), f.Close(),
		)
	}},
}

var streamCases = []Case{
	{"a log has true offsets and grows", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "log", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		return errors.Join(
			next(f, ""),
			drive(ctx, d.Owner, "log one"), next(f, "one\n"), next(f, ""),
			drive(ctx, d.Owner, "log two\nlog three"), next(f, "two\nthree\n"), next(f, ""),
			sizeIs(ctx, d.Owner, "log", 14),
			refused("a write", put(ctx, d.Owner, "log", "x"), fs.Permission),
		)
	}},
	{"a feed starts now", func(ctx context.Context, d Doors) error {
		if err := drive(ctx, d.Owner, "feed early"); err != nil {
			return err
		}
		f, err := d.Owner.Open(ctx, "feed", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		return errors.Join(
			drive(ctx, d.Owner, "feed one\nfeed two"), next(f, "one\ntwo\n"),
			drive(ctx, d.Owner, "feed three\nclose"), next(f, "three\n"), next(f, ""),
		)
	}},
	{"a line wakes the reader who waits for it", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "feed", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		got := make(chan error, 1)
		go func() { got <- next(f, "one\n") }()
		return errors.Join(drive(ctx, d.Owner, "feed one"), await(ctx, got))
	}},
	{"who lags loses the oldest lines and is told how many", func(ctx context.Context, d Doors) error {
		f, err := d.Owner.Open(ctx, "feed", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		if err := drive(ctx, d.Owner, "flood 1500"); err != nil {
			return err
		}
		p := make([]byte, 64<<10)
		n, err := f.Read(p)
		if want := "{\"type\":\"dropped\",\"n\":500}\n501\n502\n"; !strings.HasPrefix(string(p[:n]), want) {
			err = errors.Join(err, fmt.Errorf("the feed begins %.60q; want %q", p[:n], want))
		}
		return err
	}},
	{"an answer is read whole, while it comes and later", func(ctx context.Context, d Doors) error {
		if err := drive(ctx, d.Owner, "begin\nappend one"); err != nil {
			return err
		}
		f, err := d.Owner.Open(ctx, "answer", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		return errors.Join(
			next(f, "one\n"), drive(ctx, d.Owner, "append two"), next(f, "two\n"),
			drive(ctx, d.Owner, "end"), next(f, ""),
			reads(ctx, d.Owner, "answer", "one\ntwo\n"),
		)
	}},
	{"without an answer there is the end at once", func(ctx context.Context, d Doors) error {
		return errors.Join(reads(ctx, d.Owner, "answer", ""), reads(ctx, d.Owner, "wait", ""))
	}},
	{"a failed answer is an error after its text", func(ctx context.Context, d Doors) error {
		if err := drive(ctx, d.Owner, "begin\nappend one\nbreak the model is gone"); err != nil {
			return err
		}
		text, err := readAll(ctx, d.Owner, "answer")
		reason, err2 := readAll(ctx, d.Owner, "errstr")
		if !strings.HasSuffix(reason, "the model is gone\n") {
			err2 = errors.Join(err2, fmt.Errorf("errstr is %q", reason))
		}
		return errors.Join(same("the text", text, "one\n"), refused("the end", err, fs.IO), err2)
	}},
	{"wait ends when the work has ended", func(ctx context.Context, d Doors) error {
		if err := drive(ctx, d.Owner, "begin"); err != nil {
			return err
		}
		f, err := d.Owner.Open(ctx, "wait", fs.Read)
		if err != nil {
			return err
		}
		defer f.Close()
		got := make(chan error, 1)
		go func() { got <- next(f, "") }()
		select {
		case err := <-got:
			return fmt.Errorf("it ended early: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
		return errors.Join(drive(ctx, d.Owner, "end"), await(ctx, got))
	}},
}

func await(ctx context.Context, done <-chan error) error {
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("still waiting: %w", ctx.Err())
	}
}
