package tree_test

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"testing"

	mfs "mikan/fs"
)

const theTool = "offices/local/a/tools/weather"

func TestRights_for_one_tool_open_nothing_else(t *testing.T) {
	for front, dial := range map[string]func(l *lab, who *mfs.Identity) *mfs.Client{
		"in process": (*lab).client, "9p": (*lab).dial,
	} {
		t.Run(front, func(t *testing.T) {
			l := newLab(t)
			l.put(theTool+"/schema", `{"description":"The weather."}`)
			call := theTool + "/call"
			c, twin := dial(l, guestOf(t, call)), dial(l, guestOf(t, call))
			for _, name := range l.everything() {
				_, err := c.Stat(l.ctx(), name)
				if leadsTo(name, call) != (err == nil) || err != nil && !errors.Is(err, mfs.NotExist) {
					t.Errorf("stat %s: %v", name, err)
				}
				if name == call {
					continue
				}
				var want []string
				if leadsTo(name, call) {
					want = []string{"open r"} // to be listed
				}
				if worked := l.tryAll(c, name); !slices.Equal(worked, want) {
					t.Errorf("%s: %q worked; want %q", name, worked, want)
				}
			}
			f, err := c.Open(l.ctx(), call, mfs.Read|mfs.Write)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			if _, err := twin.Open(l.ctx(), call, mfs.Read|mfs.Write); !errors.Is(err, mfs.Busy) {
				t.Errorf("a second one to serve it: %v", err)
			}
			l.put("offices/local/a/ctl", `prompt % weather {"city":"`+strings.Repeat("x", 2000)+"\"}\n")
			buf := make([]byte, mfs.MaxRequestLine)
			n, err := f.ReadContext(l.ctx(), buf)
			if err != nil {
				t.Fatal(err)
			}
			request, err := mfs.ParseRequestLine(buf[:n])
			if err != nil || !request.HasBody() {
				t.Fatalf("%s: %v", buf[:n], err)
			}
			body := path.Join(theTool, mfs.BodyPath(request.Tag))
			if worked := l.tryAll(twin, body); len(worked) > 0 {
				t.Errorf("another with the same rights: %q worked", worked)
			}
			if data, err := c.ReadFile(l.ctx(), body); err != nil || !strings.Contains(string(data), `"city":"xxx`) {
				t.Errorf("the body has %d bytes, %v", len(data), err)
			}
			if err := c.WriteFile(l.ctx(), body, []byte("sunny,\nin no JSON")); err != nil {
				t.Error(err)
			}
			if _, err := f.WriteContext(l.ctx(), fmt.Appendf(nil, "%d ok\n", request.Tag)); err != nil {
				t.Error(err)
			}
			if got := l.get("offices/local/a/sessions/main/reply"); got != "sunny,\nin no JSON\n" {
				t.Errorf("the answer: %.80q", got)
			}
		})
	}
}
