package wire

import (
	"fmt"
	"strings"
)

// Place is a sort of directory in the tree.
type Place string

// The places.
const (
	PlaceRoot      Place = ""
	PlacePlatforms Place = "platforms"
	PlaceDesk      Place = "platforms/<name>"
	PlaceDeskTools Place = "platforms/<name>/tools"
	PlaceDeskTool  Place = "platforms/<name>/tools/<tool>"
	PlaceOffices   Place = "offices"
	PlacePlatform  Place = "offices/<platform>"
	PlaceOffice    Place = "offices/<platform>/<conversation>"
	PlaceHooks     Place = "offices/<platform>/<conversation>/hooks"
	PlaceTools     Place = "offices/<platform>/<conversation>/tools"
	PlaceTool      Place = "offices/<platform>/<conversation>/tools/<tool>"
	PlaceSessions  Place = "offices/<platform>/<conversation>/sessions"
	PlaceSession   Place = "offices/<platform>/<conversation>/sessions/<name>"
	PlaceTasks     Place = "offices/<platform>/<conversation>/tasks"
)

// Places are the places with a line on each, in the order of the manual.
var Places = []struct {
	Place Place
	Help  string
}{
	{PlaceRoot, "The root of mikan's tree."},
	{PlacePlatforms, "The chat platforms, each with the desk at which its adapter works. mkdir makes one, rmdir removes one that has no office. The platform local is built in and has no desk."},
	{PlaceDesk, "The desk of an adapter: what it writes to in is said by people on the platform, and what it reads from out is to be done there. mikan(5) has the formats, and an adapter in a few lines of shell."},
	{PlaceDeskTools, "The tools that the platform gives the agents of all its offices. mkdir makes one, rmdir removes it. An office's own tool of the same name comes first."},
	{PlaceDeskTool, toolHelp},
	{PlaceOffices, "All offices, by platform."},
	{PlacePlatform, "The offices of one platform. On the platform local, mkdir makes an office; elsewhere an office appears with its first message. rmdir archives one and deletes nothing."},
	{PlaceOffice, "An office: one conversation's workspace, where an agent works."},
	{PlaceHooks, "The hooks of an office: who opens one for reading and writing is asked, and may change or refuse."},
	{PlaceTools, "The tools that the agent of the office has besides its own. mkdir makes one, rmdir removes it."},
	{PlaceTool, toolHelp},
	{PlaceSessions, "The sessions of an office. mkdir makes one, rmdir archives it. The session main is always there."},
	{PlaceSession, "A session: a line of conversation with the agent, with a history of its own. A background task is one, too."},
	{PlaceTasks, "The background tasks of an office, which the agent starts. Each is a session with a number for a name, and has the same files. rmdir archives one that has ended."},
}

// TreeFile describes a file of the tree for README files and the manual.
type TreeFile struct {
	Place Place
	Name  string // a placeholder in angle brackets stands for many
	Kind  string // value, ctl, log, feed, answer, body, ask, service or dir
	Mode  uint32
	// Hidden files open by name and are not listed: they may block, and a copy
	// of the tree must end.
	Hidden bool
	Help   string // what it holds, or does
	Fails  string // its errors, for the manual
}

const (
	settingsHelp = "settings, a JSON object; every key is optional. A write replaces the whole and is checked first."
	settingsFail = "EINVAL: malformed, an unknown key or model; errstr names the line, and the old content stays."
	readOnly     = "EACCES: it is not written."
	toolHelp     = "A tool of the agent: what it is stands in schema, and who opens call for reading and writing does it. The agent has it as soon as it has a schema, and over restarts. mikan(5) has the formats, and a tool in a few lines of shell."
	toolMake     = "mkdir: EEXIST. EINVAL: a name that a model cannot call, or that a tool of ours has. EAGAIN: 48 are there. rmdir: EBUSY while call is open."
	schemaHelp   = "what the model is told of it, a JSON object: description, parameters, timeout"
	schemaFails  = "EINVAL: malformed, an unknown key, no description, parameters that are no JSON Schema of an object or that a provider refuses. EFBIG: over 16 KiB, or over 64 KiB with those of the other tools there."
	callHelp     = "read a call, one a line, and write what came of it"
	callFails    = "EBUSY: another client has it open. EINVAL: not opened for reading and writing; an answer to no request, a second one, malformed JSON."
	hookFails    = "EINVAL: not opened for reading and writing; an answer to no question, a second one, malformed JSON."
)

// TreeFiles is the table of the tree's files.
var TreeFiles = []TreeFile{
	{PlaceRoot, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceRoot, "ctl", "ctl", 0o660, false, "commands to the daemon, one a line; reading gives its state", "EINVAL: an unknown verb or wrong arguments; errstr names the verbs."},
	{PlaceRoot, "errstr", "value", 0o444, false, "the last error of you, on this terminal, as a sentence", readOnly},
	{PlaceRoot, "status", "value", 0o440, false, "the daemon's state, as key value lines", readOnly},
	{PlaceRoot, "feed", "feed", 0o440, true, "every event of every office from now on, one JSON object a line", ""},
	{PlaceRoot, "log", "log", 0o440, false, "the daemon's own log, one JSON object a line; tail -f works", readOnly},
	{PlaceRoot, "settings.json", "value", 0o640, false, settingsHelp, settingsFail},
	{PlaceRoot, "models", "value", 0o440, false, "the models: provider/model, context window, price per million tokens, and whether it is ready", readOnly},
	{PlaceRoot, "shared", "dir", 0o750, false, "what all offices share: MEMORY.md, skills/ and agents/", "EPERM: any other name."},
	{PlaceRoot, "platforms", "dir", 0o750, false, "the chat platforms, where adapters work", ""},
	{PlaceRoot, "offices", "dir", 0o750, false, "the offices, by platform", ""},

	{PlacePlatforms, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlacePlatforms, "<name>", "dir", 0o750, false, "a platform; its name is a lower-case letter and at most 15 letters and digits",
		"mkdir: EEXIST, EINVAL. rmdir: EBUSY while an adapter works there or an office is its."},

	{PlaceDesk, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceDesk, "in", "body", 0o660, false, "write a message, one JSON object: when the write ends it is on disk; one that was delivered before does nothing",
		"EINVAL: malformed; an unknown key; an id or a session key that does not belong to the conversation. EAGAIN: 1,000 wait in the session, or no prompts are taken now: deliver it again later."},
	{PlaceDesk, "out", "service", 0o600, true, "read what is to be done on the platform, one operation a line, and write how it went",
		"EBUSY: another adapter has it open. EINVAL: not opened for reading and writing; an answer to no request, a second one, malformed JSON."},
	{PlaceDesk, "caps", "value", 0o640, false, "what the adapter can do, a JSON object; it writes it before it opens out", "EINVAL: malformed, an unknown key or operation."},
	{PlaceDesk, "status", "value", 0o440, false, "whether out is open, what waits to be posted, what could not be, and counts, as key value lines", readOnly},
	{PlaceDesk, "tools", "dir", 0o750, false, "the tools that the platform gives the agents of its offices", ""},

	{PlaceDeskTools, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceDeskTools, "<tool>", "dir", 0o750, false, "a tool; its name has 1 to 64 letters, digits, _ and -, and begins with a letter or _", toolMake},

	{PlaceDeskTool, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceDeskTool, "schema", "value", 0o640, false, schemaHelp, schemaFails},
	{PlaceDeskTool, "call", "service", 0o600, true, callHelp, callFails},

	{PlaceOffices, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceOffices, "<platform>", "dir", 0o750, false, "local, and each chat platform that has an office", ""},

	{PlacePlatform, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlacePlatform, "<conversation>", "dir", 0o750, false, "an office; its name is the conversation's id, with what cannot stand in a name percent-encoded",
		"mkdir: EPERM on a chat platform, EEXIST. rmdir: EBUSY while something runs or waits."},

	{PlaceOffice, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceOffice, "ctl", "ctl", 0o660, false, "commands, one a line: prompt, stop, new, model and so on; reading gives the state", "EINVAL: an unknown verb or wrong arguments; errstr names the verbs. EBUSY, EAGAIN: see the verb."},
	{PlaceOffice, "status", "value", 0o440, false, "state, queue, model, how the last run ended and how its MCP servers stand, as key value lines", readOnly},
	{PlaceOffice, "usage", "value", 0o440, false, "tokens, cost in US dollars and model calls, in all and by model", readOnly},
	{PlaceOffice, "key", "value", 0o440, false, "the name under which the office's data lies on disk", readOnly},
	{PlaceOffice, "ask", "ask", 0o660, true, "write a prompt, then read its answer on the same open file; for the session main", "EINVAL: an empty prompt. EAGAIN: 1,000 wait. EIO when reading: the run failed; errstr says why."},
	{PlaceOffice, "wait", "answer", 0o440, true, "ends when nothing runs or waits in the office; gives no bytes", ""},
	{PlaceOffice, "log", "log", 0o440, false, "what was said, one JSON record a line; tail -f works", readOnly},
	{PlaceOffice, "feed", "feed", 0o440, true, "the office's events from now on, one JSON object a line", ""},
	{PlaceOffice, "chat", "ask", 0o660, true, "write one operation of the platform as JSON, then read what came of it on the same open file",
		"EINVAL: malformed, an unknown operation, a field that is missing. ENOTSUP: the platform has no such operation. EAGAIN: no adapter works at the platform's desk. EBUSY: you are that adapter, and hold a request. EIO when reading: it was not done, or nobody knows; errstr says which."},
	{PlaceOffice, "settings.json", "value", 0o640, false, "this office's " + settingsHelp, settingsFail + " EBUSY: it would change the model under a run."},
	{PlaceOffice, "sessions", "dir", 0o750, false, "the sessions", ""},
	{PlaceOffice, "tasks", "dir", 0o750, false, "the background tasks", ""},
	{PlaceOffice, "hooks", "dir", 0o750, false, "questions about what the agent does, for whoever wants to answer them", ""},
	{PlaceOffice, "tools", "dir", 0o750, false, "tools that clients add to the agent's own", ""},
	{PlaceOffice, "files", "dir", 0o700, false, "the working directory of the agent, a directory of the host", ""},

	{PlaceHooks, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceHooks, "ctl", "ctl", 0o660, false, "what happens without an answer; reading gives it, and the listeners, of each hook", "EINVAL: an unknown verb or hook."},
	{PlaceHooks, HookStart, "service", 0o600, true, "asked before a run begins", hookFails},
	{PlaceHooks, HookCall, "service", 0o600, true, "asked before a tool runs", hookFails},
	{PlaceHooks, HookResult, "service", 0o600, true, "asked before anyone sees a tool's result", hookFails},

	{PlaceTools, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceTools, "<tool>", "dir", 0o750, false, "a tool; its name has 1 to 64 letters, digits, _ and -, and begins with a letter or _", toolMake},

	{PlaceTool, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceTool, "schema", "value", 0o640, false, schemaHelp, schemaFails},
	{PlaceTool, "call", "service", 0o600, true, callHelp, callFails},

	{PlaceSessions, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceSessions, "<name>", "dir", 0o750, false, "a session: main, or one made with mkdir, new or fork", "mkdir: EEXIST, EINVAL. rmdir: EPERM for main, EBUSY while something runs or waits."},

	{PlaceTasks, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceTasks, "<id>", "dir", 0o750, false, "a task; its files are those of a session", "mkdir: EPERM, the agent starts tasks. rmdir: EBUSY while it runs or waits."},

	{PlaceSession, "README", "value", 0o444, false, "what stands here", readOnly},
	{PlaceSession, "ctl", "ctl", 0o660, false, "commands, one a line; reading gives the state", "EINVAL: an unknown verb or wrong arguments; errstr names the verbs. EBUSY, EAGAIN: see the verb."},
	{PlaceSession, "prompt", "body", 0o660, false, "write a whole prompt, of any number of lines", "EINVAL: an empty prompt. EAGAIN: 1,000 wait. EFBIG: over 1 MiB."},
	{PlaceSession, "ask", "ask", 0o660, true, "write a prompt, then read its answer on the same open file", "As prompt. EIO when reading: the run failed; errstr says why."},
	{PlaceSession, "reply", "answer", 0o440, true, "the answer to the prompt that was accepted last, from its first byte, as it comes; then the end", "EIO after the partial text: the run failed or was interrupted; errstr says why."},
	{PlaceSession, "last", "value", 0o440, false, "the last answer that was given in full; never blocks", readOnly},
	{PlaceSession, "wait", "answer", 0o440, true, "ends when nothing of the session runs or waits; gives no bytes", ""},
	{PlaceSession, "feed", "feed", 0o440, true, "the session's events from now on, one JSON object a line", ""},
	{PlaceSession, "status", "value", 0o440, false, "state, queue, model and how the last run ended, as key value lines", readOnly},
	{PlaceSession, "usage", "value", 0o440, false, "tokens, cost in US dollars and model calls, in all and by model", readOnly},
	{PlaceSession, "transcript", "log", 0o440, false, "the history that the model sees, and all that came before, one JSON entry a line", readOnly},
}

// FilesAt returns the files of one place.
func FilesAt(p Place) []TreeFile {
	var list []TreeFile
	for _, f := range TreeFiles {
		if f.Place == p {
			list = append(list, f)
		}
	}
	return list
}

// Readme is the README of a place.
func Readme(p Place) string {
	var b strings.Builder
	for _, x := range Places {
		if x.Place == p {
			fmt.Fprintf(&b, "%s\n\n", x.Help)
		}
	}
	hidden := false
	for _, f := range FilesAt(p) {
		name := f.Name
		if f.Kind == "dir" {
			name += "/"
		}
		if f.Hidden {
			name += " *"
			hidden = true
		}
		fmt.Fprintf(&b, "%-16s %s\n", name, f.Help)
	}
	if hidden {
		b.WriteString("\n* opens by its name, is not listed, and may block a reader\n")
	}
	if verbs := VerbsAt(where[p]); len(verbs) > 0 {
		b.WriteString("\nctl takes\n")
		for _, v := range verbs {
			fmt.Fprintf(&b, "  %-30s %s\n", strings.TrimSpace(v.Name+" "+v.Usage), v.Help)
		}
	}
	return b.String()
}

// where is the ctl file of a place.
var where = map[Place]Where{PlaceRoot: AtRoot, PlaceOffice: AtOffice, PlaceHooks: AtHooks, PlaceSession: AtSession}
