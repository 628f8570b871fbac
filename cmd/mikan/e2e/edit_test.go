package e2e

import (
	"fmt"
	"strings"
	"testing"
)

// good and bad are settings; the fourth line of bad is wrong.
const (
	good = "{\n  \"llm\": {\n    \"provider\": \"demo\", \"model\": \"echo\",\n    \"thinkingLevel\": \"%s\"\n  }\n}\n"
	bad  = "hgih"
)

// edits write settings.json in $F, whose level is from, so that it becomes to.
var edits = []struct{ tool, script string }{
	{"cp", `sed "s/$from/$to/" $F > $T/new; cp $T/new $F`},
	{"cat", `sed "s/$from/$to/" $F | cat > $F.$$ && mv $F.$$ $F`},
	{"tee", `sed "s/$from/$to/" $F > $T/new; tee $F < $T/new > /dev/null`},
	{"sed", `sed -i "s/$from/$to/" $F`},
	{"jq", `jq --arg l $to '.llm.thinkingLevel = $l' $F > $F.tmp && mv $F.tmp $F`},
	{"vim", `vim -es -u NONE -c "%s/$from/$to/" -c 'wq' $F`},
	{"vim", `vim -es -u NONE -c "set backup writebackup backupcopy=no" -c "%s/$from/$to/" -c 'wq' $F`},
	{"dd", `sed "s/$from/$to/" $F > $T/new; dd if=$T/new of=$F status=none`},
}

func TestMount_editors_change_settings_and_a_bad_value_is_an_error(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	w.must(`mkdir $D`)
	for _, file := range []string{"offices/local/demo/settings.json", "settings.json"} {
		for i, e := range edits {
			t.Run(fmt.Sprint(strings.Split(file, "/")[0], " ", e.tool, i), func(t *testing.T) {
				needs(t, e.tool)
				set := fmt.Sprintf("F=$M/%s; from=low to=high; ", file)
				w.write(w.dir+"/good", fmt.Sprintf(good, "low"))
				w.must(set + `cp $T/good $F; cmp $T/good $F`)
				w.must(set + e.script)
				wantAll(t, "level", w.must(set+`jq -r .llm.thinkingLevel $F; cat $D/status`), "high\n", "thinking high\n")

				set = strings.Replace(set, "from=low to=high", "from=high to="+bad, 1)
				before := w.must(set + `cat $F`)
				r := w.sh(set + e.script + `; code=$?; cat $M/errstr; rm -f $F.*; exit $code`)
				if r.code == 0 {
					t.Errorf("the command says that it has written %q", bad)
				}
				line := "4"
				if e.tool == "jq" {
					line = "5"
				}
				wantAll(t, "errstr", r.out, "settings.json:"+line+": ", `"`+bad+`"`, "mean high?")
				want(t, "settings", w.must(set+`cat $F`), before)
				want(t, "files beside it", w.must(set+`ls $(dirname $F) | grep -c '^settings'`), "1\n")
			})
		}
	}
}

// TestMount_redirection_keeps_the_old_settings: a shell's own > cannot tell of
// an error at close, but the file stays and errstr tells.
func TestMount_redirection_keeps_the_old_settings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.serve()
	for _, c := range []struct{ text, why string }{
		{`{"llm":{"provider":"demo","model":"ecko"}}`, `settings.json:1: `},
		{`{"llm":{"provider":"demo","model":"ecko"}}`, `no model "ecko" (did you mean echo?)`},
		{`{"lmm":{}}`, "settings.json:1: unknown key lmm (did you mean llm?)"},
		{`{"llm":`, "settings.json:1: "},
		{`[]`, "settings.json:1: "},
	} {
		w.write(w.dir+"/new", c.text)
		r := w.sh(`cat $M/settings.json > $T/before; cat $T/new > $M/settings.json; code=$?
			cat $M/errstr; cmp $M/settings.json $T/before || exit 9; exit $code`)
		if r.code == 9 || r.code == 0 {
			t.Errorf("%q: exit %d: %s", c.text, r.code, r.err)
		}
		wantAll(t, c.text, r.out, c.why)
		r = w.sh(`exec 3< $T/new; read -r line <&3; echo "$line" > $M/settings.json; cat $M/errstr; cmp $M/settings.json $T/before`)
		wantAll(t, "echo "+c.text, r.ok(t).out, c.why)
	}
}
