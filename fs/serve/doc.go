// Package serve is the client's side of a service file (fs.Service): it reads the
// requests, calls a handler for each, and writes back what that answers.
//
// [File] does all of it for one file, over whatever the client walks: in
// process, a socket, an inherited descriptor. The lines themselves are those of
// package fs, which both sides share.
//
//	err := serve.File(ctx, client, "hooks/tool_call", func(ctx context.Context, r *serve.Request) serve.Answer {
//		call, err := r.Content(ctx)
//		if err != nil || bytes.Contains(call, []byte("rm -rf")) {
//			return serve.Deny("not here")
//		}
//		return serve.Allow()
//	}, serve.Options{})
package serve
