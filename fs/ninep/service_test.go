package ninep_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"mikan/fs"
	"mikan/fs/ninep"
)

// hooks is a tree with a service file as deep as it may stand.
type hooks struct {
	hook fs.Service
	tree *fs.Tree
}

func newHooks(t *testing.T) *hooks {
	h := &hooks{}
	t.Cleanup(h.hook.Close)
	bodies := &fs.Bodies{}
	h.hook.Bodies = bodies
	dir := func(children map[string]fs.Node) fs.Node { return &fs.Dir{Mode: 0o750, Children: children} }
	h.tree = fs.NewTree(dir(map[string]fs.Node{"offices": dir(map[string]fs.Node{"local": dir(map[string]fs.Node{
		"a": dir(map[string]fs.Node{
			"key":   text("key of a"),
			"hooks": dir(map[string]fs.Node{"tool_result": &h.hook, "context": &fs.Service{Bodies: bodies}, fs.BodyDir: bodies}),
		}),
		"b": dir(map[string]fs.Node{"key": text("key of b")}),
	})})}), owner.UID, owner.GID)
	return h
}

// ask asks the only listener for something with a body.
func (h *hooks) ask(t *testing.T) <-chan error {
	t.Helper()
	l := h.hook.Listeners()[0]
	done := make(chan error, 1)
	go func() {
		_, err := l.Ask(context.Background(), fs.Question{Line: json.RawMessage(`{}`), Body: []byte("content")})
		done <- err
	}()
	return done
}

func TestService_a_rights_list_for_the_file_opens_the_bodies_of_its_requests_and_no_more(t *testing.T) {
	h := newHooks(t)
	rights, err := fs.ParseRights("offices/local/a/hooks/tool_result rw")
	if err != nil {
		t.Fatal(err)
	}
	connection := func() *fs.Client {
		nc, _ := serve(t, h.tree, &fs.Identity{Name: "ext", UID: owner.UID, Rights: rights})
		c, err := ninep.NewClient(t.Context(), nc)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return c
	}
	c, second := connection(), connection()
	const dir = "offices/local/a/hooks/"
	f, err := c.Open(t.Context(), dir+"tool_result", fs.Read|fs.Write)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	done := h.ask(t)
	p := make([]byte, fs.MaxRequestLine)
	if _, err := f.Read(p); err != nil {
		t.Fatal(err)
	}
	if data, err := c.ReadFile(t.Context(), dir+".body/1"); err != nil || string(data) != "content" {
		t.Errorf("the body: %q, %v", data, err)
	}
	if err := c.WriteFile(t.Context(), dir+".body/1", []byte("changed")); err != nil {
		t.Error(err)
	}
	if err := open(t, second, dir+".body/1", fs.Read); !errors.Is(err, fs.NotExist) {
		t.Errorf("another connection: %v", err)
	}
	for _, name := range []string{
		"offices/local/b/key", "offices/local/a/key", dir + "context", dir + ".body/2", dir + ".body/01", dir + ".body/../context",
	} {
		if err := open(t, c, name, fs.Read); !errors.Is(err, fs.NotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	body, err := c.Walk(t.Context(), dir+".body")
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range [][]string{{"..", "context"}, {"..", "..", "key"}, {"..", "..", "..", "b"}, {"1", "..", "2"}} {
		if f, err := body.Walk(t.Context(), way...); err == nil {
			t.Errorf("walked to %q", way)
			f.Clunk(t.Context())
		}
	}
	body.Clunk(t.Context())
	if err := c.Rename(t.Context(), dir+".body/1", "context"); err == nil {
		t.Error("renamed")
	}
	if _, err := f.Write([]byte("1 ok\n")); err != nil {
		t.Error(err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if err := open(t, c, dir+".body/1", fs.Read); !errors.Is(err, fs.NotExist) {
		t.Errorf("after the answer: %v", err)
	}
}

func TestService_a_hang_up_settles_what_the_client_held(t *testing.T) {
	h := newHooks(t)
	nc, stop := serve(t, h.tree, owner)
	w := newWire(t, nc)
	w.rpc("Twalk tag 1 fid 0 newfid 1 wname [offices local a hooks tool_result]")
	w.rpc("Topen tag 1 fid 1 mode ORDWR")
	done := h.ask(t)
	w.rpc("Tread tag 1 fid 1 offset 0 count 1024")
	w.send("Tread tag 2 fid 1 offset 0 count 1024") // waits for the next one
	if err := stop(); err != nil {
		t.Error(err)
	}
	if err := <-done; !errors.Is(err, fs.ErrGone) {
		t.Error(err)
	}
	if n := len(h.hook.Listeners()); n != 0 {
		t.Errorf("%d listeners are left", n)
	}
}

func TestService_an_answer_passes_a_read_that_waits(t *testing.T) {
	h := newHooks(t)
	nc, _ := serve(t, h.tree, owner)
	w := newWire(t, nc)
	w.rpc("Twalk tag 1 fid 0 newfid 1 wname [offices local a hooks tool_result]")
	w.rpc("Topen tag 1 fid 1 mode ORDWR")
	done := h.ask(t)
	w.rpc("Tread tag 1 fid 1 offset 0 count 1024")
	w.send("Tread tag 2 fid 1 offset 0 count 1024")
	w.send("Twrite tag 3 fid 1 offset 0 data '1 error not today\n'")
	w.expect("Rwrite tag 3 count 18")
	if err := <-done; err != nil {
		t.Error(err)
	}
	w.send("Tflush tag 4 oldtag 2")
	w.expect("Rflush tag 4")
	done = h.ask(t) // nothing was consumed by the read that was flushed
	w.send("Tread tag 5 fid 1 offset 0 count 1024")
	w.expect(`Rread tag 5 count 21 "2 {\"body\":\".body/2\"}\n"`)
	w.rpc("Tclunk tag 6 fid 1")
	if err := <-done; !errors.Is(err, fs.ErrGone) {
		t.Error(err)
	}
}
