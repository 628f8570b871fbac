package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"
)

func TestEditsAtTheSameTimeAreAllKept(t *testing.T) {
	s := newShell(t)
	w := &Writers{}
	s.put(t, "MEMORY.md", "end\n")
	var g errgroup.Group
	for i := range 32 {
		edit := Tools(s, w)[1]
		name := []string{"MEMORY.md", "./MEMORY.md", s.dir + "/MEMORY.md"}[i%3]
		g.Go(func() error {
			args := fmt.Sprintf(`{"label":"x","path":%q,"oldText":"end\n","newText":"line %d\nend\n"}`, name, i)
			_, err := edit.Run(t.Context(), json.RawMessage(args), nil)
			return err
		})
	}
	fatal(t, g.Wait())
	got := string(s.get(t, "MEMORY.md"))
	for i := range 32 {
		if !strings.Contains(got, fmt.Sprintf("line %d\n", i)) {
			t.Errorf("the edit %d is lost", i)
		}
	}
	if len(w.files) != 0 {
		t.Errorf("%d files are still held", len(w.files))
	}
}

func TestWhoWaitsForAFileHeedsItsContext(t *testing.T) {
	s := newShell(t)
	w := &Writers{}
	release, err := w.hold(t.Context(), s, "a")
	fatal(t, err)
	ctx, stop := stopping()
	stop(ErrStopped)
	if _, err := w.hold(ctx, s, "a"); err != ErrStopped {
		t.Error(err)
	}
	release()
	if len(w.files) != 0 {
		t.Error("a file is still held")
	}
}
