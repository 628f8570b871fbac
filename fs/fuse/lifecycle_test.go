package fuse_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"mikan/fs"
	"mikan/fs/fuse"
)

func oneFile() fs.Attacher {
	return newTree(&fs.Dir{Mode: 0o755, Children: map[string]fs.Node{"file": &fs.Value{Get: newCell("hello\n").get}}})
}

func TestMountAHundredTimes(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "made", "by mount")
	for range 100 {
		srv, err := fuse.Mount(dir, oneFile(), fuse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		defer srv.Close() // if what follows fails
		out := must(t, dir, `cat "$M/file"`)
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
		want(t, "content", out, "hello\n")
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("after the last unmount: %v, %v", list, err)
	}
}

func TestMountClearsWhatAKilledServerLeft(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		server := start(t, child(t.Context(), "serve", dir))
		reader := bash(t, dir, `exec 3< $M/file; cd $M; echo open; read; cat <&3`)
		server.kill()
		var st syscall.Statfs_t
		if err := syscall.Statfs(dir, &st); !errors.Is(err, syscall.ENOTCONN) {
			t.Fatalf("a killed server leaves %v", err)
		}
		srv, err := fuse.Mount(dir, oneFile(), fuse.Options{})
		if err != nil {
			t.Fatal(err)
		}
		want(t, "content", must(t, dir, `cat $M/file`), "hello\n")
		reader.kill()
		if err := srv.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestMountRefusesALiveOne(t *testing.T) {
	dir, _ := mountedServer(t, oneFile(), fuse.Options{})
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{dir, link} {
		// From a child: the look at the mount must not be the server's own.
		out, err := child(t.Context(), "serve", name).CombinedOutput()
		if err == nil || !strings.Contains(string(out), "already mounted there") {
			t.Errorf("%s: %v: %s", name, err, out)
		}
	}
}

func TestMountRefusesADirectoryThatIsNotEmpty(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := fuse.Mount(dir, oneFile(), fuse.Options{}); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("error %v", err)
	}
}

func TestCloseTakesTheMountFromWhoHoldsOn(t *testing.T) {
	dir, srv := mountedServer(t, oneFile(), fuse.Options{})
	holder := bash(t, dir, `exec 3< $M/file; cd $M; echo open; read; cat <&3; echo "exit $?"`)
	began := time.Now()
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	if took := time.Since(began); took > 4*time.Second {
		t.Errorf("it took %v", took)
	}
	holder.wantEnd(t, "exit 1\n")
}

// wantEnd lets a bash go on that waits for input, and compares the rest of its
// output.
func (p *started) wantEnd(t *testing.T, text string) {
	t.Helper()
	if err := p.in.Close(); err != nil {
		t.Error(err)
	}
	out, err := io.ReadAll(p.out)
	if err != nil {
		t.Error(err)
	}
	want(t, "output", string(out), text)
}

func TestCloseEndsTheCopiesInOtherNameSpaces(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to make a mount name space")
	}
	needs(t, "unshare")
	dir, srv := mountedServer(t, oneFile(), fuse.Options{})
	p := bash(t, dir, `exec unshare -m bash -c 'echo apart; read; cat $M/file 2>/dev/null; echo "exit $?"'`)
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	p.wantEnd(t, "exit 1\n")
}

func TestUnmountByAnotherEndsTheServer(t *testing.T) {
	dir, srv := mountedServer(t, oneFile(), fuse.Options{})
	must(t, dir, `umount $M || fusermount3 -u $M`)
	select {
	case <-srv.Done():
	case <-time.After(5 * time.Second):
		t.Fatal("still serving")
	}
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
}

func TestChildrenDoNotInheritTheDevice(t *testing.T) {
	dir, _ := mountedServer(t, oneFile(), fuse.Options{})
	want(t, "open files of a child", must(t, dir, `ls -l /proc/$$/fd | grep -c fuse || true`), "0\n")
}

func TestCloseGivesUpOperationsThatHang(t *testing.T) {
	asked := make(chan struct{})
	var once sync.Once
	root := &fs.Dir{Mode: 0o755, Dynamic: func(ctx context.Context, _ string) (fs.Node, error) {
		once.Do(func() { close(asked) })
		<-ctx.Done()
		return nil, fs.Interrupted
	}}
	dir, srv := mountedServer(t, newTree(root), fuse.Options{})
	p := bash(t, dir, `echo start; cat $M/x; echo "exit $?"`)
	<-asked
	if err := srv.Close(); err != nil {
		t.Error(err)
	}
	p.wantEnd(t, "exit 1\n")
}

// An ordinary user mounts through fusermount3. The device is made accessible in
// a mount name space of its own, where the whole story takes place.
func TestOrdinaryUserMountsThroughTheHelper(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("needs root, to become an ordinary user with a device")
	}
	needs(t, "unshare", "setpriv", "mknod", "fusermount3")
	script := `set -e; cp "$BINARY" $T/serve; chmod 711 $T/.. $T; mkdir $T/mnt; chown 65534:65534 $T/mnt
mknod $T/fuse c 10 229; chmod 666 $T/fuse; mount --bind $T/fuse /dev/fuse
exec setpriv --reuid=65534 --regid=65534 --clear-groups bash -c '
for held in /dev/null $T/mnt/file; do
	coproc ` + jobVar + `=serve $T/serve $T/mnt 2>&1
	read -r line <&${COPROC[0]}; echo $line
	cat $T/mnt/file; stat -c %U $T/mnt/file; exec 3<$held
	exec {COPROC[1]}>&-
	sed "s:$T:T:" <&${COPROC[0]}; ls $T/mnt
done
` + jobVar + `=available $T/serve other'`
	r := run(t, "", "env", "BINARY="+os.Args[0], "GORACE=atexit_sleep_ms=1", "unshare", "-m", "bash", "-c", script)
	want(t, "output", r.out, "ready\nhello\nnobody\nready\nhello\nnobody\n"+
		"unmount T/mnt: still in use by a program that has a file open on it: end that program\n"+
		"other users cannot be let in: as root, add a line user_allow_other to /etc/fuse.conf\n")
	if r.code != 0 {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}

func TestAvailableSaysWhatToDo(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to become an ordinary user without a device")
	}
	needs(t, "unshare", "setpriv", "mknod")
	script := `set -e; cp "$BINARY" $T/available; chmod 711 $T/.. $T
mknod $T/fuse c 10 229; chmod 600 $T/fuse; mount --bind $T/fuse /dev/fuse
exec env ` + jobVar + `=available setpriv --reuid=65534 --regid=65534 --clear-groups $T/available`
	r := run(t, "", "env", "BINARY="+os.Args[0], "GORACE=atexit_sleep_ms=1", "unshare", "-m", "bash", "-c", script)
	want(t, "output", r.out, "/dev/fuse may not be opened: as root, chmod 666 /dev/fuse\n")
}
