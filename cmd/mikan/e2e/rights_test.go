package e2e

import (
	"os"
	"testing"
)

// nobody runs the rest of a script's line as another user, and insider as one of
// the daemon's group.
const as = `nobody() { setpriv --reuid=65534 --regid=65534 --clear-groups bash -c "$1"; }
insider() { setpriv --reuid=65534 --regid=$(id -g) --clear-groups bash -c "$1"; }
`

// open makes the world's directory one that others can pass.
func (w *world) open() {
	w.Helper()
	for _, dir := range []string{w.dir, w.dir + "/.."} {
		if err := os.Chmod(dir, 0o711); err != nil {
			w.Fatal(err)
		}
	}
}

// fronts are the same accesses through the mount and over 9P; may says whether
// one of the daemon's group gets in. Nobody else ever does.
var fronts = []struct {
	what, mount, nineP string
	may                bool
}{
	{"list", `ls $M/offices/local`, `mikan ls offices/local`, true},
	{"read a status", `cat $D/status`, `mikan cat offices/local/demo/status`, true},
	{"read settings", `cat $D/settings.json`, `mikan cat offices/local/demo/settings.json`, true},
	{"write settings", `echo '{}' | dd of=$D/settings.json status=none`, `echo '{}' | mikan write offices/local/demo/settings.json`, false},
	{"command", `echo stop > $D/ctl`, `mikan write offices/local/demo/ctl stop`, true},
	{"prompt", `echo 'from another' | cat > $D/sessions/main/prompt`, `mikan ask demo 'from another'`, true},
	{"command the daemon", `echo debug off > $M/ctl`, `mikan write ctl debug off`, true},
	{"make an office", `mkdir $M/offices/local/theirs`, `mikan mkdir offices/local/theirs`, false},
	{"archive a session", `rmdir $D/sessions/aside`, `mikan rm offices/local/demo/sessions/aside`, false},
	{"write a log", `echo x >> $D/log`, `echo x | mikan write offices/local/demo/log`, false},
	{"write the agent's files", `echo x > $D/files/theirs`, `mikan mkdir offices/local/demo/files/theirs`, false},
}

func TestRights_another_user_may_what_the_mode_bits_say(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needs(t, "setpriv")
	w := newWorld(t)
	w.open()
	w.env = []string{"NAMESPACE=" + w.dir}
	w.serve("--allow-other", "--socket-mode", "0666")
	w.must(`mkdir $D $D/sessions/aside`)
	socket := `export MIKAN_SOCKET=$T/mikan; `
	for _, f := range fronts {
		for front, script := range map[string]string{"mount": f.mount, "9P": f.nineP} {
			if r := w.sh(as + socket + "nobody '" + quoted(script) + "'"); r.code == 0 {
				t.Errorf("%s over the %s: nobody may: %s", f.what, front, r.out)
			}
			r := w.sh(as + socket + "insider '" + quoted(script) + "'")
			if got := r.code == 0; got != f.may {
				t.Errorf("%s over the %s: one of the group may: %v, want %v: %s%s", f.what, front, got, f.may, r.out, r.err)
			}
		}
	}
	want(t, "the actors of the prompts", w.must(`cat $D/wait; jq -r 'select(.user!="bot").user' $D/log`), "local:nobody\nlocal:nobody\n")
	want(t, "what is left", w.must(`ls $M/offices/local $D/sessions; cat $D/settings.json`), w.must(`echo "$M/offices/local:
README
demo

$D/sessions:
README
aside
main
{}"`))
}

func TestRights_by_default_nobody_else_gets_in(t *testing.T) {
	t.Parallel()
	needsRoot(t)
	needs(t, "setpriv")
	w := newWorld(t)
	w.open()
	w.env = []string{"NAMESPACE=" + w.dir}
	w.serve()
	w.must(`mkdir $D`)
	for _, who := range []string{"nobody", "insider"} {
		for _, script := range []string{
			`ls $M`, `cat $M/README`, `cat $D/status`, `echo stop > $D/ctl`, `ls ` + w.state, `ls ` + w.workspace,
			`mikan ls`, `MIKAN_SOCKET=$T/mikan mikan ls`, `MIKAN_SOCKET=$T/mikan mikan write ctl shutdown`,
		} {
			if r := w.sh(as + who + " '" + quoted(script) + "'"); r.code == 0 {
				t.Errorf("%s: %s may: %s", script, who, r.out)
			}
		}
	}
	w.must(`MIKAN_SOCKET=$T/mikan mikan ls; ls $D`)
}
