package serve_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"runtime"

	"mikan/fs"
	"mikan/fs/serve"
)

// A hook, and a client that has a say there.
func Example() {
	bodies := &fs.Bodies{}
	hook := &fs.Service{Bodies: bodies, Verbs: []fs.Verb{
		{Name: "allow", Informed: true}, {Name: "deny", Takes: fs.TakesText},
	}}
	tree := fs.NewTree(&fs.Dir{Children: map[string]fs.Node{"hook": hook, fs.BodyDir: bodies}}, 1000, 1000)
	ctx := context.Background()
	client, _ := tree.Client(ctx, &fs.Identity{UID: 1000})
	defer client.Close()

	served := make(chan error)
	go func() { served <- serve.File(ctx, client, "hook", judge, serve.Options{}) }()
	for len(hook.Listeners()) == 0 {
		runtime.Gosched() // until the client has opened the file
	}
	for _, command := range []string{"ls", "rm -rf /"} {
		call, _ := json.Marshal(map[string]string{"command": command})
		reply, err := hook.Listeners()[0].Ask(ctx, fs.NewQuestion(call, json.RawMessage(`{}`)))
		fmt.Println(reply.Verb, reply.Text, err)
	}
	hook.Close()
	fmt.Println(<-served)
	// Output:
	// allow  <nil>
	// deny not here <nil>
	// <nil>
}

func judge(ctx context.Context, r *serve.Request) serve.Answer {
	call, err := r.Content(ctx)
	if err != nil || bytes.Contains(call, []byte("rm -rf")) {
		return serve.Deny("not here")
	}
	return serve.Allow()
}
