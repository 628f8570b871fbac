package runtime

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"
)

// The vectors that every program which shares a state directory agrees on.
func TestInvariant_identity_office_key(t *testing.T) {
	for _, v := range []struct{ platform, id, key string }{
		{"slack", "C0123456789", "v1-slack-c0123456789-e1e23ba88e70c365"},
		{"slack", "D0AAAAAA1", "v1-slack-d0aaaaaa1-b0e319d82be4e75f"},
		{"telegram", "5", "v1-telegram-5-1e2fb608f007e4fc"},
		{"telegram", "-1001234567890", "v1-telegram-1001234567890-53db752ab26cabc6"},
		{"telegram", "-", "v1-telegram-conversation-273b352bc2f986b0"},
		{"discord", "123456789012345678", "v1-discord-123456789012345678-5002c92f98e8f28b"},
		{"discord", "DM:1", "v1-discord-dm-1-0c100787ac77a83b"},
		{"github", "GH_acme_site_12", "v1-github-gh-acme-site-12-d54dc12998ea9e46"},
		{"github", "GH_a-very-long-owner-name_repository-with-long-name_12345", "v1-github-gh-a-very-long-owner-name-reposi-81e317e5c6a7b1c3"},
		{"slack", "日本", "v1-slack-conversation-a31caf0b080d23f4"},
	} {
		a, err := NewAddress(v.platform, v.id)
		if err != nil {
			t.Errorf("%s %s: %v", v.platform, v.id, err)
		}
		if got := string(a.Key()); got != v.key {
			t.Errorf("%s %s: key %s, want %s", v.platform, v.id, got, v.key)
		}
	}
}

func TestOfficeKey_has_its_form_and_tells_conversations_apart(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		a, errA := NewAddress("slack", rapid.String().Draw(rt, "a"))
		b, errB := NewAddress("discord", rapid.String().Draw(rt, "b"))
		if errA != nil || errB != nil {
			return
		}
		if !IsOfficeKey(string(a.Key())) {
			rt.Fatalf("%q: key %q has not the form", a.ConversationID, a.Key())
		}
		if a.Key() == b.Key() {
			rt.Fatalf("%v and %v share a key", a, b)
		}
	})
}

// An address is checked where it comes in: an id that could leave its directory
// or split a session key never becomes one.
func TestInvariant_identity_office_address(t *testing.T) {
	for _, id := range []string{"", ".", "..", "a/b", `a\b`, "a\x00b", "a\nb", "a\u0085b", "\xff"} {
		if _, err := NewAddress("slack", id); err == nil {
			t.Errorf("id %q was taken", id)
		}
	}
	for _, p := range []string{"", "Slack", "9p", "a-b", "abcdefghijklmnopq"} {
		if _, err := NewAddress(p, "x"); err == nil {
			t.Errorf("platform %q was taken", p)
		}
	}
	a := Address{"local", ".hidden%"}
	if got := a.String(); got != "local/%2Ehidden%25" {
		t.Errorf("path %q", got)
	}
}

func TestInvariant_office_record_before_directory(t *testing.T) {
	w := testWorkspace(t)
	o := w.Office(Address{"local", "demo"})
	// A registry that cannot be written must leave no directory behind.
	lock := filepath.Join(w.StateDir, "office-registry.json")
	if err := os.WriteFile(lock, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := w.Ensure(t.Context(), o); err == nil {
		t.Fatal("an office was made though it could not be recorded")
	}
	if _, err := os.Lstat(o.Dir); !os.IsNotExist(err) {
		t.Fatalf("the directory is there: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := w.Ensure(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	if list, err := NewRegistry(w.StateDir).List(); err != nil || len(list) != 1 || list[0] != o.Address {
		t.Fatalf("registry %v, %v", list, err)
	}
}

func TestInvariant_state_dir_host_only(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][2]string{{"real", "real"}, {"real", "real/state"}, {"real/ws", "real"}, {"link/ws", "real"}, {"real", "link/deep/er"}} {
		if _, err := NewWorkspace(filepath.Join(dir, c[0]), filepath.Join(dir, c[1])); err == nil {
			t.Errorf("workspace %s and state directory %s were taken", c[0], c[1])
		}
	}
}

func testWorkspace(t testing.TB) *Workspace {
	t.Helper()
	dir := t.TempDir()
	w, err := NewWorkspace(filepath.Join(dir, "ws"), filepath.Join(dir, "state"))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{w.Root, w.StateDir} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return w
}

func TestRegistry_keeps_its_format_and_loses_nothing(t *testing.T) {
	w := testWorkspace(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			// Each with a registry of its own, as other processes have.
			if err := NewRegistry(w.StateDir).Add(t.Context(), Address{"local", strings.Repeat("x", i+1)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	data, err := os.ReadFile(filepath.Join(w.StateDir, "office-registry.json"))
	if err != nil {
		t.Fatal(err)
	}
	var file map[string]any
	if err := json.Unmarshal(data, &file); err != nil {
		t.Fatal(err)
	}
	if file["version"] != 1.0 || len(file["offices"].([]any)) != 20 {
		t.Fatalf("the registry is\n%s", data)
	}
	if !strings.HasPrefix(string(data), "{\n  \"version\": 1,\n  \"offices\": [\n") || !strings.HasSuffix(string(data), "}\n") {
		t.Fatalf("format:\n%s", data)
	}
}

func TestRegistry_refuses_what_it_does_not_understand(t *testing.T) {
	for name, text := range map[string]string{
		"version":  `{"version":2,"offices":[]}`,
		"shape":    `[]`,
		"field":    `{"version":1,"offices":[{"platform":"slack","conversationId":5,"recordedAt":"2026-01-01T00:00:00Z"}]}`,
		"platform": `{"version":1,"offices":[{"platform":"Slack","conversationId":"a","recordedAt":"2026-01-01T00:00:00Z"}]}`,
		"id":       `{"version":1,"offices":[{"platform":"slack","conversationId":"..","recordedAt":"2026-01-01T00:00:00Z"}]}`,
		"twice":    `{"version":1,"offices":[{"platform":"slack","conversationId":"a","recordedAt":"2026-01-01T00:00:00Z"},{"platform":"slack","conversationId":"a","recordedAt":"2026-01-01T00:00:00Z"}]}`,
	} {
		w := testWorkspace(t)
		path := filepath.Join(w.StateDir, "office-registry.json")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		r := NewRegistry(w.StateDir)
		if _, err := r.List(); err == nil {
			t.Errorf("%s: read", name)
		}
		if err := r.Add(t.Context(), Address{"local", "b"}); err == nil {
			t.Errorf("%s: written", name)
		}
		if data, _ := os.ReadFile(path); string(data) != text {
			t.Errorf("%s: overwritten with %s", name, data)
		}
	}
	w := testWorkspace(t)
	if err := os.Symlink("/dev/null", filepath.Join(w.StateDir, "office-registry.json")); err != nil {
		t.Fatal(err)
	}
	if _, err := NewRegistry(w.StateDir).List(); err == nil {
		t.Error("a link was followed")
	}
}

func TestRegistry_takes_a_dead_owners_lock(t *testing.T) {
	w := testWorkspace(t)
	lock := filepath.Join(w.StateDir, ".office-registry.lock")
	if err := os.Mkdir(lock, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(lock, "owner"), []byte("2147483646:0123456789abcdef"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := NewRegistry(w.StateDir).Add(t.Context(), Address{"local", "a"}); err != nil {
		t.Fatal(err)
	}
}
