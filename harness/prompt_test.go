package harness

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the golden files anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		fatal(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	fatal(t, err)
	if d := cmp.Diff(string(want), got); d != "" {
		t.Error(d)
	}
}

func fullPrompt() PromptInput {
	var specs []ToolSpec
	for _, tool := range Tools(nil, nil) {
		specs = append([]ToolSpec{tool.ToolSpec}, specs...)
	}
	return PromptInput{
		Office:      "local/demo",
		Dir:         "/srv/office",
		Shared:      "/srv/shared",
		Confinement: "Commands run on the host under bubblewrap: they see the system read-only, the office and a private /tmp; the network is on",
		Skills: []Skill{
			{Name: "invoice", Description: "Write an invoice", Dir: "/srv/shared/skills", Path: "/srv/shared/skills/invoice/SKILL.md"},
			{Name: "release", Description: "Only when asked", Dir: "/srv/office/skills", Path: "/srv/office/skills/release.md", Manual: true},
			{Name: "deploy", Description: "Deploy the site", Dir: "/srv/office/skills", Path: "/srv/office/skills/deploy.md"},
		},
		SharedMemory: "The company is called Acme.",
		OfficeMemory: "- ada prefers tables",
		Tools:        specs,
	}
}

func TestSystemPrompt(t *testing.T) {
	golden(t, "prompt-full.md", SystemPrompt(fullPrompt()))
	golden(t, "prompt-bare.md", SystemPrompt(PromptInput{Office: "local/demo", Dir: "/srv/office"}))
}

func TestFault_C6_the_prompt_is_the_same_bytes_each_time(t *testing.T) {
	first := SystemPrompt(fullPrompt())
	for range 10 {
		if SystemPrompt(fullPrompt()) != first {
			t.Fatal("the prompt differs from one time to the next")
		}
	}
	tools, again := Tools(nil, nil), Tools(nil, nil)
	for i := range tools {
		if cmp.Diff(tools[i].ToolSpec, again[i].ToolSpec) != "" {
			t.Errorf("tool %d differs", i)
		}
	}
	if strings.Contains(first, "release") {
		t.Error("a skill that only people may name is offered")
	}
}

func TestFault_2_memory_of_this_moment_is_in_the_prompt(t *testing.T) {
	dir := t.TempDir()
	in := fullPrompt()
	for _, memory := range []string{"first", "second"} {
		fatal(t, os.WriteFile(filepath.Join(dir, "MEMORY.md"), []byte(memory+"\n"), 0o644))
		var note string
		if in.OfficeMemory, note = Memory(dir); note != "" {
			t.Error(note)
		}
		if !strings.Contains(SystemPrompt(in), "## Of this office\n\n"+memory+"\n") {
			t.Errorf("the memory %q is not in the prompt", memory)
		}
	}
}
