package wire

import (
	"regexp"
	"strings"
)

// ChatCommand is a command that people write in the chat, after a slash.
type ChatCommand struct {
	Name    string
	Aliases []string
	Usage   string // the arguments, optional ones in brackets
	Help    string
}

// ChatCommands is the table of chat commands. Each is also known as pi-name.
var ChatCommands = []ChatCommand{
	{"login", nil, "[subcommand]", "Give this conversation a credential. In a direct conversation only."},
	{"session", nil, "", "Get a link to the session's transcript."},
	{"model", nil, "[provider/model[:level]]", "Show the model, or use another."},
	{"sandbox", nil, "[action]", "Show the limits of the computer, or change them."},
	{"autoreply", []string{"auto-reply"}, "on|off|jev|status", "Answer in this channel without being mentioned."},
	{"stop", nil, "", "End what is running."},
	{"new", nil, "", "Start afresh. In a direct conversation only."},
	{"compact", nil, "", "Replace the older part of the context by a summary."},
	{"admin", nil, "", "Get a link to this conversation's settings."},
	{"extensions", nil, "", "List the extensions."},
}

var chatCommand = regexp.MustCompile(`(?i)^/(pi-[\w-]+|` + strings.Join(commandNames(), "|") + `)(@\w+)?(\s|$)`)

func commandNames() []string {
	var names []string
	for _, c := range ChatCommands {
		names = append(append(names, c.Name), c.Aliases...)
	}
	return names
}

// IsChatCommand reports whether text begins with a chat command. Commands are for
// the daemon, and no model is to see them as something that was said.
func IsChatCommand(text string) bool { return chatCommand.MatchString(strings.TrimSpace(text)) }
