package e2e

import (
	"testing"
)

// ordinary runs a script as nobody, in a name space of mounts of its own where
// /dev/fuse has the mode given: the machine's is not touched.
func (w *world) ordinary(deviceMode, script string) result {
	w.Helper()
	w.letOthersIn()
	w.must(`mkdir -p $T/own/mnt $T/own/state $T/own/work; chown -R 65534:65534 $T/own`)
	w.write(w.dir+"/script", script)
	w.must(`chmod 644 $T/script`)
	return w.run("unshare", "-m", "bash", "-c", `set -e
mknod $T/fuse-`+deviceMode+` c 10 229 2>/dev/null || exit 77
chmod `+deviceMode+` $T/fuse-`+deviceMode+`
mount --bind $T/fuse-`+deviceMode+` /dev/fuse
export M=$T/own/mnt HOME=$T/own NAMESPACE= MIKAN_SOCKET=
exec setpriv --reuid=65534 --regid=65534 --clear-groups bash $T/script`)
}

func needsOrdinary(t *testing.T) {
	t.Helper()
	needsRoot(t)
	needsMount(t)
	needs(t, "unshare", "setpriv", "mknod", "fusermount3")
}

// startDaemon serves as nobody, without a mount, and waits for it.
const startDaemon = `mikan serve --state-dir $HOME/state --workspace $HOME/work --sandbox host >$HOME/ready 2>$HOME/log &
until grep -q ready $HOME/ready; do kill -0 $! || { cat $HOME/log; exit 1; }; sleep 0.02; done
export MIKAN_SOCKET=$HOME/state/run/9p
`

func TestUserMount_an_ordinary_user_mounts_his_daemons_tree(t *testing.T) {
	t.Parallel()
	needsOrdinary(t)
	w := newWorld(t)
	r := w.ordinary("666", startDaemon+`
mikan mkdir offices/local/demo
coproc mikan mount $M 2>&1
read -r line <&${COPROC[0]}; echo "${line##*/}"
cd $M/offices/local/demo
echo 'prompt $ echo done' > ctl; cat sessions/main/reply; stat -c %U status
jq -r .user log | head -1
echo stpo > ctl || sed 's/.*unknown/unknown/; s/;.*//' $M/errstr
cd /; kill -INT $COPROC_PID; wait $COPROC_PID; echo ended $?
ls -A $M; kill %1; wait`)
	if r.code == 77 {
		t.Skip("no device can be made here")
	}
	want(t, "output", r.out, "mnt\ndone\nnobody\nlocal:nobody\nunknown verb \"stpo\" (did you mean stop?)\nended 0\n")
}

func TestUserMount_what_is_missing_is_said(t *testing.T) {
	t.Parallel()
	needsOrdinary(t)
	w := newWorld(t)
	for _, c := range []struct{ mode, script, say string }{
		{"600", `mikan mount $M`, "/dev/fuse may not be opened: as root, chmod 666 /dev/fuse"},
		{"666", `mikan mount --allow-other $M`, "add a line user_allow_other to /etc/fuse.conf"},
		{"666", `PATH=$HOME/bin:$PATH; mikan mount /etc`, "/etc"},
		{"600", `mikan serve --state-dir $HOME/other --workspace $HOME/otherwork --sandbox host --mount $M`, "chmod 666 /dev/fuse"},
	} {
		r := w.ordinary(c.mode, startDaemon+c.script+`; echo "exit $?"; kill %1; wait`)
		if r.code == 77 {
			t.Skip("no device can be made here")
		}
		wantAll(t, c.script, r.out+r.err, c.say, "mikan: ")
		wantAll(t, c.script, r.out, "exit 1")
		w.must(`rm -rf $T/own $T/fuse-*`)
	}
	r := w.ordinary("666", `mikan mount --state-dir $HOME/nowhere $M; echo "exit $?"`)
	wantAll(t, "no daemon", r.out+r.err, "mikan serve", "exit 1")
}
