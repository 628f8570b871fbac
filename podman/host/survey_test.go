package host_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mikan/podman/host"
)

// systemDir makes a directory where an administrator would put something.
func systemDir(t *testing.T) string {
	t.Helper()
	needBubblewrap(t)
	dir, err := os.MkdirTemp("/usr/local/lib", "mikan-test-")
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	return dir
}

// keep puts a file that its owner alone may read.
func keep(t *testing.T, name, content string) {
	t.Helper()
	put(t, name, content)
	if err := os.Chmod(name, 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestConfined_what_is_private_in_system_directories_is_absent(t *testing.T) {
	dir := systemDir(t)
	deep := filepath.Join(dir, "a/b/c/d/e")
	keep(t, filepath.Join(deep, "key"), "canary")
	put(t, filepath.Join(deep, "shown"), "shown")
	put(t, filepath.Join(deep, "long"), strings.Repeat("x", 100_000))
	put(t, filepath.Join(deep, "whole/f"), "whole")
	put(t, filepath.Join(deep, "closed/f"), "canary")
	if err := os.Chmod(filepath.Join(deep, "closed"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(deep, "shown"), 0o755); err != nil {
		t.Fatal(err)
	}
	link(t, "shown", filepath.Join(deep, "link"))
	l, err := net.Listen("unix", filepath.Join(dir, "a/socket"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()

	o := newOffice(t, host.Bubblewrap)
	_, out, errs := o.run(t, "cd "+dir+`; find . | sort; cat a/b/c/d/e/link a/b/c/d/e/whole/f; wc -c <a/b/c/d/e/long
		stat -c %a a/b/c/d/e/shown; touch a/x a/b/c/d/e/x && echo wrote; chmod 0777 a/b/c/d/e/shown && echo changed`)
	want := strings.ReplaceAll(". ./a ./a/b ./a/b/c ./a/b/c/d ./a/b/c/d/e ./a/b/c/d/e/link ./a/b/c/d/e/long ./a/b/c/d/e/shown ./a/b/c/d/e/whole ./a/b/c/d/e/whole/f", " ", "\n") +
		"\nshownwhole100000\n755\n"
	if out != want {
		t.Errorf("output %s\n%s", out, errs)
	}
}

func TestConfined_what_is_private_is_not_uncovered_by_a_rename(t *testing.T) {
	dir := systemDir(t)
	key := filepath.Join(dir, "key")
	keep(t, key, "canary")
	o := newOffice(t, host.Bubblewrap)
	s := o.begin(t, "echo ready; until test -e ~/go; do sleep 0.01; done; cat "+key+" "+key+".new; echo end", time.Minute)
	keep(t, key+".new", "canary")
	if err := os.Rename(key+".new", key); err != nil {
		t.Fatal(err)
	}
	put(t, filepath.Join(o.home, "go"), "")
	if exit, said := s.ended(t), <-s.said; exit.Code != 0 || said != "end\n" {
		t.Errorf("%+v, output %q", exit, said)
	}
}

func TestConfined_system_directories_are_of_use(t *testing.T) {
	needBubblewrap(t)
	o := newOffice(t, host.Bubblewrap)
	_, out, errs := o.run(t, `getent passwd root | cut -d: -f1; test -r /etc/nsswitch.conf && echo names
		cat /etc/shadow 2>/dev/null || echo no shadow; ls /opt 2>/dev/null`)
	if out != "root\nnames\nno shadow\n" {
		t.Errorf("output %s\n%s", out, errs)
	}
}
