package host_test

import (
	"bytes"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"mikan/podman/host"
)

func itoa[T ~int | ~uintptr](n T) string { return strconv.FormatInt(int64(n), 10) }

func TestFault_S5_environment_built_from_nothing(t *testing.T) {
	t.Setenv("MIKAN_TEST_CANARY", "canary-in-the-coal-mine")
	eachMode(t, func(t *testing.T, mode host.Mode) {
		o := newOffice(t, mode)
		_, out, _ := o.run(t, "env; cat /proc/self/environ")
		if strings.Contains(out, "canary") {
			t.Errorf("the daemon's environment is in %q", out)
		}
		var got []string
		for line := range strings.Lines(out[:strings.IndexByte(out, 0)]) {
			name, _, _ := strings.Cut(line, "=")
			if name != "PWD" && name != "_" && name != "SHLVL" && name != "OLDPWD" { // the shell's own
				got = append(got, name)
			}
		}
		slices.Sort(got)
		if got = slices.Compact(got); strings.Join(got, " ") != "HOME LANG PATH TMPDIR" {
			t.Errorf("environment has %q", got)
		}
	})
}

func TestFault_S5_other_processes_cannot_be_seen(t *testing.T) {
	needBubblewrap(t)
	t.Setenv("MIKAN_TEST_CANARY", "canary-in-the-coal-mine")
	o := newOffice(t, host.Bubblewrap)
	_, out, _ := o.run(t, "cat /proc/[0-9]*/environ /proc/[0-9]*/task/*/environ; ls -d /proc/[0-9]*; ls -l /proc/self/fd")
	if strings.Contains(out, "canary") {
		t.Error("an environment of the daemon can be read")
	}
	if strings.Contains(out, "/proc/"+itoa(os.Getpid())) {
		t.Error("the daemon can be seen")
	}
	for _, fd := range []string{" 4 -> ", " 5 -> ", " 6 -> ", "/oldroot"} { // 3 is ls's own
		if strings.Contains(out, fd) {
			t.Errorf("descriptor%s is handed on: %s", fd, out)
		}
	}
}

func TestRun_hands_on_no_descriptor(t *testing.T) {
	eachMode(t, func(t *testing.T, mode host.Mode) {
		// As the daemon's own parent may leave one open for it.
		secret := filepath.Join(t.TempDir(), "secret")
		put(t, secret, "canary")
		f, err := os.Open(secret)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		fd, err := unix.Dup(int(f.Fd()))
		if err != nil {
			t.Fatal(err)
		}
		defer unix.Close(fd)
		o := newOffice(t, mode)
		_, out, _ := o.run(t, "ls -l /proc/self/fd; cat <&"+itoa(uintptr(fd)))
		if strings.Contains(out, "secret") || strings.Contains(out, "canary") {
			t.Errorf("descriptor %d is handed on: %s", fd, out)
		}
	})
}

func TestConfined_state_dir_and_sockets_are_absent(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap, func(dir string, cfg *host.Config) {
		state := filepath.Join(dir, "state")
		put(t, filepath.Join(state, "auth.json"), "canary")
		cfg.Home = filepath.Join(state, "conversations/key/home")
		cfg.Hidden = []string{state, filepath.Join(dir, "mnt")}
	})
	l, err := net.Listen("unix", filepath.Join(o.dir, "9p"))
	if err != nil {
		t.Skip(err)
	}
	defer l.Close()
	_, out, _ := o.run(t, "cd "+o.dir+" && find . | sort; cat state/auth.json; ls /root /home /run /var /sys")
	if want := ".\n./files\n./state\n./state/conversations\n./state/conversations/key\n./state/conversations/key/home\n./state/conversations/key/home/tmp\n"; out != want {
		t.Errorf("the office sees\n%s", out)
	}
}

func TestConfined_system_is_read_only_and_tmp_private(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap)
	_, out, _ := o.run(t, `for d in /usr /etc /bin /lib; do touch $d/mikan-test && echo wrote $d; done 2>/dev/null
		test "$(ls -A /tmp)" = "$(basename $(dirname $(dirname $(dirname "$PWD"))))" || ls -A /tmp
		echo x >/tmp/mikan-test && echo ok`)
	if !strings.HasSuffix(out, "ok\n") || strings.Contains(out, "wrote") {
		t.Errorf("output %q", out)
	}
	for _, name := range []string{"/tmp/mikan-test", "/usr/mikan-test", "/etc/mikan-test"} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("%s is there", name)
		}
	}
	if _, err := o.read(t, "/tmp/mikan-test"); err == nil || !strings.Contains(err.Error(), "use $TMPDIR") {
		t.Errorf("error %v", err)
	}
}

func TestConfined_command_has_no_power(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap)
	_, out, _ := o.run(t, `grep -E '^(Cap|NoNewPrivs)' /proc/self/status
		umount /etc 2>/dev/null && echo unmounted
		mount -o remount,rw /usr 2>/dev/null && echo remounted
		unshare -rm sh -c 'umount /etc/shadow || umount -l /etc' 2>/dev/null && echo uncovered
		cat /etc/shadow /etc/gshadow 2>/dev/null`)
	if strings.Count(out, "0000000000000000") != 5 || !strings.Contains(out, "NoNewPrivs:\t1") {
		t.Errorf("status %s", out)
	}
	if strings.Count(out, "\n") != 6 {
		t.Errorf("it could do something: %s", out)
	}
}

func TestConfined_sees_what_it_was_given(t *testing.T) {
	needBubblewrap(t)
	var ws string
	o := newOffice(t, host.Bubblewrap, func(dir string, cfg *host.Config) {
		ws = filepath.Join(dir, "team")
		put(t, filepath.Join(ws, "MEMORY.md"), "memory")
		put(t, filepath.Join(ws, "skills/a/SKILL.md"), "skill")
		put(t, filepath.Join(dir, "pub/x"), "public")
		put(t, filepath.Join(dir, "files/log.jsonl"), "log")
		cfg.Writable = []string{filepath.Join(ws, "MEMORY.md"), filepath.Join(ws, "missing")}
		cfg.ReadOnly = []string{filepath.Join(ws, "skills"), filepath.Join(dir, "pub"), filepath.Join(dir, "files/log.jsonl"), filepath.Join(dir, "absent")}
	})
	_, out, errs := o.run(t, `cat ../team/MEMORY.md ../team/skills/a/SKILL.md ../pub/x log.jsonl; echo
		for f in ../team/skills/x ../pub/x log.jsonl; do echo x >$f && echo wrote $f; done 2>/dev/null
		rm -f log.jsonl 2>/dev/null && echo removed; mv log.jsonl other 2>/dev/null && echo moved
		ln -s log.jsonl again
		echo new >../team/MEMORY.md; ls ..`)
	if want := "memoryskillpubliclog\nfiles\nhome\npub\nteam\n"; out != want {
		t.Errorf("output %q\n%s", out, errs)
	}
	if got, err := o.read(t, ws+"/MEMORY.md"); got != "new\n" {
		t.Errorf("memory %q, %v", got, err)
	}
	if err := o.write(t, ws+"/MEMORY.md", "newer"); err != nil || get(t, ws+"/MEMORY.md") != "newer" {
		t.Errorf("memory %q, %v", get(t, ws+"/MEMORY.md"), err)
	}
	if err := o.write(t, ws+"/missing/x", "made"); err != nil || get(t, ws+"/missing/x") != "made" {
		t.Errorf("missing writable directory: %v", err)
	}
	for _, name := range []string{"log.jsonl", "again", "../pub/x", ws + "/skills/a/SKILL.md"} {
		if _, err := o.read(t, name); err != nil {
			t.Error(err)
		}
		if err := o.write(t, name, "x"); err == nil || !strings.Contains(err.Error(), "read-only") {
			t.Errorf("write %s: %v", name, err)
		}
	}
}

func TestConfined_source_swapped_for_a_link_is_not_shown(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap, func(dir string, cfg *host.Config) {
		put(t, filepath.Join(dir, "secret"), "canary")
		cfg.ReadOnly = []string{filepath.Join(dir, "files/log.jsonl")}
	})
	name := filepath.Join(o.files, "log.jsonl")
	for _, target := range []string{filepath.Join(o.dir, "secret"), "../secret", "missing"} {
		link(t, target, name)
		var out bytes.Buffer
		_, err := o.Run(t.Context(), command("cat log.jsonl", &out))
		if err == nil || out.Len() > 0 {
			t.Errorf("link to %s: %q, %v", target, out.String(), err)
		}
		os.Remove(name)
	}
	if _, err := o.Run(t.Context(), command("touch x", nil)); err == nil || !strings.Contains(err.Error(), "log.jsonl") {
		t.Errorf("missing: %v", err)
	}
}

func TestConfined_hidden_in_a_system_directory_is_covered(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap, func(_ string, cfg *host.Config) {
		cfg.Hidden = []string{"/usr/share", "/etc/passwd"}
	})
	if _, out, _ := o.run(t, "ls -A /usr/share; cat /etc/passwd"); out != "" {
		t.Errorf("output %.200q", out)
	}
}

func TestConfined_command_cannot_set_the_machine(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap)
	// Whatever could be written gets the value that it has.
	_, out, errs := o.run(t, `for f in $(find /proc/sys -type f -perm -u+r -perm -u+w) /proc/irq/*/smp_affinity; do
			test -w $f && echo writable $f
		done
		f=/proc/sys/kernel/core_pattern
		v=$(cat $f) && printf '%s\n' "$v" >$f && echo wrote $f
		for f in /proc/sysrq-trigger /proc/bus/pci/*/*; do test -w $f && echo writable $f; done
		cat /proc/kcore /proc/kmsg /proc/keys /proc/timer_list /proc/slabinfo | head -c 100
		ls -A /proc/acpi /proc/scsi /proc/driver | grep -v -e : -e '^$'
		test -d /proc/self/task && cat /proc/sys/kernel/ostype`)
	if out != "Linux\n" {
		t.Errorf("output %s\n%s", out, errs)
	}
}

func TestConfined_command_uses_devices_and_cannot_change_them(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap)
	// Where it could, it would set the modes that they have.
	_, out, errs := o.run(t, `for d in null zero full random urandom tty; do
			chmod $(stat -c %a /dev/$d) /dev/$d 2>/dev/null && echo changed $d
		done
		echo x >/dev/null && head -c 3 /dev/zero | wc -c && head -c 5 /dev/urandom | wc -c
		echo x 2>/dev/null >/dev/full || echo full
		stat -c %a /dev/null`)
	if out != "3\n5\nfull\n666\n" {
		t.Errorf("output %s\n%s", out, errs)
	}
}

func TestRun_leaves_the_daemons_own_mounts_as_they_are(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap)
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() { o.run(t, ":") })
	}
	all.Wait()
	own, err := os.Readlink("/proc/self/ns/mnt")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(prompt); ; time.Sleep(time.Millisecond) { // threads take a moment to end
		spoilt := 0
		tasks, _ := filepath.Glob("/proc/self/task/*/ns/mnt")
		for _, task := range tasks {
			if ns, err := os.Readlink(task); err == nil && ns != own {
				spoilt++
			}
		}
		if spoilt == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d threads are in another mount namespace", spoilt)
		}
	}
	if mounts, err := os.ReadFile("/proc/self/mountinfo"); err != nil || bytes.Contains(mounts, []byte("/dev/urandom ")) {
		t.Errorf("mounts %s, %v", mounts, err)
	}
}
