package mcp

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"
)

// roleVar is the environment variable that makes the test binary a server.
const roleVar = "MIKAN_TEST_MCP_SERVER"

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVar); role != "" {
		roles[role]()
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// roles are the servers that the test binary can be.
var roles = map[string]func(){
	"good":     func() { serve() },
	"garbage":  func() { fmt.Println("Welcome to the server!\n{\"half\": "); serve() },
	"noise":    noise,
	"silent":   func() { _, _ = io.Copy(io.Discard, os.Stdin) },
	"deaf":     forever,
	"dies":     func() { fmt.Fprintln(os.Stderr, "cannot go on: "+os.Getenv("API_TOKEN")); os.Exit(3) },
	"stubborn": stubborn,
	"stray":    stray,
	"crowd":    func() { byHand(false, wrongTools) },
	"old":      func() { byHand(true, wrongTools) },
	"asker":    asker,
	"odd":      odd,
	"bulky":    func() { byHand(false, bulkyTools) },
}

// noise prints what is no message, for ever.
func noise() {
	for line := strings.Repeat("z", 1000); ; {
		if _, err := fmt.Println(line); err != nil {
			return
		}
	}
}

func forever() {
	for {
		time.Sleep(time.Hour)
	}
}

// stubborn does not end, and has a child that does not either. Both hold the FIFO
// that FIFO names open.
func stubborn() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	child := exec.Command(os.Args[0])
	child.Env = []string{roleVar + "=stray", "FIFO=" + os.Getenv("FIFO")}
	if err := child.Start(); err != nil {
		panic(err)
	}
	hold()
	serve()
	forever()
}

// stray is a process that was left behind.
func stray() {
	signal.Ignore(syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	hold()
	forever()
}

// hold opens the FIFO, says so and keeps it open.
func hold() {
	f, err := os.OpenFile(os.Getenv("FIFO"), os.O_WRONLY, 0)
	if err != nil {
		panic(err)
	}
	fmt.Fprintln(f, "here")
	held = f
}

var held *os.File

// serve is a good server with tools of all sorts.
func serve() {
	if err := newServerForTests().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

type echoArgs struct {
	Text string `json:"text"`
	N    int    `json:"n,omitempty"`
}

func newServerForTests() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	type result = *sdk.CallToolResult
	add := func(name, about string, f func(context.Context, *sdk.CallToolRequest, echoArgs) (result, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name, Description: about}, func(ctx context.Context, r *sdk.CallToolRequest, a echoArgs) (result, any, error) {
			res, err := f(ctx, r, a)
			return res, nil, err
		})
	}
	text := func(s string) result { return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: s}}} }
	add("echo", "Say it again.", func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (result, error) { return text(a.Text), nil })
	add("big", "Many lines.", func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (result, error) {
		var b strings.Builder
		for i := range a.N {
			fmt.Fprintf(&b, "line %d\n", i+1)
		}
		return text(b.String()), nil
	})
	add("fail", "Fail.", func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (result, error) {
		return nil, fmt.Errorf("no: %s", a.Text)
	})
	add("crash", "End.", func(context.Context, *sdk.CallToolRequest, echoArgs) (result, error) { os.Exit(7); return nil, nil })
	add("environment", "Its environment.", func(context.Context, *sdk.CallToolRequest, echoArgs) (result, error) {
		dir, _ := os.Getwd()
		return text(strings.Join(append(os.Environ(), "DIR="+dir), "\n")), nil
	})
	add("slow", "Wait to be cancelled.", func(ctx context.Context, r *sdk.CallToolRequest, a echoArgs) (result, error) {
		_ = r.Session.NotifyProgress(ctx, &sdk.ProgressNotificationParams{ProgressToken: r.Params.GetProgressToken(), Message: "half way", Progress: 1, Total: 2})
		<-ctx.Done()
		if a.Text != "" {
			_ = os.WriteFile(a.Text, []byte("cancelled"), 0o600) // a FIFO
		}
		return text("too late"), nil
	})
	add("grow", "Get another tool.", func(_ context.Context, _ *sdk.CallToolRequest, a echoArgs) (result, error) {
		add(a.Text, "New.", func(context.Context, *sdk.CallToolRequest, echoArgs) (result, error) { return text("new"), nil })
		return text("grown"), nil
	})
	add("parts", "All sorts.", func(context.Context, *sdk.CallToolRequest, echoArgs) (result, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{
			&sdk.TextContent{Text: "one"},
			&sdk.ImageContent{MIMEType: "image/png", Data: dot},
			&sdk.ImageContent{MIMEType: "image/png", Data: []byte("no image")},
			&sdk.AudioContent{MIMEType: "audio/wav", Data: []byte("sound")},
			&sdk.ResourceLink{URI: "file:///x", Name: "x", Description: "an x"},
			&sdk.EmbeddedResource{Resource: &sdk.ResourceContents{URI: "file:///y", Text: "why"}},
		}}, nil
	})
	return s
}

// dot is a PNG of one pixel.
var dot = func() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err)
	}
	return b.Bytes()
}()

// byHand is a server that lists its tools as page says, and that ends when there
// are no more. It may ignore what it does not know.
func byHand(ignore bool, page func(n int) (tools string, more bool)) {
	in, more := bufio.NewScanner(os.Stdin), true
	for more && in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
			Params struct{ Cursor string }
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil {
			continue
		}
		answer := `"error":{"code":-32601,"message":"method not found"}`
		switch m.Method {
		case "initialize":
			answer = `"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"hand","version":"1"},"capabilities":{"tools":{}}}`
		case "tools/list":
			var tools, next string
			if tools, more = page(len(m.Params.Cursor)); more {
				next = m.Params.Cursor + "x"
			}
			answer = `"result":{"nextCursor":"` + next + `","tools":[` + tools + `]}`
		}
		if ignore && strings.HasPrefix(answer, `"error"`) {
			continue
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
}

// bulkyTools are tools with names of megabytes.
func bulkyTools(page int) (tools string, more bool) {
	return fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}},{"name":"%d%s","inputSchema":{"type":"object"}}`, page, page, strings.Repeat("n", 4<<20)), true
}

// odd is a server that answers each method with what the variable of its name, or
// ASK for what it asks unasked, says.
func odd() {
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m struct {
			ID     json.RawMessage
			Method string
		}
		if json.Unmarshal(in.Bytes(), &m) != nil || m.ID == nil || m.Method == "" {
			continue
		}
		answer := os.Getenv(m.Method)
		if answer == "" {
			answer = map[string]string{
				"initialize": `"result":{"protocolVersion":"2025-06-18","serverInfo":{"name":"odd","version":"1"},"capabilities":{"tools":{}}}`,
				"tools/list": `"result":{"tools":[{"name":"t","inputSchema":{"type":"object"}}]}`,
				"tools/call": `"result":{"content":[{"type":"text","text":"fine"}]}`,
			}[m.Method]
		}
		if answer == "" {
			answer = `"error":{"code":-32601,"message":"method not found"}`
		}
		if m.Method == "tools/call" {
			fmt.Println(os.Getenv("ASK"))
		}
		fmt.Printf(`{"jsonrpc":"2.0","id":%s,%s}`+"\n", m.ID, answer)
	}
}

// asker is a server that asks without end, once it has listed its tools, and does
// not listen.
func asker() {
	byHand(false, func(int) (string, bool) { return `{"name":"t","inputSchema":{"type":"object"}}`, false })
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for i := 0; ; i++ {
		if _, err := fmt.Fprintf(out, `{"jsonrpc":"2.0","id":%d,"method":"ping"}`+"\n", i); err != nil {
			return
		}
	}
}

// wrongTools are all wrong and have no end.
func wrongTools(page int) (tools string, more bool) {
	list := []string{
		`{"name":"same","inputSchema":{"type":"object"}}`,
		`{"name":"huge","inputSchema":{"type":"object","description":"` + strings.Repeat("h", 100_000) + `"}}`,
		`{"name":"","inputSchema":null}`,
		fmt.Sprintf(`{"name":"näme %d/%s","description":"%s","inputSchema":{"type":"object","properties":{"a b":{"type":"string"},"n":{"type":"any","exclusiveMinimum":true}}}}`,
			page, strings.Repeat("n", 100), strings.Repeat("d", 10_000)),
	}
	for i := range 50 {
		list = append(list, fmt.Sprintf(`{"name":"t%d","inputSchema":{"type":"object"}}`, page*50+i))
	}
	return strings.Join(list, ","), true
}

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// role is the configuration of a server that the test binary is.
func role(name string) Config {
	exe, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return Config{Name: name, Command: exe, Env: map[string]string{roleVar: name}}
}
