package ninep_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/ninep"
)

// open tries to open name and returns the error.
func open(t *testing.T, c *fs.Client, name string, how fs.Flags) error {
	t.Helper()
	f, err := c.Open(t.Context(), name, how)
	if err == nil {
		f.Close()
	}
	return err
}

func TestRights_of_a_connection_decide_and_the_mode_bits_do_not(t *testing.T) {
	rights, err := fs.ParseRights("/letters r\n/private/leak w\n")
	if err != nil {
		t.Fatal(err)
	}
	c, _ := dial(t, &fs.Identity{Name: "ext", UID: owner.UID, Rights: rights})
	for _, try := range []struct {
		name string
		how  fs.Flags
		want error
	}{
		{"letters/a", fs.Read, nil},
		{"letters/a", fs.Write, fs.Permission},
		{"private/leak", fs.Write, nil},
		{"private/leak", fs.Read, fs.Permission},
		{"hello", fs.Read, fs.NotExist},
	} {
		if err := open(t, c, try.name, try.how); !errors.Is(err, try.want) {
			t.Errorf("open %s for %v: %v; want %v", try.name, try.how, err, try.want)
		}
	}
	list, err := c.ReadDir(t.Context(), "/")
	if err != nil || len(list) != 2 {
		t.Errorf("the root shows %v, %v", list, err)
	}
}

func TestPermission_of_another_user(t *testing.T) {
	c, _ := dial(t, other)
	for _, try := range []struct {
		name string
		how  fs.Flags
		want error
	}{
		{"hello", fs.Read, fs.Permission},
		{"shown", fs.Read, nil},
		{"shown", fs.Write, fs.Permission},
		{"private/leak", fs.Read, fs.Permission},
	} {
		if err := open(t, c, try.name, try.how); !errors.Is(err, try.want) {
			t.Errorf("open %s for %v: %v; want %v", try.name, try.how, err, try.want)
		}
	}
}

func TestPermission_truncation_needs_write_permission_whatever_the_file_is_opened_for(t *testing.T) {
	tree, _ := newTree()
	nc, _ := serve(t, tree, other)
	w := newWire(t, nc)
	w.rpc("Twalk tag 1 fid 0 newfid 1 wname shown")
	w.send("Topen tag 1 fid 1 mode OREAD|OTRUNC")
	w.expect("Rerror tag 1 ename permission denied")
}

// claimer is an Attacher that remembers who attached.
type claimer struct {
	*fs.Tree
	who chan *fs.Identity
}

func (c claimer) Attach(ctx context.Context, who *fs.Identity) (fs.Fid, error) {
	c.who <- who
	return c.Tree.Attach(ctx, who)
}

func TestAttach_ignores_the_name_that_the_client_claims(t *testing.T) {
	tree, _ := newTree()
	at := claimer{tree, newClaims()}
	nc, _ := serve(t, at, other)
	c, err := ninep.Connect(t.Context(), nc, "9P2000")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Attach(t.Context(), owner); err != nil {
		t.Fatal(err)
	}
	if who := <-at.who; who != other {
		t.Errorf("attached as %v", who)
	}
}

func newClaims() chan *fs.Identity { return make(chan *fs.Identity, 1) }

func TestRights_that_expire_end_what_the_connection_has_open(t *testing.T) {
	t.Parallel()
	rights, err := fs.ParseRights("/ rw")
	if err != nil {
		t.Fatal(err)
	}
	guest := &fs.Identity{Name: "guest", UID: owner.UID, Rights: rights, Until: time.Now().Add(time.Second)}
	tree, _ := newTree()
	nc, _ := serve(t, tree, guest)
	w := newWire(t, nc)
	w.open(1, "gate", "ORDWR")
	w.open(2, "hello", "ORDWR")
	w.rpc("Topen tag 1 fid 0 mode OREAD")

	const gone = "the rights have expired; ask for new ones: permission denied"
	w.send("Tread tag 7 fid 1 offset 0 count 10") // waits, until there is nothing to wait for
	w.expect("Rerror tag 7 ename " + gone)
	for _, msg := range []string{
		"Tread tag 7 fid 2 offset 0 count 10",
		"Twrite tag 7 fid 2 offset 0 data 'x'",
		"Tread tag 7 fid 0 offset 0 count 1000",
		"Tstat tag 7 fid 2",
		"Tattach tag 7 fid 9 afid NOFID uname none aname ''",
	} {
		w.send(msg)
		w.expect("Rerror tag 7 ename " + gone)
	}
	w.rpc("Tclunk tag 7 fid 2")
}
