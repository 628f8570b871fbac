package harness

import "context"

// callIDKey is the key of a call's id in the context of its tool.
type callIDKey struct{}

func withCall(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, callIDKey{}, id)
}

// CallID is the id of the call that a tool's [Tool.Run] was given ctx for: the
// one in the history and in the feed. It is empty outside of a call.
func CallID(ctx context.Context) string {
	id, _ := ctx.Value(callIDKey{}).(string)
	return id
}
