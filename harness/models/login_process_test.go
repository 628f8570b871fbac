package models

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// logIn is what another process does: it takes a token a few times.
func logIn(dir string) {
	r, err := Load(Options{StateDir: dir, Env: func(string) string { return "" }})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer r.Close()
	for range 5 {
		token, err := r.logins.token(context.Background(), "lab")
		if err != nil {
			token = err.Error()
		}
		fmt.Println(token)
	}
}

// processes takes tokens in several processes at once and returns what they got.
func processes(t *testing.T, n int, dir string) []string {
	t.Helper()
	outputs := make([]bytes.Buffer, n)
	var all sync.WaitGroup
	for i := range outputs {
		cmd := exec.CommandContext(t.Context(), os.Args[0])
		cmd.Env = []string{"MIKAN_TEST_LOGIN=" + dir}
		cmd.Stdout, cmd.Stderr = &outputs[i], &outputs[i]
		all.Go(func() {
			if err := cmd.Run(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var lines []string
	for i := range outputs {
		lines = append(lines, strings.Fields(strings.TrimSpace(outputs[i].String()))...)
	}
	return lines
}

func TestLogin_of_several_processes_is_renewed_by_one_of_them(t *testing.T) {
	tokens := newTokenServer(t)
	dir := t.TempDir()
	auth := filepath.Join(dir, "auth.json")
	if err := os.WriteFile(auth, []byte(`{"lab": `+tokens.entry(time.Now())+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	got := processes(t, 4, dir)
	if len(got) != 20 {
		t.Errorf("%q", got)
	}
	for _, token := range got {
		if token != accessToken(1) {
			t.Errorf("a process got %q", token)
		}
	}
	if n, refused := tokens.counts(); n != 1 || refused != 0 {
		t.Errorf("%d requests, %d refused", n, refused)
	}
}

func TestLogin_of_several_processes_never_uses_a_refresh_token_twice(t *testing.T) {
	tokens := newTokenServer(t)
	tokens.life = 1 // it ends at once
	dir, linked := t.TempDir(), t.TempDir()
	auth := filepath.Join(dir, "auth.json")
	if err := os.WriteFile(auth, []byte(`{"lab": `+tokens.entry(time.Now())+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(auth, filepath.Join(linked, "auth.json")); err != nil {
		t.Fatal(err)
	}
	var through sync.WaitGroup
	var got []string
	through.Go(func() { got = processes(t, 2, linked) })
	got2 := processes(t, 2, dir)
	through.Wait()
	seen := map[string]bool{}
	for _, token := range append(got, got2...) {
		if seen[token] || !strings.HasPrefix(token, canary+"-access-") {
			t.Errorf("a process got %q", token)
		}
		seen[token] = true
	}
	if n, refused := tokens.counts(); n != 20 || refused != 0 || len(seen) != 20 {
		t.Errorf("%d requests, %d refused, %d tokens", n, refused, len(seen))
	}
}
