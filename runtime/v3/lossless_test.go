package v3_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"mikan/harness"
	"mikan/runtime/store"
	v3 "mikan/runtime/v3"
	"mikan/wire"
)

// The law of transcripts: whatever is said, aborted, forked from any entry,
// compacted, labelled and started afresh, and wherever the daemon is killed, a
// reader of version 3 finds in the transcript exactly the context that the store
// gives, in which each call has one result, in order; a transcript only grows; and
// a fork says truly where it comes from, and has all that led there.
func TestInvariant_transcripts_are_lossless(t *testing.T) {
	dir := memory(t)
	made := filepath.Join(dir, "made")
	db, err := store.Create(context.Background(), made)
	if err != nil {
		t.Fatal(err)
	}
	db.Close()
	fresh, err := os.ReadFile(made)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		h := &histories{T: rt, path: filepath.Join(dir, fmt.Sprint(n)), read: map[string][]byte{}}
		h.must(nil, os.WriteFile(h.path, fresh, 0o600))
		h.open()
		defer h.close()
		h.must(h.db.CreateSession(h.ctx, "main", "/office", h.now))
		h.names = []string{"main"}
		rt.Repeat(map[string]func(*rapid.T){
			"say": h.say, "work": h.work, "fork": h.fork, "compact": h.compact, "afresh": h.afresh,
			"label": h.label, "crash": h.crash, "stop": func(*rapid.T) { h.db.Close(); h.open() },
		})
		for _, name := range h.names {
			h.check(name)
		}
	})
}

// memory is a directory in memory, where commits cost nothing, if there is one.
func memory(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "mikan-test-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// histories draws what happens in an office.
type histories struct {
	*rapid.T
	path  string
	ctx   context.Context
	now   time.Time
	db    *store.DB
	names []string
	read  map[string][]byte // the transcripts when they were last read
	calls int
}

func (h *histories) open() {
	h.ctx, h.now = context.Background(), time.Now()
	db, err := store.Open(h.ctx, h.path)
	if err != nil {
		h.Fatal(err)
	}
	h.db = db
}

func (h *histories) must(_ any, err error) {
	if err != nil {
		h.Helper()
		h.Fatal(err)
	}
}

// close ends the use of the store, which is no longer needed.
func (h *histories) close() {
	h.db.Close()
	for _, side := range []string{"", "-wal", "-shm"} {
		os.Remove(h.path + side)
	}
}

// crash kills the daemon in the middle of something, so that what it writes then
// is on the disk in part.
func (h *histories) crash(t *rapid.T) {
	for _, name := range h.names {
		h.grow(name)
	}
	path, before, read := h.path, h.logSize(), maps.Clone(h.read)
	rapid.SampledFrom([]func(*rapid.T){h.say, h.work, h.fork, h.compact, h.afresh, h.label}).Draw(t, "what is cut short")(t)
	if after := h.logSize(); path == h.path && before < after {
		h.read = read
		h.kill(rapid.Int64Range(before, after).Draw(t, "bytes on the disk"))
	}
}

func (h *histories) logSize() int64 {
	info, err := os.Stat(h.path + "-wal")
	h.must(info, err)
	return info.Size()
}

// kill goes on as a daemon does that finds what another has left: the database,
// and so much of its write-ahead log.
func (h *histories) kill(log int64) {
	left := h.path + "'"
	for _, side := range []string{"", "-wal"} {
		data, err := os.ReadFile(h.path + side)
		h.must(data, err)
		if side != "" {
			data = data[:log]
		}
		h.must(nil, os.WriteFile(left+side, data, 0o600))
	}
	h.close()
	h.path = left
	h.open()
	list, err := h.db.Sessions(h.ctx)
	h.must(list, err)
	if len(list) < len(h.read) {
		h.Fatalf("of %d sessions, %d are left", len(h.read), len(list))
	}
	h.names = nil
	for _, s := range list {
		h.names = append(h.names, s.Name)
		h.end(s, "interrupted")
		h.grow(s.Name)
	}
}

// end gives the calls at the end of a session that have no result one.
func (h *histories) end(s store.Session, why string) {
	msgs, err := h.db.Messages(h.ctx, s.ID)
	h.must(msgs, err)
	h.must(nil, h.db.Append(h.ctx, s.ID, harness.Close(msgs, why), h.now))
}

// grow reads a transcript, in which all that was ever read must still stand, and
// each entry comes after the one before it.
func (h *histories) grow(name string) tree {
	s, err := h.db.Session(h.ctx, name)
	h.must(s, err)
	data := h.transcript(s)
	if !bytes.HasPrefix(data, h.read[name]) {
		h.Fatalf("the transcript of %s was\n%s\nand is\n%s", name, h.read[name], data)
	}
	h.read[name] = data
	up := tree{}
	for line := range bytes.Lines(data) {
		var e wire.Entry
		h.must(e, json.Unmarshal(line, &e))
		switch {
		case e.Type == "session":
		case e.ParentID == nil:
			up[e.ID] = ""
		case !up.has(*e.ParentID):
			h.Fatalf("%s: %s comes after %s, which is not there", name, e.ID, *e.ParentID)
		default:
			up[e.ID] = *e.ParentID
		}
	}
	return up
}

// tree has of each entry the one before it.
type tree map[string]string

func (t tree) has(id string) bool {
	_, ok := t[id]
	return ok
}

// path is what leads to an entry.
func (t tree) path(id string) (ids []string) {
	for ; id != ""; id = t[id] {
		ids = append(ids, id)
	}
	return ids
}

// some draws one of the sessions.
func (h *histories) some(t *rapid.T) store.Session {
	s, err := h.db.Session(h.ctx, rapid.SampledFrom(h.names).Draw(t, "session"))
	h.must(s, err)
	return s
}

func part(t *rapid.T) wire.Part {
	text := rapid.String().Draw(t, "text")
	return rapid.SampledFrom([]wire.Part{
		wire.TextPart(text),
		{Type: wire.Thinking, Thinking: text, ThinkingSignature: "sig", Redacted: len(text) > 3},
		{Type: wire.Image, Data: "aW1hZ2U=", MimeType: "image/png"},
		{Type: wire.Text, Text: text, TextSignature: "ts"},
	}).Draw(t, "part")
}

func (h *histories) say(t *rapid.T) {
	s := h.some(t)
	m := wire.Message{
		Role:       rapid.SampledFrom([]string{wire.User, wire.Assistant}).Draw(t, "role"),
		Content:    rapid.SliceOfN(rapid.Custom(part), 0, 3).Draw(t, "content"),
		StopReason: rapid.SampledFrom([]string{"", wire.StopEnd, wire.StopError, wire.StopAborted}).Draw(t, "stop"),
		Timestamp:  rapid.Int64Range(0, 1<<40).Draw(t, "time"),
	}
	if m.Role == wire.Assistant {
		m.Provider, m.Model, m.Usage = "p", "m", &wire.Usage{Input: 1, Total: 1, Cost: wire.Cost{Total: 0.001}}
	}
	h.must(nil, h.db.Append(h.ctx, s.ID, []wire.Message{m}, h.now))
	if rapid.Bool().Draw(t, "settles") {
		h.settle(s)
	}
}

func (h *histories) settle(s store.Session) {
	p, _, err := h.db.Accept(h.ctx, store.Prompt{Session: s.ID, Kind: store.KindPrompt})
	h.must(p, err)
	h.must(nil, h.db.Begin(h.ctx, p.ID, []store.Prompt{p}, nil, store.Told{}, h.now))
	h.must(h.db.Settle(h.ctx, store.Settlement{Run: p.ID, Session: s.ID, Outcome: wire.OK}, h.now))
}

// work is a batch of tool calls and its results, each in a commit of its own. An
// abort or a crash may come before some of the results: those are made up then.
func (h *histories) work(t *rapid.T) {
	s := h.some(t)
	m := wire.Message{Role: wire.Assistant, Content: []wire.Part{part(t)}, StopReason: wire.StopToolUse}
	var results []wire.Message
	for range rapid.IntRange(1, 3).Draw(t, "calls") {
		h.calls++
		id := fmt.Sprint("call", h.calls)
		m.Content = append(m.Content, wire.Part{Type: wire.ToolCall, ID: id, Name: "bash", Arguments: json.RawMessage(`{"a":[1]}`)})
		results = append(results, wire.Message{
			Role: wire.ToolResult, ToolCallID: id, ToolName: "bash", Content: []wire.Part{part(t)},
			Details: json.RawMessage(`{"x":1}`), IsError: rapid.Bool().Draw(t, "fails"),
		})
	}
	h.must(nil, h.db.Append(h.ctx, s.ID, []wire.Message{m}, h.now))
	done := rapid.IntRange(0, len(results)).Draw(t, "done")
	for _, r := range results[:done] {
		h.must(nil, h.db.Append(h.ctx, s.ID, []wire.Message{r}, h.now))
	}
	switch {
	case done == len(results):
	case rapid.Bool().Draw(t, "aborted"):
		h.end(s, "aborted")
	default:
		h.kill(h.logSize())
	}
}

func (h *histories) transcript(s store.Session) (all []byte) {
	buf := make([]byte, 7777)
	for int64(len(all)) < s.Size {
		n, err := h.db.ReadTranscript(h.ctx, s.ID, buf, int64(len(all)))
		h.must(n, err)
		if n == 0 {
			h.Fatalf("%s ends after %d bytes of %d", s.Name, len(all), s.Size)
		}
		all = append(all, buf[:n]...)
	}
	return all
}

func (h *histories) fork(t *rapid.T) {
	from := h.some(t)
	src := h.grow(from.Name)
	entry := rapid.SampledFrom(append(slices.Sorted(maps.Keys(src)), "")).Draw(t, "entry")
	name := fmt.Sprint("fork", len(h.names))
	f, err := h.db.Fork(h.ctx, from.Name, entry, name, "/office", h.now)
	h.must(f, err)
	h.names = append(h.names, name)
	list, err := h.db.Entries(h.ctx, f.ID, "", store.Page{Limit: 1000})
	h.must(list, err)
	own := slices.IndexFunc(list, func(e store.PastEntry) bool { return e.Session == name && e.CustomType == wire.CustomFork })
	var p wire.ForkPoint
	h.must(p, json.Unmarshal(list[own].Data, &p))
	if p.Session != from.Name || entry != "" && (p.Entry != entry || list[own].ParentID == nil || *list[own].ParentID != entry) {
		h.Fatalf("forked from %s at %q, it says %+v", from.Name, entry, p)
	}
	if got, want := h.grow(name).path(p.Entry), src.path(p.Entry); !slices.Equal(got, want) {
		h.Fatalf("to %s leads %v, and in the fork %v", p.Entry, want, got)
	}
}

// compact cuts where no result is torn from its call.
func (h *histories) compact(t *rapid.T) {
	s := h.some(t)
	msgs, err := h.db.Messages(h.ctx, s.ID)
	h.must(msgs, err)
	if len(msgs) > 0 && strings.HasPrefix(msgs[0].PlainText(), "The conversation before") {
		msgs = msgs[1:]
	}
	if len(msgs) == 0 {
		return
	}
	keep := rapid.IntRange(1, len(msgs)).Draw(t, "keep")
	for msgs[len(msgs)-keep].Role == wire.ToolResult {
		keep++
	}
	c := store.Compaction{Entry: wire.Entry{Summary: rapid.String().Draw(t, "summary"), TokensBefore: 7}, Keep: keep}
	h.must(h.db.Compact(h.ctx, s.ID, c, h.now))
}

func (h *histories) afresh(t *rapid.T) {
	s := h.some(t)
	h.must(nil, h.db.Renew(h.ctx, s.ID))
	if rapid.Bool().Draw(t, "at once") {
		_, _, _, err := h.db.Next(h.ctx, s.ID, h.now)
		h.must(nil, err)
	}
}

func (h *histories) label(t *rapid.T) {
	s := h.some(t)
	if ids := slices.Sorted(maps.Keys(h.grow(s.Name))); len(ids) > 0 {
		h.must(nil, h.db.LabelEntry(h.ctx, s.ID, rapid.SampledFrom(ids).Draw(t, "entry"), rapid.String().Draw(t, "label"), h.now))
	}
	title := rapid.StringN(1, 9, -1).Draw(t, "title")
	h.must(nil, h.db.ChangeSession(h.ctx, s.ID, store.Change{Title: &title}, h.now, wire.Entry{Type: wire.EntryInfo, Name: title}))
}

func (h *histories) check(name string) {
	h.grow(name)
	s, err := h.db.Session(h.ctx, name)
	h.must(s, err)
	want, err := h.db.Messages(h.ctx, s.ID)
	h.must(want, err)
	read, err := v3.Read(bytes.NewReader(h.read[name]))
	h.must(read, err)
	if diff := cmp.Diff(want, read.Context()); diff != "" {
		h.Fatalf("%s: the store gives -, a reader finds +\n%s", name, diff)
	}
	if read.Name != s.Title {
		h.Fatalf("%s: the title is %q, a reader finds %q", name, s.Title, read.Name)
	}
	var open []string
	for i, m := range want {
		switch {
		case m.Role == wire.ToolResult && (len(open) == 0 || open[0] != m.ToolCallID):
			h.Fatalf("%s: message %d is a result of %s, want one of %v", name, i, m.ToolCallID, open)
		case m.Role == wire.ToolResult:
			open = open[1:]
		case len(open) > 0:
			h.Fatalf("%s: message %d comes before the results of %v", name, i, open)
		}
		for _, c := range m.Calls() {
			open = append(open, c.ID)
		}
	}
	if len(open) > 0 {
		h.Fatalf("%s: no results of %v", name, open)
	}
}
