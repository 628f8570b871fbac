package host_test

import (
	"os/exec"
	"testing"

	"mikan/podman/host"
)

// BenchmarkRun compares a command of an office with a plain fork and exec of the
// same shell.
func BenchmarkRun(b *testing.B) {
	b.Run("plain", func(b *testing.B) {
		for b.Loop() {
			if err := exec.Command("/bin/sh", "-c", ":").Run(); err != nil {
				b.Fatal(err)
			}
		}
	})
	for _, mode := range []host.Mode{host.None, host.Bubblewrap} {
		b.Run(mode.String(), func(b *testing.B) {
			if mode == host.Bubblewrap {
				needBubblewrap(b)
			}
			o := newOffice(b, mode)
			for b.Loop() {
				if exit, _, errs := o.run(b, ":"); exit.Code != 0 {
					b.Fatal(exit, errs)
				}
			}
		})
	}
}

// BenchmarkFile is a small file written and read back.
func BenchmarkFile(b *testing.B) {
	o := newOffice(b, host.None)
	b.Run("create", func(b *testing.B) {
		for b.Loop() {
			if err := o.write(b, "dir/f", "content"); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("open", func(b *testing.B) {
		for b.Loop() {
			if _, err := o.read(b, "dir/f"); err != nil {
				b.Fatal(err)
			}
		}
	})
}
