package host_test

import (
	"bufio"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mikan/podman/host"
	"mikan/wire"
)

func TestFault_P1_background_job_does_not_hold_the_command(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), mark()
		s := o.begin(t, m+" sleep 60 & echo done", time.Minute)
		if exit := s.ended(t); exit != (wire.Exit{}) {
			t.Errorf("exit %+v", exit)
		}
		noneLeft(t, m)
	})
}

func TestFault_P1_ignored_TERM_does_not_survive_a_cancel(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), mark()
		s := o.begin(t, "trap '' TERM INT HUP; "+m+" sleep 60 & echo ready; wait; echo no", time.Minute)
		s.cancel()
		if exit := s.ended(t); exit != (wire.Exit{Code: 137, Signal: "killed"}) {
			t.Errorf("exit %+v", exit)
		}
		noneLeft(t, m)
	})
}

func TestFault_P1_time_out_kills_the_group(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), mark()
		s := o.begin(t, "trap '' TERM; "+m+" sleep 60 & echo ready; wait", time.Second)
		if exit := s.ended(t); exit != (wire.Exit{Code: 137, Signal: "killed", TimedOut: true}) {
			t.Errorf("exit %+v", exit)
		}
		noneLeft(t, m)
	})
}

func TestFault_P1_server_ends_with_its_command(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), mark()
		s := o.begin(t, m+" nohup sleep 60 >/dev/null 2>&1 & echo started", time.Minute)
		if exit := s.ended(t); exit.Code != 0 {
			t.Errorf("exit %+v", exit)
		}
		noneLeft(t, m)
	})
}

func TestFault_P1_daemon_does_not_escape_the_namespace(t *testing.T) {
	needBubblewrap(t)
	o, m := newOffice(t, host.Bubblewrap), mark()
	// A double fork in a session of its own, with no descriptor in common.
	script := "setsid sh -c '" + m + " sleep 60 & echo $! >pid' </dev/null >/dev/null 2>&1; test -s pid && echo started; "
	for _, end := range []string{"exit 0", "sleep 60"} {
		s := o.begin(t, script+end, time.Minute)
		if end != "exit 0" {
			s.cancel()
		}
		s.ended(t)
		noneLeft(t, m)
	}
}

// TestMain_daemon is not a test: it is the daemon that the next one kills.
func TestMain_daemon(t *testing.T) {
	script := os.Getenv("MIKAN_TEST_DAEMON")
	if script == "" {
		t.Skip("run by TestFault_P1_command_dies_with_the_daemon")
	}
	mode := host.None
	if strings.Contains(script, "bubblewrap") {
		mode = host.Bubblewrap
	}
	o := newOffice(t, mode)
	o.Run(t.Context(), wire.Command{Script: script, Stdout: os.Stdout})
}

func TestFault_P1_command_dies_with_the_daemon(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		m := mark()
		daemon := exec.Command(os.Args[0], "-test.run=^TestMain_daemon$")
		daemon.Env = append(os.Environ(), fmt.Sprintf("MIKAN_TEST_DAEMON=: %v; echo ready; export %s; exec sleep 60", mode, m), "TMPDIR="+t.TempDir())
		out, err := daemon.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := daemon.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		if err != nil || line != "ready\n" {
			t.Errorf("the daemon says %q, %v", line, err)
		}
		daemon.Process.Kill()
		daemon.Wait()
		for end := time.Now().Add(prompt); len(marked(t, m)) > 0; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				t.Fatalf("processes %v survive their daemon", marked(t, m))
			}
		}
	})
}

func TestRun_does_not_wait_for_who_left_the_group(t *testing.T) {
	o, m := newOffice(t, host.None), mark()
	s := o.begin(t, m+" setsid sh -c 'echo away; exec sleep 60' & wait", time.Minute)
	left := marked(t, m)
	t.Cleanup(func() {
		for _, pid := range left {
			unix.Kill(pid, unix.SIGKILL)
		}
	})
	s.cancel()
	s.ended(t) // though what left holds its standard output
}

func TestRun_reports_how_a_command_ended(t *testing.T) {
	tests := []struct {
		script string
		want   wire.Exit
	}{
		{"true", wire.Exit{}},
		{"exit 3", wire.Exit{Code: 3}},
		{"exit 255", wire.Exit{Code: 255}},
		{"no-such-command", wire.Exit{Code: 127}},
		{"if", wire.Exit{Code: 2}},
		{"kill -9 $$", wire.Exit{Code: 137, Signal: "killed"}},
		{"kill -TERM $$", wire.Exit{Code: 143, Signal: "terminated"}},
		{"sh -c 'kill -SEGV $$'; exit $?", wire.Exit{Code: 139, Signal: "segmentation fault"}},
		{"cat; echo", wire.Exit{}}, // standard input is empty
	}
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		for _, tt := range tests {
			if got, _, _ := o.run(t, tt.script); got != tt.want {
				t.Errorf("%s: %+v, want %+v", tt.script, got, tt.want)
			}
		}
	})
}

func TestRun_works_in_the_files_as_the_daemons_user(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		_, out, _ := o.run(t, `pwd; umask; mkdir sub; echo made >sub/f; echo temp >"$TMPDIR/t"; echo home >~/h; cat ~/h`)
		if !strings.HasPrefix(out, o.Dir()+"\n") || !strings.HasSuffix(out, "home\n") {
			t.Errorf("output %q", out)
		}
		fi, err := os.Stat(filepath.Join(o.files, "sub/f"))
		if err != nil {
			t.Fatal(err)
		}
		var st unix.Stat_t
		if err := unix.Stat(filepath.Join(o.files, "sub/f"), &st); err != nil || int(st.Uid) != os.Geteuid() {
			t.Errorf("made by uid %d, %v", st.Uid, err)
		}
		if fi.Mode().Perm()&0o400 == 0 {
			t.Errorf("mode %v", fi.Mode())
		}
		if get(t, filepath.Join(o.home, "tmp/t")) != "temp\n" || get(t, filepath.Join(o.home, "h")) != "home\n" {
			t.Error("home lacks what was written there")
		}
		if exit, _, _ := o.run(t, `rm -rf "$TMPDIR"`); exit.Code != 0 {
			t.Errorf("exit %+v", exit)
		}
		if _, out, errs := o.run(t, `ls -d "$TMPDIR"`); out == "" {
			t.Errorf("TMPDIR has not come back: %s", errs)
		}
	})
}

func TestRun_starts_nothing_when_the_context_is_done(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := o.Run(ctx, wire.Command{Script: "touch x"}); !errors.Is(err, context.Canceled) {
			t.Errorf("error %v", err)
		}
		if _, err := os.Stat(filepath.Join(o.files, "x")); err == nil {
			t.Error("it ran")
		}
	})
}

func TestRun_refuses_what_no_shell_takes(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		for script, want := range map[string]string{strings.Repeat(" ", 16<<20) + ":": "write it to a file", "echo \x00": "NUL"} {
			if _, err := o.Run(t.Context(), wire.Command{Script: script}); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("error %v, want one with %q", err, want)
			}
		}
	})
}

func TestRun_takes_a_script_longer_than_an_argument(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		script := "cat <<'E' | wc -c\n" + strings.Repeat("0123456789abcde\n", 1<<16) + "E\nexit 5"
		if exit, out, errs := o.run(t, script); exit.Code != 5 || strings.TrimSpace(out) != "1048576" {
			t.Errorf("exit %+v, output %.100q, %.100q", exit, out, errs)
		}
	})
}

func TestRun_script_is_as_on_a_command_line(t *testing.T) {
	tests := []struct {
		script, out string
		code        int
	}{
		{"#!/usr/bin/env python\necho $0 $#", "/bin/sh 0\n", 0},
		{"cat <<E; exit 4\nhere\nE\necho no", "here\n", 4},
		{"set -e; false; echo no", "", 1},
		{"trap 'echo bye' EXIT; (exit 7)", "bye\n", 7},
		{"echo one\n\n# last", "one\n", 0},
		{"echo 'two\nlines' \\\n  three", "two\nlines three\n", 0},
		{"cat; read x || echo end", "end\n", 0},
		{"f() { return 3; }; f", "", 3},
		{"exec sh -c 'exit 9'", "", 9},
		{"echo ${novariable?missing}; echo no", "", 2},
		{"echo yes; if", "", 2}, // it is one line
		{"printf %s \"$1\"", "", 0},
		{"", "", 0},
	}
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		for _, tt := range tests {
			exit, out, errs := o.run(t, tt.script)
			if exit.Code != tt.code || out != tt.out {
				t.Errorf("%q: exit %d, want %d; output %q, want %q; %s", tt.script, exit.Code, tt.code, out, tt.out, errs)
			}
		}
	})
}

func TestFault_S5_script_is_in_no_command_line(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), "secret-"+rand.Text()
		s := o.begin(t, ": "+m+"; echo ready; sleep 60; :", time.Minute)
		if pids := marked(t, m); len(pids) > 0 {
			t.Errorf("every user sees the script of processes %v", pids)
		}
		s.cancel()
		s.ended(t)
	})
}

func TestRun_closes_the_script_before_it_runs(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		if _, out, _ := o.run(t, "ls -l /proc/self/fd; sh -c 'ls -l /proc/self/fd'"); strings.Contains(out, "script") {
			t.Errorf("descriptors %s", out)
		}
	})
}

func TestRun_runs_many_commands_at_once(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o, m := newOffice(t, mode), mark()
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				script := fmt.Sprintf("%s sleep 60 & echo %d; cat /proc/self/stat >/dev/null; exit %d", m, i, i)
				if exit, out, _ := o.run(t, script); exit.Code != i || out != fmt.Sprintf("%d\n", i) {
					t.Errorf("command %d: %+v, %q", i, exit, out)
				}
			})
		}
		all.Wait()
		noneLeft(t, m)
	})
}
