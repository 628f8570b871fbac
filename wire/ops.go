package wire

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Repeat says what may be done about an operation whose answer never came.
type Repeat string

// The ways to go on.
const (
	Again    Repeat = "again"     // it may be sent again: doing it twice is doing it once
	ReadBack Repeat = "read back" // history tells by the key whether it was done; only if not is it sent again
	Never    Repeat = "never"     // its outcome stays unknown
)

// Op is an operation that a platform can be asked for.
type Op struct {
	Name   string
	Needs  []string // fields of the request that must be there
	Takes  []string // fields that may be there
	Gives  []string // fields of the answer
	Repeat Repeat
	Help   string
}

// Ops is the table of operations, for adapters, for chat files and for the
// manual. Every request also has op and conversation.
var Ops = []Op{
	{"post", []string{"text", "key"}, []string{"thread"}, []string{"ts"}, ReadBack, "Post a message."},
	{"update", []string{"ts", "text"}, nil, nil, Again, "Replace the text of a message of ours."},
	{"delete", []string{"ts"}, nil, nil, Again, "Delete a message of ours."},
	{"react", []string{"ts", "emoji"}, []string{"remove"}, nil, Again, "Add a reaction to a message, or remove ours."},
	{"upload", []string{"name", "key"}, []string{"title", "thread", "file"}, []string{"ts"}, ReadBack, "Upload a file, which is the request's body; at chat, the one that file names."},
	{"ephemeral", []string{"user", "text"}, []string{"thread"}, nil, Never, "Show a message to one user only."},
	{"blocks", []string{"blocks", "text"}, []string{"ts", "thread", "key"}, []string{"ts"}, ReadBack, "Post a message in the platform's own format, or replace the one at ts; text is for clients that cannot show it."},
	{"history", nil, []string{"limit", "oldest", "thread", "key"}, []string{"messages"}, Again, "Give the latest messages, oldest first; of a thread, the replies; later than the message oldest; with a key, the one that it made."},
	{"users", nil, nil, []string{"users"}, Again, "Give the members."},
	{"dm", []string{"user"}, nil, []string{"conversation"}, Again, "Open the direct conversation with a user."},
	{"fetch", []string{"ref"}, nil, nil, Again, "Give an attachment, as the answer's body."},
	{"stream_start", []string{"key"}, []string{"thread", "user"}, []string{"ts"}, ReadBack, "Begin a message that grows."},
	{"stream_append", []string{"ts", "text"}, nil, nil, Never, "Add text to a message that grows."},
	{"stream_stop", []string{"ts"}, []string{"text"}, nil, Again, "End a message that grows; text is then the whole of it."},
	{"typing", []string{"on"}, []string{"thread"}, nil, Again, "Show, or no longer show, that the agent works."},
}

// OpRequest is an operation as it is written to chat and read from out. Which
// fields count is in [Ops].
type OpRequest struct {
	Op           string          `json:"op"`
	Conversation string          `json:"conversation,omitempty"` // the platform's raw id; chat fills it in
	Thread       string          `json:"thread,omitempty"`       // the platform's id of the thread's root
	TS           string          `json:"ts,omitempty"`           // the platform's id of a message
	Text         string          `json:"text,omitempty"`         // GFM; a user is <@name>
	Key          string          `json:"key,omitempty"`          // the same for every try of one operation; chat makes one up
	User         string          `json:"user,omitempty"`
	Emoji        string          `json:"emoji,omitempty"`
	Remove       bool            `json:"remove,omitempty"`
	Name         string          `json:"name,omitempty"`
	Title        string          `json:"title,omitempty"`
	Blocks       json.RawMessage `json:"blocks,omitempty"`
	Limit        int             `json:"limit,omitempty"`
	Oldest       string          `json:"oldest,omitempty"`
	Ref          string          `json:"ref,omitempty"` // of an attachment, as in gave it
	On           *bool           `json:"on,omitempty"`
	File         string          `json:"file,omitempty"` // at chat: what to upload, below files/
	// Body names the file that holds what is too large for the line: of upload the
	// file, else the whole request.
	Body string `json:"body,omitempty"`
}

// OpAnswer is what an operation gave.
type OpAnswer struct {
	TS           string      `json:"ts,omitempty"`
	Conversation string      `json:"conversation,omitempty"`
	Messages     []OpMessage `json:"messages,omitempty"`
	Users        []OpUser    `json:"users,omitempty"`
}

// OpMessage is a message of a platform's history.
type OpMessage struct {
	TS     string `json:"ts"`
	Thread string `json:"thread,omitempty"`
	User   string `json:"user,omitempty"`
	Name   string `json:"name,omitempty"`
	Text   string `json:"text"`
	Bot    bool   `json:"bot,omitempty"`
	Key    string `json:"key,omitempty"` // of ours: the key of the operation that made it
}

// OpUser is a member of a conversation.
type OpUser struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	DisplayName string `json:"displayName,omitempty"`
}

// FindOp returns the operation called name.
func FindOp(name string) (Op, bool) {
	i := slices.IndexFunc(Ops, func(o Op) bool { return o.Name == name })
	if i < 0 {
		return Op{}, false
	}
	return Ops[i], true
}

// OpNames are the names of the operations, in the order of the table.
func OpNames() []string {
	names := make([]string, len(Ops))
	for i, o := range Ops {
		names[i] = o.Name
	}
	return names
}

// Check reports what is wrong with a request: an unknown operation, a field that
// is missing, a field that the operation has no use for.
func (r OpRequest) Check() error {
	op, ok := FindOp(r.Op)
	if !ok {
		names := OpNames()
		return fmt.Errorf("unknown operation %.64q%s; the operations are %s", r.Op, DidYouMean(r.Op, names), strings.Join(names, ", "))
	}
	return r.fields(op)
}

// fields reports a field that op needs and has not, or has and does not take.
func (r OpRequest) fields(op Op) error {
	v := reflect.ValueOf(r)
	for i := range v.NumField() {
		name := tag(v.Type().Field(i))
		set := !v.Field(i).IsZero()
		switch {
		case name == "op" || name == "conversation" || name == "body":
		case slices.Contains(op.Needs, name) && !set:
			return fmt.Errorf("%s needs %s", op.Name, name)
		case set && !slices.Contains(op.Needs, name) && !slices.Contains(op.Takes, name):
			return fmt.Errorf("%s takes no %s; it takes %s", op.Name, name, strings.Join(slices.Concat(op.Needs, op.Takes), ", "))
		}
	}
	return nil
}
