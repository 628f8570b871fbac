package host_test

import (
	"bytes"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"mikan/podman/host"
	"mikan/wire"
)

func TestFault_P3_output_arrives_byte_for_byte(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		// Two writes that cut a letter in two, then every byte there is.
		_, out, errs := o.run(t, `printf 'caf\303'; sleep 0.02; printf '\251\n'; head -c 300000 /dev/urandom | tee random; cat random >&2`)
		random := get(t, o.files+"/random")
		if out != "café\n"+random {
			t.Errorf("standard output has %d bytes, not the %d written", len(out), len(random)+6)
		}
		if errs != random {
			t.Errorf("standard error has %d bytes, not the %d written", len(errs), len(random))
		}
	})
}

func TestFault_P3_large_output_needs_little_memory(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		const size = 100_000_000
		n := 0
		count := writerFunc(func(p []byte) (int, error) { n += len(p); return len(p), nil })
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		exit, err := o.Run(t.Context(), wire.Command{Script: "head -c 100000000 /dev/zero", Stdout: count})
		runtime.ReadMemStats(&after)
		if err != nil || exit.Code != 0 || n != size {
			t.Errorf("%d bytes, %+v, %v", n, exit, err)
		}
		if grown := after.TotalAlloc - before.TotalAlloc; grown > 4<<20 {
			t.Errorf("allocated %d bytes", grown)
		}
	})
}

func TestRun_hands_everything_on_to_a_slow_writer(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), mark()
		var got bytes.Buffer
		slow := writerFunc(func(p []byte) (int, error) {
			// The rest lies in the pipe until the command is long gone.
			for end := time.Now().Add(10 * time.Second); len(marked(t, m)) > 0; time.Sleep(time.Millisecond) {
				if time.Now().After(end) {
					t.Error("the command does not end")
					return 0, errors.New("too late")
				}
			}
			return got.Write(p)
		})
		exit, err := o.Run(t.Context(), wire.Command{Script: m + " head -c 60000 /dev/zero", Stdout: slow})
		if err != nil || exit.Code != 0 || got.Len() != 60000 {
			t.Errorf("%d bytes, %+v, %v", got.Len(), exit, err)
		}
	})
}

func TestRun_keeps_the_order_for_one_writer_of_both(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		var both bytes.Buffer
		_, err := o.Run(t.Context(), wire.Command{Script: "for i in 1 2 3; do echo o; echo e >&2; done", Stdout: &both, Stderr: &both})
		if want := strings.Repeat("o\ne\n", 3); err != nil || both.String() != want {
			t.Errorf("%q, %v", both.String(), err)
		}
	})
}

func TestRun_failing_writer_is_a_closed_pipe(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		full := writerFunc(func([]byte) (int, error) { return 0, errors.New("full") })
		exit, err := o.Run(t.Context(), wire.Command{Script: "exec cat /dev/zero", Stdout: full, Timeout: time.Minute})
		if want := (wire.Exit{Code: 141, Signal: "broken pipe"}); err != nil || exit != want {
			t.Errorf("%+v, %v", exit, err)
		}
	})
}
