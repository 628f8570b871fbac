package runtime_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"mikan/fs"
	"mikan/fs/serve"
)

func TestAddedTool_is_kept_over_restarts(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	l.office(rt, "demo")
	c := client(t, rt)
	addTool(t, c, weather, weatherSchema)
	if err := c.Mkdir(ctx(t), "platforms/bus", 0o750); err != nil {
		t.Fatal(err)
	}
	addTool(t, c, "platforms/bus/tools/pin", weatherSchema)
	want, err := c.ReadFile(ctx(t), weather+"/schema")
	if err != nil {
		t.Fatal(err)
	}
	c.Close()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	office := l.office(rt, "demo")
	c = client(t, rt)
	for _, name := range []string{weather, "platforms/bus/tools/pin"} {
		if got, err := c.ReadFile(ctx(t), name+"/schema"); err != nil || string(got) != string(want) {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got := answer(t, session(t, office, "main"), "% weather {}"); !strings.Contains(got, "nobody serves") {
		t.Errorf("after a restart: %q", got)
	}
	// A platform that is made anew has none of its predecessor's.
	for _, do := range []func(context.Context, string) error{c.Remove, func(ctx context.Context, name string) error { return c.Mkdir(ctx, name, 0o750) }} {
		if err := do(ctx(t), "platforms/bus"); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := c.Stat(ctx(t), "platforms/bus/tools/pin"); !errors.Is(err, fs.NotExist) {
		t.Errorf("of the platform before: %v", err)
	}
	c.Close()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	// A file that is damaged hides no other tool, and is not written over.
	broken := filepath.Join(office.State, "tools.json")
	if err := os.WriteFile(broken, []byte(`{"version":1,"tools":[{"name":"bash"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	c = client(t, rt)
	if got := answer(t, session(t, l.office(rt, "demo"), "main"), "$ echo fine"); got != "fine\n" {
		t.Errorf("with a damaged file: %q", got)
	}
	if err := c.Mkdir(ctx(t), toolsDir+"/new", 0o750); err == nil || !strings.Contains(err.Error(), "tool bash of its own") || !strings.Contains(err.Error(), "start the daemon again") {
		t.Errorf("mkdir: %v", err)
	}
	if data, err := os.ReadFile(broken); err != nil || !strings.Contains(string(data), `"bash"`) {
		t.Errorf("it is now %q, %v", data, err)
	}
}

func TestAddedTool_is_judged_where_it_is_made(t *testing.T) {
	_, s, c := toolLab(t)
	for name, kind := range map[string]error{
		"bash": fs.Invalid, "attach": fs.Invalid, "subagent": fs.Invalid, "mcp__a__b": fs.Invalid, "a b": fs.Invalid,
		"über": fs.Invalid, strings.Repeat("x", 65): fs.Invalid, "weather": fs.Exist, "README": fs.Exist, strings.Repeat("x", 64): nil,
	} {
		if err := c.Mkdir(ctx(t), toolsDir+"/"+name, 0o750); !errors.Is(err, kind) {
			t.Errorf("mkdir %s: %v; want %v", name, err, kind)
		}
	}
	if err := c.WriteFile(ctx(t), weather+"/schema", []byte(`{"description":"x","parameters":{"type":"string"}}`)); !errors.Is(err, fs.Invalid) {
		t.Errorf("a bad schema: %v", err)
	}
	if err := c.WriteFile(ctx(t), weather+"/schema", []byte(`{"description":"`+strings.Repeat("x", 17<<10)+`"}`)); !errors.Is(err, fs.TooBig) {
		t.Errorf("a giant schema: %v", err)
	}
	if got := answer(t, s, "% weather {}"); !strings.Contains(got, "nobody serves") {
		t.Errorf("the old one stays: %q", got)
	}
	for i := 0; ; i++ {
		err := c.Mkdir(ctx(t), fmt.Sprintf("%s/t%d", toolsDir, i), 0o750)
		if errors.Is(err, fs.Again) && i > 40 {
			break
		}
		if err != nil || i > 48 {
			t.Fatalf("tool %d: %v", i, err)
		}
	}
}

func TestAddedTool_of_a_platform_is_in_its_offices(t *testing.T) {
	c := newChat(t)
	addTool(t, c.tree, "platforms/bus/tools/pin", weatherSchema)
	serveTool(t, c.rt, "platforms/bus/tools/pin", func(ctx context.Context, r *serve.Request) serve.Answer {
		q := requestOf(t, ctx, r)
		return serve.OK("pinned in " + q.Conversation + " " + q.Thread + " for " + q.Origin.UserName)
	})
	c.say("C1", "% pin {}")
	c.say("C2", "% pin {}")
	same(t, "C1", c.answers("C1", 1), []string{"pinned in C1  for ann"})
	same(t, "C2", c.answers("C2", 1), []string{"pinned in C2  for ann"})
	addTool(t, c.tree, "offices/bus/C1/tools/pin", weatherSchema)
	c.say("C1", "% pin {}")
	same(t, "an office's own comes first", c.answers("C1", 2)[1:], []string{"nobody serves the tool pin now, so the call was not made"})
	if err := c.tree.Remove(ctx(t), "platforms/bus/tools/pin"); !errors.Is(err, fs.Busy) {
		t.Errorf("rmdir: %v", err)
	}
}

// A client that fills all there is room for leaves the list of tools such as any
// provider takes, and it is there again after a restart.
func TestAddedTool_all_together_are_bounded(t *testing.T) {
	l := newLab(t)
	rt := l.start()
	l.office(rt, "demo")
	c := client(t, rt)
	if err := c.Mkdir(ctx(t), "platforms/bus", 0o750); err != nil {
		t.Fatal(err)
	}
	wide := strings.Repeat("[", 24) + "0" + strings.Repeat(",0", 6000) + strings.Repeat("]", 24) // long when it is indented
	schema := `{"description":"<<<<","parameters":{"type":"object","properties":{},"default":` + wide + `}}`
	want := map[string]string{}
	for _, dir := range []string{toolsDir, "platforms/bus/tools"} {
		made, full := 0, 0
		for ; ; made++ {
			name := fmt.Sprintf("%s/t%d", dir, made)
			err := c.Mkdir(ctx(t), name, 0o750)
			if errors.Is(err, fs.Again) {
				break
			}
			if err != nil {
				t.Fatal(err)
			}
			switch err := c.WriteFile(ctx(t), name+"/schema", []byte(schema)); {
			case errors.Is(err, fs.TooBig) && strings.Contains(err.Error(), "together"):
				full++
				schema := `{"description":"x"}`
				if err := c.WriteFile(ctx(t), name+"/schema", []byte(schema)); err != nil {
					t.Fatalf("a small one: %v", err)
				}
			case err != nil:
				t.Fatal(err)
			}
			data, err := c.ReadFile(ctx(t), name+"/schema")
			if err != nil {
				t.Fatal(err)
			}
			want[name] = string(data)
		}
		if made > 48 || full == 0 {
			t.Errorf("%s: %d tools, %d of them too long", dir, made, full)
		}
		// To write one again takes no more room.
		if err := c.WriteFile(ctx(t), dir+"/t0/schema", []byte(schema)); err != nil {
			t.Errorf("%s: once more: %v", dir, err)
		}
	}
	size := 0
	for _, text := range want {
		size += len(text)
	}
	if size > 2*64<<10+len(want)*100 {
		t.Errorf("the model is told %d bytes", size)
	}
	c.Close()
	if err := rt.Close(); err != nil {
		t.Fatal(err)
	}
	rt = l.start()
	l.office(rt, "demo")
	c = client(t, rt)
	defer c.Close()
	for name, text := range want {
		if got, err := c.ReadFile(ctx(t), name+"/schema"); err != nil || string(got) != text {
			t.Errorf("%s after a restart: %.80q, %v", name, got, err)
			break
		}
	}
}

// What an editor reads is what it may write back.
func TestAddedTool_schema_reads_as_it_was_written(t *testing.T) {
	_, _, c := toolLab(t)
	const want = `{"description":"a < b && c > d","parameters":{"properties":{},"type":"object"}}` + "\n"
	if err := c.WriteFile(ctx(t), weather+"/schema", []byte(want)); err != nil {
		t.Fatal(err)
	}
	if got, err := c.ReadFile(ctx(t), weather+"/schema"); err != nil || string(got) != want {
		t.Errorf("%q, %v", got, err)
	}
}
