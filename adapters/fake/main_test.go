package fake_test

import (
	"context"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"mikan/fs"
	"mikan/fs/ninep"
	"mikan/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// desk is platforms/test of a tree that has nothing else.
type desk struct {
	t    testing.TB
	tree *fs.Tree
	out  fs.Service
	caps string
	in   chan wire.InMessage
	busy chan error // what in says instead of taking a message
}

var owner = &fs.Identity{Name: "owner", UID: uint32(os.Getuid()), GID: uint32(os.Getgid())}

func newDesk(t testing.TB) *desk {
	d := &desk{t: t, in: make(chan wire.InMessage, 100), busy: make(chan error, 100)}
	bodies := &fs.Bodies{}
	d.out = fs.Service{Exclusive: true, Bodies: bodies, Timeout: 10 * time.Second}
	children := map[string]fs.Node{
		"in": &fs.Body{Commit: func(_ context.Context, _ *fs.Identity, body []byte) error {
			select {
			case err := <-d.busy:
				return err
			default:
			}
			var m wire.InMessage
			if err := wire.DecodeJSON("message", body, &m); err != nil {
				return fs.Errorf(fs.Invalid, "%w", err)
			}
			d.in <- m
			return m.Check()
		}},
		"caps": &fs.Value{
			Get: func(context.Context, *fs.Identity) ([]byte, time.Time, error) {
				return []byte(d.caps), time.Time{}, nil
			},
			Set: func(_ context.Context, _ *fs.Identity, data []byte) error {
				_, err := wire.ParseCaps(data)
				d.caps = string(data)
				return err
			},
		},
		"out": &d.out, fs.BodyDir: bodies,
	}
	root := &fs.Dir{Children: map[string]fs.Node{"platforms": &fs.Dir{Children: map[string]fs.Node{"test": &fs.Dir{Children: children}}}}}
	d.tree = fs.NewTree(root, owner.UID, owner.GID)
	return d
}

// fronts are the ways by which an adapter may come to its desk.
var fronts = map[string]func(*testing.T, *desk) *fs.Client{
	"in process": func(t *testing.T, d *desk) *fs.Client {
		c, err := d.tree.Client(t.Context(), owner)
		if err != nil {
			t.Fatal(err)
		}
		return c
	},
	"unix socket": func(t *testing.T, d *desk) *fs.Client {
		path := filepath.Join(t.TempDir(), "9p")
		l, err := ninep.ListenUnix(path, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		ctx, hangUp := context.WithCancel(context.Background())
		served := make(chan error, 1)
		go func() { served <- (&ninep.Server{Tree: d.tree}).Serve(ctx, l) }()
		t.Cleanup(func() { hangUp(); <-served })
		c, err := ninep.Dial(t.Context(), path)
		if err != nil {
			t.Fatal(err)
		}
		return c
	},
	"descriptor": func(t *testing.T, d *desk) *fs.Client {
		here, there := net.Pipe()
		served := make(chan error, 1)
		go func() { served <- (&ninep.Server{Tree: d.tree}).ServeConn(context.Background(), there, owner) }()
		t.Cleanup(func() { <-served })
		c, err := ninep.NewClient(t.Context(), here)
		if err != nil {
			t.Fatal(err)
		}
		return c
	},
}
