package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"mikan/podman/host"
)

// TestOpen_means_what_the_kernel_means walks random names through a thicket of
// links: what a command in the files would read there, Open reads, and never
// what lies outside.
func TestOpen_means_what_the_kernel_means(t *testing.T) {
	o := newOffice(t, host.None)
	put(t, filepath.Join(o.dir, "out/f"), "outside")
	put(t, filepath.Join(o.dir, "f"), "outside")
	put(t, filepath.Join(o.files, "f"), "top")
	put(t, filepath.Join(o.files, "d/f"), "d")
	put(t, filepath.Join(o.files, "d/e/f"), "e")
	put(t, filepath.Join(o.home, "f"), "home")
	links := map[string]string{
		"up": "..", "abs": o.files, "home": o.home, "out": filepath.Join(o.dir, "out"),
		"d/back": "../d/e/..", "d/top": filepath.Join(o.files, "d/../."), "d/e/f2": "../../f",
		"d/e/out": "../../../out", "loop": "d/../loop", "slash": "d/e/", "d/e/far": "../../up/files/abs/d",
	}
	elems := []string{"f", "d", "e", "f2", ".", "..", "", "files", "missing"}
	for name, target := range links {
		link(t, target, filepath.Join(o.files, name))
		elems = append(elems, filepath.Base(name))
	}
	t.Chdir(o.files)

	rapid.Check(t, func(rt *rapid.T) {
		name := strings.Join(rapid.SliceOfN(rapid.SampledFrom(elems), 1, 8).Draw(rt, "elems"), "/")
		if rapid.Bool().Draw(rt, "absolute") {
			name = o.files + "/" + name
		}
		want, kernel := os.ReadFile(name)
		got, err := o.read(t, name)
		switch {
		case got == "outside":
			rt.Fatalf("%s leads out", name)
		case kernel == nil && string(want) != "outside" && got != string(want):
			rt.Fatalf("%s reads %q, %v; a command would read %q", name, got, err, want)
		case err == nil && kernel == nil && string(want) == "outside":
			rt.Fatalf("%s reads %q, which lies outside", name, got)
		}
	})
}
