package fstest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"testing"
	"time"

	"mikan/fs"
)

// Case is one promise, and the test of it on a fresh tree.
type Case struct {
	Name string
	Run  func(ctx context.Context, d Doors) error
}

// errSkip is what a case answers that needs a door which is not there.
var errSkip = errors.New("there is no door for another user")

// caseTime bounds a case: a read that nobody answers.
const caseTime = 20 * time.Second

// Run runs all cases as subtests. For each, open opens doors to the tree it is
// given, which is fresh and belongs to the user who runs the test.
func Run(t *testing.T, open func(t *testing.T, tree *fs.Tree) Doors) {
	for _, c := range Cases() {
		t.Run(c.Name, func(t *testing.T) {
			doors := open(t, NewTree(t.TempDir(), uint32(os.Getuid()), uint32(os.Getgid())))
			err := c.run(t.Context(), doors)
			if errors.Is(err, errSkip) {
				t.Skip(err)
			}
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// RunCase runs the case of that name, for a child process; nil also if it was
// skipped.
func RunCase(ctx context.Context, name string, d Doors) error {
	for _, c := range Cases() {
		if c.Name == name {
			if err := c.run(ctx, d); !errors.Is(err, errSkip) {
				return err
			}
			return nil
		}
	}
	return fmt.Errorf("no case %q", name)
}

func (c Case) run(ctx context.Context, d Doors) error {
	ctx, cancel := context.WithTimeout(ctx, caseTime)
	defer cancel()
	return c.Run(ctx, d)
}

// The steps of cases. A case joins the errors of its steps, which run in order.

// readAll reads a file to its end.
func readAll(ctx context.Context, d Door, name string) (string, error) {
	f, err := d.Open(ctx, name, fs.Read)
	if err != nil {
		return "", err
	}
	defer f.Close()
	data, err := io.ReadAll(f)
	return string(data), err
}

func reads(ctx context.Context, d Door, name, want string) error {
	got, err := readAll(ctx, d, name)
	if err != nil {
		return err
	}
	return same(name, got, want)
}

func same(what, got, want string) error {
	if got != want {
		return fmt.Errorf("%s is %q; want %q", what, got, want)
	}
	return nil
}

// next reads once from an open file.
func next(f File, want string) error {
	p := make([]byte, 64<<10)
	n, err := f.Read(p)
	if err != nil && !(errors.Is(err, io.EOF) && want == "") {
		return err
	}
	return same("the next read", string(p[:n]), want)
}

// put opens a file with Truncate, writes, and commits.
func put(ctx context.Context, d Door, name, text string) error {
	f, err := d.Open(ctx, name, fs.Write|fs.Truncate)
	if err != nil {
		return err
	}
	return errors.Join(send(f, text), f.Sync(ctx), f.Close())
}

func send(f File, text string) error {
	_, err := io.WriteString(f, text)
	return err
}

// refused checks that err is of kind k.
func refused(what string, err error, k fs.Kind) error {
	if err == nil {
		return fmt.Errorf("%s succeeded; want %q", what, k)
	}
	if got := fs.KindOf(err); got != k {
		return fmt.Errorf("%s: %v is %q; want %q", what, err, got, k)
	}
	return nil
}

// drive makes something happen in the tree.
func drive(ctx context.Context, d Door, lines string) error {
	return put(ctx, d, "drive", lines+"\n")
}
