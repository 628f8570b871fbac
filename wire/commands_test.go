package wire

import "testing"

func TestIsChatCommand(t *testing.T) {
	for text, want := range map[string]bool{
		"/new": true, "/NEW": true, "/new@mikan_bot": true, "/new@mikan_bot now": true, " /new\nx": true,
		"/pi-anything-else": true, "/pi-model x/y": true, "/autoreply status": true, "/auto-reply on": true,
		"/model": true, "/model\tx": true, "/stop": true, "/Session": true,
		"": false, "new": false, "/": false, "/news": false, "/newer model": false, "/tmp/new": false, "see /new": false,
		"/pi-": false, "/pi": false, "/new-model": false, "/home is full": false, "/new.": false,
	} {
		if IsChatCommand(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	seen := map[string]bool{}
	for _, name := range commandNames() {
		if seen[name] || !IsChatCommand("/"+name) || !IsChatCommand("/pi-"+name+" x") {
			t.Errorf("%s is there twice, or no command", name)
		}
		seen[name] = true
	}
}
