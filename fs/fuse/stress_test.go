package fuse_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"mikan/fs/fuse"
)

// Many processes read, write, make, rename and remove at the same time, in
// files that they share and in files of their own; each finds its own work done.
func TestManyClientsAtOnce(t *testing.T) {
	t.Parallel()
	m, _, touched := sample(t, fuse.Options{})
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			r := sh(t, m, fmt.Sprintf(`set -e; cd $M/offices/demo; me=%d
for n in 1 2 3 4 5; do
	echo "$me $n" > ctl; echo "$me $n" > prompt; cat status log ctl > /dev/null; ls -lR . > /dev/null 2>&1 || true
	echo "{\"$me\":$n}" > tmp$me; mv tmp$me settings.json
	mkdir files/d$me; echo $n > files/d$me/f; mv files/d$me/f files/f$me; rmdir files/d$me
	test "$(cat files/f$me)" = $n
	timeout 0.01 cat feed || true
done`, i))
			if r.code != 0 {
				t.Errorf("client %d: exit %d: %s", i, r.code, r.err)
			}
		})
	}
	wg.Wait()
	if list := touched.taken(); len(list) != 8*5*3 {
		t.Errorf("%d writes arrived, want %d: %s", len(list), 8*5*3, strings.Join(list, " "))
	}
}
