package serve

import (
	"context"
	"encoding/json"
	"path"

	"mikan/fs"
)

// Request is what a service file asks.
type Request struct {
	fs.RequestLine
	client *fs.Client
	dir    string // of the service file
}

// BodyName is the path of the request's body for the client, until the request
// is answered. What is written there, whole, is the body of the answer.
func (r *Request) BodyName() string { return path.Join(r.dir, fs.BodyPath(r.Tag)) }

// Content is all of the request: its body if it has one, else its line. Who
// allows something must have called it, or what he says does not count.
func (r *Request) Content(ctx context.Context) (json.RawMessage, error) {
	if !r.HasBody() {
		return r.JSON, nil
	}
	return r.client.ReadFile(ctx, r.BodyName())
}

// Answer is what a handler says to a request. Without a verb it says nothing, and
// the request stays open.
type Answer struct {
	Verb string
	Text string          // follows a verb that takes text
	JSON json.RawMessage // follows one that takes JSON; instead of Text
}

// OK is the answer to a call: v as JSON, or nothing if v is nil.
func OK(v any) Answer {
	if v == nil {
		return Answer{Verb: "ok"}
	}
	return withJSON("ok", v)
}

// Error is the answer to a call that failed.
func Error(err error) Answer { return Answer{Verb: "error", Text: err.Error()} }

// Allow lets a hook's event happen as it is.
func Allow() Answer { return Answer{Verb: "allow"} }

// Deny forbids it.
func Deny(reason string) Answer { return Answer{Verb: "deny", Text: reason} }

// Replace lets it happen as v, which is sent as JSON. What cannot be is a denial.
func Replace(v any) Answer {
	a := withJSON("replace", v)
	if a.Verb == "error" {
		a.Verb = "deny"
	}
	return a
}

// withJSON is verb with v, or the error that v makes.
func withJSON(verb string, v any) Answer {
	data, err := json.Marshal(v)
	if err != nil {
		return Error(err)
	}
	return Answer{Verb: verb, JSON: data}
}

// line is the answer to r. JSON that does not fit on a line goes into the body,
// and the verb stands alone; a text is cut.
func (a Answer) line(ctx context.Context, r *Request) ([]byte, error) {
	l := fs.AnswerLine{Tag: r.Tag, Verb: a.Verb, Rest: a.Text}
	if a.JSON != nil {
		l.Rest = string(a.JSON)
	}
	line := l.Append(nil)
	over := len(line) - len("\n") - fs.MaxAnswerLine
	if over <= 0 {
		return line, nil
	}
	if a.JSON == nil {
		return append(line[:fs.MaxAnswerLine], '\n'), nil
	}
	if err := r.client.WriteFile(ctx, r.BodyName(), a.JSON); err != nil {
		return nil, err
	}
	l.Rest = ""
	return l.Append(nil), nil
}
