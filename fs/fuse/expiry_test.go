package fuse_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

// expiring gives everyone rights that end.
type expiring struct {
	*fs.Tree
	until time.Time
}

func (e expiring) Attach(ctx context.Context, who *fs.Identity) (fs.Fid, error) {
	guest := *who
	guest.Until = e.until
	return e.Tree.Attach(ctx, &guest)
}

func TestRightsThatExpireEndWhatIsOpen(t *testing.T) {
	t.Parallel()
	root := &fs.Dir{Mode: 0o755, Children: map[string]fs.Node{
		"v": &fs.Value{Get: newCell("one\n").get}, "feed": &fs.Feed{},
	}}
	until := time.Now().Add(2 * time.Second)
	m := mounted(t, expiring{newTree(root), until}, fuse.Options{})
	p := bash(t, m, `exec 3<$M/feed; cat $M/v; cat <&3 2>&1; cat $M/v 2>&1; ls $M 2>&1`)
	want(t, "before the end", p.line, "one\n")
	for range 3 {
		line, err := p.out.ReadString('\n')
		if err != nil || !strings.Contains(line, "Permission denied") {
			t.Errorf("%q, %v", line, err)
		}
		if time.Now().Before(until) {
			t.Error("too early")
		}
	}
}
