package fstest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"mikan/fs"
)

var directoryCases = []Case{
	{"files that block open by name and are not listed", func(ctx context.Context, d Doors) error {
		names, err := list(ctx, d.Owner, "")
		want := "bodies ctl desk drive errstr fixed log private prompt rooms secret value work"
		if err != nil {
			return err
		}
		for _, name := range []string{"feed", "answer", "wait", "ask"} {
			info, statErr := d.Owner.Stat(ctx, name)
			if info.Size != 0 {
				statErr = errors.Join(statErr, fmt.Errorf("%s has a size", name))
			}
			err = errors.Join(err, statErr)
		}
		return errors.Join(err, same("the list", names, want))
	}},
	{"a name that is not there does not exist", func(ctx context.Context, d Doors) error {
		_, err := d.Owner.Stat(ctx, "nothing")
		_, err2 := d.Owner.Stat(ctx, "value/below")
		return errors.Join(refused("stat", err, fs.NotExist), refused("walking through a file", err2, fs.NotDir))
	}},
	{"a fixed name is neither removed nor renamed", func(ctx context.Context, d Doors) error {
		return errors.Join(
			refused("remove", d.Owner.Remove(ctx, "ctl"), fs.Fixed),
			refused("rename", d.Owner.Rename(ctx, "ctl", "other"), fs.Fixed),
			refused("mkdir", d.Owner.Mkdir(ctx, "new", 0o755), fs.Fixed),
			refused("chmod", chmod(ctx, d.Owner, "ctl", 0o777), fs.Fixed),
		)
	}},
	{"directories are made and removed where that means something", func(ctx context.Context, d Doors) error {
		err := d.Owner.Mkdir(ctx, "rooms/red", 0o755)
		names, err2 := list(ctx, d.Owner, "rooms")
		return errors.Join(
			err, err2, same("the list", names, "red"),
			refused("again", d.Owner.Mkdir(ctx, "rooms/red", 0o755), fs.Exist),
			d.Owner.Remove(ctx, "rooms/red"), gone(ctx, d.Owner, "rooms/red"),
		)
	}},
	{"scratch renamed over a value becomes its content", func(ctx context.Context, d Doors) error {
		return errors.Join(
			create(ctx, d.Owner, "value.tmp", "two\n"), reads(ctx, d.Owner, "value.tmp", "two\n"),
			d.Owner.Rename(ctx, "value.tmp", "value"),
			reads(ctx, d.Owner, "value", "two\n"), gone(ctx, d.Owner, "value.tmp"),
		)
	}},
	{"scratch that the value refuses stays", func(ctx context.Context, d Doors) error {
		return errors.Join(
			create(ctx, d.Owner, "value.tmp", "bad\n"),
			refused("the rename", d.Owner.Rename(ctx, "value.tmp", "value"), fs.Invalid),
			reads(ctx, d.Owner, "value", "one\n"), reads(ctx, d.Owner, "value.tmp", "bad\n"),
			d.Owner.Remove(ctx, "value.tmp"), gone(ctx, d.Owner, "value.tmp"),
		)
	}},
	{"an editor's way: backup, write anew, drop the backup", func(ctx context.Context, d Doors) error {
		return errors.Join(
			create(ctx, d.Owner, "4913", ""), d.Owner.Remove(ctx, "4913"),
			d.Owner.Rename(ctx, "value", "value~"),
			put(ctx, d.Owner, "value", "edited\n"),
			reads(ctx, d.Owner, "value~", "one\n"),
			d.Owner.Remove(ctx, "value~"),
			reads(ctx, d.Owner, "value", "edited\n"), gone(ctx, d.Owner, "value~"),
		)
	}},
	{"scratch is bounded, and not renamed over what is no value", func(ctx context.Context, d Doors) error {
		return errors.Join(
			refused("over 1 MiB", create(ctx, d.Owner, "big", strings.Repeat("x", 1<<20+1)), fs.TooBig),
			create(ctx, d.Owner, "small", "x"),
			refused("over ctl", d.Owner.Rename(ctx, "small", "ctl"), fs.Fixed),
		)
	}},
	{"a host directory passes through", func(ctx context.Context, d Doors) error {
		err := errors.Join(
			d.Owner.Mkdir(ctx, "work/sub", 0o755),
			create(ctx, d.Owner, "work/sub/a", "hello\n"),
			reads(ctx, d.Owner, "work/sub/a", "hello\n"), sizeIs(ctx, d.Owner, "work/sub/a", 6),
			put(ctx, d.Owner, "work/sub/a", "hi\n"), reads(ctx, d.Owner, "work/sub/a", "hi\n"),
			chmod(ctx, d.Owner, "work/sub/a", 0o600),
			d.Owner.Rename(ctx, "work/sub/a", "b"), reads(ctx, d.Owner, "work/sub/b", "hi\n"),
			gone(ctx, d.Owner, "work/sub/a"),
			refused("rmdir", d.Owner.Remove(ctx, "work/sub"), fs.NotEmpty),
		)
		info, err2 := d.Owner.Stat(ctx, "work/sub/b")
		if info.Mode != 0o600 {
			err2 = errors.Join(err2, fmt.Errorf("mode is %v", info.Mode))
		}
		names, err3 := list(ctx, d.Owner, "work/sub")
		return errors.Join(err, err2, err3, same("the list", names, "b"),
			d.Owner.Remove(ctx, "work/sub/b"), d.Owner.Remove(ctx, "work/sub"), gone(ctx, d.Owner, "work/sub"))
	}},
	{"a maker may write what the mode forbids later", func(ctx context.Context, d Doors) error {
		return errors.Join(create(ctx, d.Owner, "work/object", "x\n"), createMode(ctx, d.Owner, "work/sealed", 0o444, "y\n"),
			reads(ctx, d.Owner, "work/sealed", "y\n"))
	}},
	{"another user does what the mode bits say", func(ctx context.Context, d Doors) error {
		if d.Other == nil {
			return errSkip
		}
		_, inside := d.Other.Stat(ctx, "private/note")
		_, readable := readAll(ctx, d.Other, "value")
		_, listable := list(ctx, d.Other, "private")
		return errors.Join(
			reads(ctx, d.Other, "fixed", "fixed\n"),
			refused("reading 0640", readable, fs.Permission),
			refused("walking through 0700", inside, fs.Permission),
			refused("listing 0700", listable, fs.Permission),
			refused("writing 0660", put(ctx, d.Other, "ctl", "x\n"), fs.Permission),
			refused("creating in 0755", create(ctx, d.Other, "tmp", "x"), fs.Permission),
			refused("chmod", chmod(ctx, d.Other, "fixed", 0o777), fs.Fixed),
		)
	}},
	{"another user has his own errstr", func(ctx context.Context, d Doors) error {
		if d.Other == nil {
			return errSkip
		}
		return errors.Join(
			refused("a bad value", put(ctx, d.Owner, "value", "bad\n"), fs.Invalid),
			reads(ctx, d.Other, "errstr", ""),
		)
	}},
}

func list(ctx context.Context, d Door, name string) (string, error) {
	infos, err := d.ReadDir(ctx, name)
	names := make([]string, len(infos))
	for i, info := range infos {
		names[i] = info.Name
	}
	if !slices.IsSorted(names) {
		err = errors.Join(err, fmt.Errorf("%q is not sorted", names))
	}
	return strings.Join(names, " "), err
}

func gone(ctx context.Context, d Door, name string) error {
	_, err := d.Stat(ctx, name)
	return refused("stat "+name, err, fs.NotExist)
}

func create(ctx context.Context, d Door, name, text string) error {
	return createMode(ctx, d, name, 0o640, text)
}

func createMode(ctx context.Context, d Door, name string, perm fs.FileMode, text string) error {
	f, err := d.Create(ctx, name, perm, fs.Write)
	if err != nil {
		return err
	}
	return errors.Join(send(f, text), f.Close())
}

func chmod(ctx context.Context, d Door, name string, mode fs.FileMode) error {
	return d.Change(ctx, name, fs.Change{Mode: &mode})
}
