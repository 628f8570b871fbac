package man

import (
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"mikan/fs"
	"mikan/wire"
)

// places describes the files of the tree, directory by directory.
func places() string {
	var b strings.Builder
	for _, p := range wire.Places {
		fmt.Fprintf(&b, ".Ss /%s\n%s.Bl -tag -width Ds\n", escape(string(p.Place)), prose(p.Help))
		for _, f := range wire.FilesAt(p.Place) {
			b.WriteString(file(f))
		}
		b.WriteString(".El\n")
	}
	return b.String()
}

func file(f wire.TreeFile) string {
	name, kind := f.Name, f.Kind
	if kind == "dir" {
		name, kind = name+"/", "directory"
	}
	if f.Hidden {
		kind += ", not listed"
	}
	return fmt.Sprintf(".It Pa %s Pq %s , %04o\n%s%s", argument(name), kind, f.Mode, prose(sentence(f.Help)), failures(f.Fails))
}

// verbs describes the commands of ctl files.
func verbs() string {
	var b strings.Builder
	for _, v := range wire.Verbs {
		fmt.Fprintf(&b, ".It Ic %s%s\n%s", v.Name, usage(v.Usage), prose(v.Help))
		fmt.Fprintf(&b, "At: %s.\nWhile something runs: %s.\n%s", v.Where, v.Busy, failures(v.Fails))
	}
	return b.String()
}

// usage sets the arguments of a verb.
func usage(s string) string {
	if s == "" {
		return ""
	}
	if inner, ok := strings.CutPrefix(s, "["); ok && strings.HasSuffix(inner, "]") {
		return " Op Ar " + argument(strings.TrimSuffix(inner, "]"))
	}
	return " Ar " + argument(s)
}

// events describes the types of a feed's lines.
func events() string {
	var b strings.Builder
	for _, e := range wire.EventTypes {
		fmt.Fprintf(&b, ".It Cm %s\n%s", e.Type, prose(sentence(e.Help)))
	}
	return b.String()
}

// operations describes what a platform can be asked for.
func operations() string {
	var b strings.Builder
	for _, o := range wire.Ops {
		fmt.Fprintf(&b, ".It Cm %s", o.Name)
		for _, f := range o.Needs {
			fmt.Fprintf(&b, " Ar %s", f)
		}
		for _, f := range o.Takes {
			fmt.Fprintf(&b, " Oo Ar %s Oc", f)
		}
		b.WriteString("\n" + prose(o.Help))
		if len(o.Gives) > 0 {
			fmt.Fprintf(&b, "Gives: %s.\n", strings.Join(o.Gives, ", "))
		}
		fmt.Fprintf(&b, "Without an answer: %s.\n", o.Repeat)
	}
	return b.String()
}

// meanings say what each kind of error means here.
var meanings = map[fs.Kind]string{
	fs.IO:           "a run failed, or the disk did",
	fs.NotExist:     "no such file, session or office",
	fs.Permission:   "the mode bits say no, or the file is not read or not written by anybody",
	fs.Fixed:        "the name or attribute is fixed",
	fs.Exist:        "the name is taken",
	fs.Invalid:      "a bad command, value or name",
	fs.Busy:         "something runs or waits that it would change",
	fs.IsDir:        "a directory in the place of a file",
	fs.NotDir:       "a file in the place of a directory",
	fs.NotEmpty:     "a host directory that is not empty",
	fs.TooBig:       "more than the file takes",
	fs.ReadOnly:     "a host file system that is read-only",
	fs.BadFid:       "a fid that is not there, or not open for that",
	fs.Interrupted:  "the reader was interrupted or the request flushed",
	fs.Again:        "a queue is full, or no prompts are taken now",
	fs.Timeout:      "it took too long",
	fs.NoSpace:      "the disk is full, or there are too many scratch files",
	fs.NameTooLong:  "a name of more than 255 bytes",
	fs.NotSupported: "the file cannot do that",
	fs.CrossDevice:  "a rename out of a host directory or into one",
}

// errorTable is the table of errors: number, string, meaning.
func errorTable() (string, error) {
	var b strings.Builder
	for k := fs.IO; k <= fs.CrossDevice; k++ {
		if meanings[k] == "" {
			return "", fmt.Errorf("nothing says what the error %q means", k)
		}
		fmt.Fprintf(&b, ".It Er %s Ta %s Ta %s\n", unix.ErrnoName(k.Errno()), escape(k.String()), escape(meanings[k]))
	}
	return b.String(), nil
}
