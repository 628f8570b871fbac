package wire

import (
	"fmt"
	"strings"
)

// Where says which ctl files know a verb.
type Where uint8

// The ctl files.
const (
	AtRoot Where = 1 << iota
	AtOffice
	AtSession
	AtHooks
)

// String names the files of w as the manual does.
func (w Where) String() string {
	var s []string
	for _, x := range []struct {
		w    Where
		name string
	}{{AtRoot, "root"}, {AtOffice, "office"}, {AtSession, "session"}, {AtHooks, "hooks"}} {
		if w&x.w != 0 {
			s = append(s, x.name)
		}
	}
	return strings.Join(s, ", ")
}

// Verb is one command of a ctl file.
type Verb struct {
	Name  string
	Usage string // the arguments, optional ones in brackets
	Where Where
	Min   int  // least number of arguments
	Max   int  // greatest; with Text the last takes the rest of the line as it is
	Text  bool // the last argument is text
	Busy  string
	Help  string
	Fails string // its errors, for the manual
}

// Verbs is the table of ctl commands, from which the parser, its messages, the
// manual and the completions are made.
var Verbs = []Verb{
	{"prompt", "text", AtOffice | AtSession, 1, 1, true, "as queue.mode says",
		"Give the agent a prompt. At an office it goes to the session main. While that is at work it waits, unless queue.mode says otherwise.",
		"EAGAIN: 1,000 prompts wait already. EBUSY: queue.mode is refuse, and the session is at work. EINVAL: no text."},
	{"steer", "text", AtOffice | AtSession, 1, 1, true, "goes into the running turn",
		"Tell the agent something while it works: it sees the text before its next model request. With nothing running it is a prompt, and so it is if someone else began the run, unless you are the daemon's owner.",
		"EAGAIN, EINVAL: as for prompt."},
	{"followup", "text", AtOffice | AtSession, 1, 1, true, "runs next, before what waits",
		"Give a prompt that runs right after the one that is running.",
		"EAGAIN, EINVAL: as for prompt."},
	{"stop", "[session|all]", AtOffice | AtSession, 0, 1, false, "ends the run",
		"End the running turn within a second. What is queued stays. At an office: the session main, the session or task named (tasks/3), or all of both.",
		"ENOENT: no such session or task."},
	{"new", "[name]", AtOffice | AtSession, 0, 1, false, "ends the run first",
		"Start afresh: the next prompt sees none of the past, which stays in the transcript. At an office with a name: make that session.",
		"EINVAL: a name at a session. EEXIST: the named session exists."},
	{"fork", "[entry] name", AtOffice | AtSession, 1, 2, false, "from the last settled entry",
		"Make a session with this one's history up to an entry of its transcript, of any branch: its id is given first. Without one, up to the last settled entry.",
		"EEXIST: the named session exists. EINVAL: not a name, or no such entry."},
	{"label", "entry [text]", AtOffice | AtSession, 1, 2, true, "at once",
		"Give an entry of the transcript a label. Without text, take it away.",
		"EINVAL: no such entry."},
	{"model", "provider/model[:level]", AtOffice | AtSession, 1, 1, false, "EBUSY",
		"Use another model from the next prompt on. At an office it is written to settings.json.",
		"EINVAL: no such model; the nearest is named. EBUSY: something runs."},
	{"thinking", "level", AtOffice | AtSession, 1, 1, false, "EBUSY",
		"Use another thinking level: off, minimal, low, medium, high, xhigh or max.",
		"EINVAL: no such level. EBUSY: something runs."},
	{"compact", "", AtSession, 0, 0, false, "after the turn",
		"Put a summary in the place of all but the newest part of the context. The transcript keeps everything. If that is not possible, agent_error in the feed says why. A restart forgets a compaction that has not begun.",
		""},
	{"rename", "title", AtOffice | AtSession, 1, 1, true, "at once",
		"Give a title for people. The path stays.",
		"EINVAL: no title."},
	{"archive", "", AtOffice | AtSession, 0, 0, false, "EBUSY",
		"Put away: it vanishes from the tree until mkdir brings it back. Nothing is deleted.",
		"EBUSY: something runs or waits. EPERM: the session main."},
	{"require", "hook", AtHooks, 1, 1, false, "at the next question",
		"Without an answer, what the hook asks about is denied.",
		"EINVAL: no such hook."},
	{"optional", "hook", AtHooks, 1, 1, false, "at the next question",
		"Without an answer, what the hook asks about goes on. This is how a hook is at first.",
		"EINVAL: no such hook."},
	{"timeout", "hook duration", AtHooks, 2, 2, false, "at the next question",
		"Wait so long for all answers to a question together: 5s at first, 10m at most.",
		"EINVAL: no such hook, or not a duration."},
	{"only", "hook [tool,…]", AtHooks, 1, 2, false, "at the next question",
		"Ask about these tools only; without tools, about all.",
		"EINVAL: no such hook."},
	{"reload", "", AtRoot, 0, 0, false, "at the next turn",
		"Read settings.json, models.json and auth.json again.",
		"EINVAL: a file is malformed; what was read before stays in force."},
	{"drain", "", AtRoot, 0, 0, false, "at once",
		"Accept no new prompts; let what runs and waits end.",
		""},
	{"shutdown", "", AtRoot, 0, 0, false, "waits for it, as long as --drain says",
		"End the daemon, as SIGTERM does. What is queued stays for the next start.",
		""},
	{"debug", "on|off", AtRoot, 1, 1, false, "at once",
		"Log more, or no more than usual.",
		"EINVAL: neither on nor off."},
}

// VerbsAt returns the verbs of one sort of ctl file, in the order of the table.
func VerbsAt(w Where) []Verb {
	var list []Verb
	for _, v := range Verbs {
		if v.Where&w != 0 {
			list = append(list, v)
		}
	}
	return list
}

// Line is a parsed line of a ctl file.
type Line struct {
	Verb string
	Args []string
}

// Arg is the i-th argument, or "".
func (c Line) Arg(i int) string {
	if i < len(c.Args) {
		return c.Args[i]
	}
	return ""
}

// ParseLine parses a line for the ctl files of w. Fields are separated by
// blanks and may be in single quotes, as in rc(1). A text argument is the rest
// of the line, verbatim. The error is a sentence that names the verbs or the
// usage.
func ParseLine(w Where, line string) (Line, error) {
	name, rest := strings.Trim(line, " \t"), ""
	if i := strings.IndexAny(name, " \t"); i >= 0 {
		name, rest = name[:i], name[i:]
	}
	verb, ok := findVerb(w, name)
	if !ok {
		return Line{}, unknownVerb(w, name)
	}
	var args []string
	var err error
	if verb.Text {
		args = textFields(rest, verb.Max)
	} else if args, err = fields(rest); err != nil {
		return Line{}, fmt.Errorf("%s: %w", name, err)
	}
	if len(args) < verb.Min || len(args) > verb.Max {
		return Line{}, fmt.Errorf("usage: %s", strings.TrimSpace(name+" "+verb.Usage))
	}
	return Line{name, args}, nil
}

func findVerb(w Where, name string) (Verb, bool) {
	for _, v := range VerbsAt(w) {
		if v.Name == name {
			return v, true
		}
	}
	return Verb{}, false
}

func unknownVerb(w Where, name string) error {
	var names []string
	for _, v := range VerbsAt(w) {
		names = append(names, v.Name)
	}
	return fmt.Errorf("unknown verb %q%s; the verbs here are %s", name, DidYouMean(name, names), strings.Join(names, ", "))
}

// textFields splits s into at most n fields, the last of which is the rest as it
// is.
func textFields(s string, n int) []string {
	list := []string{}
	for s = strings.TrimSpace(s); s != ""; {
		i := strings.IndexAny(s, " \t")
		if len(list) == n-1 || i < 0 {
			return append(list, s)
		}
		list = append(list, s[:i])
		s = strings.TrimSpace(s[i:])
	}
	return list
}

// fields splits s at blanks; a part in single quotes is taken as it is, and two
// quotes in it stand for one.
func fields(s string) ([]string, error) {
	list := []string{}
	var word strings.Builder
	open, quoted := false, false
	flush := func() {
		if open {
			list = append(list, word.String())
			word.Reset()
			open = false
		}
	}
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '\'' && quoted && i+1 < len(s) && s[i+1] == '\'':
			word.WriteByte(c)
			i++
		case c == '\'':
			quoted, open = !quoted, true
		case (c == ' ' || c == '\t') && !quoted:
			flush()
		default:
			word.WriteByte(c)
			open = true
		}
	}
	if quoted {
		return nil, fmt.Errorf("a quote is not closed")
	}
	flush()
	return list, nil
}
