package fuse_test

import (
	"testing"

	"mikan/fs"
	"mikan/fs/fuse"
)

// settings mounts a directory with a value that takes JSON only, as
// settings.json, and errstr.
func settings(tb testing.TB) (string, *cell) {
	c := newCell("{\"a\":1}\n")
	dir := &fs.Dir{Scratch: true, Children: map[string]fs.Node{
		"settings.json": &fs.Value{Get: c.get, Set: c.setJSON},
	}}
	tree := newTree(dir)
	dir.Add("errstr", tree.Errstr())
	return mounted(tb, tree, fuse.Options{}), c
}

func TestValueIsReplacedByEveryUsualTool(t *testing.T) {
	for _, tool := range []struct{ name, script, needs string }{
		{"redirect", `echo '{"b":2}' > $M/settings.json`, "bash"},
		{"cp", `echo '{"b":2}' > $T/x; cp $T/x $M/settings.json`, "cp"},
		{"tee", `echo '{"b":2}' | tee $M/settings.json >/dev/null`, "tee"},
		{"dd", `echo '{"b":2}' | dd of=$M/settings.json status=none`, "dd"},
		{"sed -i", `sed -i 's/"a":1/"b":2/' $M/settings.json`, "sed"},
		{"jq and mv", `jq -c '{b:2}' $M/settings.json > $M/tmp && mv $M/tmp $M/settings.json`, "jq"},
		{"install", `echo '{"b":2}' > $T/x; rm -f $M/none; cp --remove-destination $T/x $M/tmp && mv $M/tmp $M/settings.json`, "cp"},
		{"vim", `vim -u NONE -n -es -c 's/"a":1/"b":2/' -c wq $M/settings.json </dev/null`, "vim"},
		{"vim with backup", `vim -u NONE -n -es -c 'set backup backupcopy=no' -c 's/"a":1/"b":2/' -c wq $M/settings.json </dev/null`, "vim"},
		{"python", `python3 -c 'open("'$M'/settings.json","w").write("{\"b\":2}\n")'`, "python3"},
		{"perl -i", `perl -pi -e 's/"a":1/"b":2/' $M/settings.json`, "perl"},
		{"rsync", `echo '{"b":2}' > $T/x; rsync --inplace $T/x $M/settings.json`, "rsync"},
		{"rsync to a temporary file", `echo '{"b":2}' > $T/x; rsync $T/x $M/settings.json`, "rsync"},
		{"truncate and append", `: > $M/settings.json; printf '{"b":' > $T/x; echo '2}' >> $T/x; cat $T/x > $M/settings.json`, "cat"},
	} {
		t.Run(tool.name, func(t *testing.T) {
			needs(t, tool.needs)
			m, c := settings(t)
			out := must(t, m, tool.script+`; cat $M/settings.json; ls $M`)
			want(t, "content", c.String(), "{\"b\":2}\n")
			want(t, "what a reader sees and what is listed", out, "{\"b\":2}\nerrstr\nsettings.json\n")
		})
	}
}

func TestBadValueIsReportedAndLeavesTheOldOne(t *testing.T) {
	for _, tool := range []struct{ name, script string }{
		{"cp", `echo '{"a":' > $T/x; cp $T/x $M/settings.json`},
		{"mv within", `echo '{"a":' > $M/tmp; mv $M/tmp $M/settings.json`},
		{"cat", `echo '{"a":' | cat > $M/settings.json`},
		{"tee", `echo '{"a":' | tee $M/settings.json`},
		{"echo", `/bin/echo '{"a":' > $M/settings.json`},
		{"sed -i", `sed -i 's/}//' $M/settings.json`},
		{"dd", `echo '{"a":' | dd of=$M/settings.json`},
	} {
		t.Run(tool.name, func(t *testing.T) {
			m, c := settings(t)
			if r := sh(t, m, tool.script); r.code == 0 {
				t.Errorf("exit 0: %s%s", r.out, r.err)
			}
			want(t, "content", c.String(), "{\"a\":1}\n")
			want(t, "errstr", must(t, m, `sed 's/^[^:]*: //' $M/errstr`), "not JSON: correct it and write it again\n")
		})
	}
}

// mv removes the target first when it has to copy, and the name is not the
// caller's to remove.
func TestMoveFromAnotherFileSystemIsRefused(t *testing.T) {
	m, c := settings(t)
	if r := sh(t, m, `echo '{"b":2}' > $T/x; mv $T/x $M/settings.json`); r.code == 0 {
		t.Errorf("exit 0: %s%s", r.out, r.err)
	}
	want(t, "content", c.String(), "{\"a\":1}\n")
}

func TestTruncationAloneChangesNothing(t *testing.T) {
	m, c := settings(t)
	must(t, m, `: > $M/settings.json; truncate -s 0 $M/settings.json; touch $M/settings.json`)
	want(t, "content", c.String(), "{\"a\":1}\n")
}

func TestAppendStartsFromTheContent(t *testing.T) {
	m, c := settings(t)
	must(t, m, `echo ' ' >> $M/settings.json`)
	want(t, "content", c.String(), "{\"a\":1}\n \n")
}
