package models

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

func TestResolve_reads_literals_variables_and_escapes(t *testing.T) {
	env := map[string]string{"A": "alpha", "B_1": "beta", "MULTI": "a\nb", "PATH": os.Getenv("PATH")}
	r := newResolver(func(name string) string { return env[name] })
	for expr, want := range map[string]string{
		"plain":            "plain",
		"$A":               "alpha",
		"${A}":             "alpha",
		"x-${A}y$B_1.z":    "x-alphaybeta.z",
		"$$A":              "$A",
		"$!not a command":  "!not a command",
		"cost $5":          "cost $5",
		"end$":             "end$",
		"${":               "${",
		"${A-x}":           "${A-x}",
		"$MORE":            "more",
		"a!b":              "a!b",
		"!echo '  a key '": "a key",
		"!printf %s '$A'":  "$A",
	} {
		if got, err := r.resolve(t.Context(), expr, map[string]string{"MORE": "more"}); err != nil || got != want {
			t.Errorf("%q: %q, %v; want %q", expr, got, err, want)
		}
	}
	for expr, want := range map[string]string{
		"$NOPE":                         "the environment variable NOPE is not set",
		"$MULTI":                        "more than one line",
		"!true":                         "it is empty",
		"!exit 4":                       "exit status 4",
		"!echo " + canary + "; false":   "exit status 1",
		"!echo " + canary + "; echo b":  "more than one line",
		"!kill -9 $$":                   "signal: killed",
		"!head -c 70000 /dev/zero; :":   "more than 64 KiB",
		"!/nonexistent/" + canary + "x": "exit status 127",
	} {
		got, err := r.resolve(t.Context(), expr, nil)
		if err == nil || got != "" || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), canary) {
			t.Errorf("%q: %q, %v; want %q", expr, got, err, want)
		}
	}
}

func TestResolve_runs_a_command_once_with_nothing_of_our_environment(t *testing.T) {
	t.Setenv("MIKAN_TEST_CANARY", canary)
	dir := t.TempDir()
	env := map[string]string{"HOME": dir, "PATH": os.Getenv("PATH"), "OTHER": canary}
	r := newResolver(func(name string) string { return env[name] })
	expr := "!echo x >>$HOME/runs; env >$HOME/env; ps -o pgid= -p $$ >/dev/null 2>&1; sleep 100 & echo key"
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			if got, err := r.resolve(t.Context(), expr, nil); got != "key" || err != nil {
				t.Errorf("%q %v", got, err)
			}
		})
	}
	all.Wait()
	if runs, err := os.ReadFile(filepath.Join(dir, "runs")); string(runs) != "x\n" || err != nil {
		t.Errorf("it ran %d times, %v", strings.Count(string(runs), "x"), err)
	}
	out, err := os.ReadFile(filepath.Join(dir, "env"))
	if err != nil || strings.Contains(string(out), canary) {
		t.Errorf("its environment was %s, %v", out, err)
	}
}

func TestResolve_ends_a_command_that_takes_too_long_with_all_its_children(t *testing.T) {
	dir := t.TempDir()
	r := newResolver(func(name string) string { return map[string]string{"HOME": dir, "PATH": os.Getenv("PATH")}[name] })
	r.limit = 200 * time.Millisecond
	_, err := r.resolve(t.Context(), "!sh -c 'echo $$ >$HOME/child; exec sleep 100' & sleep 100", nil)
	if err == nil || err.Error() != "its command took longer than 200ms" {
		t.Error(err)
	}
	raw, err := os.ReadFile(filepath.Join(dir, "child"))
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(5 * time.Second); running(pid); {
		if time.Now().After(deadline) {
			t.Fatal("a child was left running")
		}
		runtime.Gosched()
	}
}

// running reports whether a process is there and no zombie.
func running(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

func FuzzExpand(f *testing.F) {
	for _, s := range []string{"plain", "$A", "${A}", "$$", "$!", "$", "${", "${A", "a$5", "${A}${B}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, expr string) {
		got, err := expand(expr, func(string) string { return "v" })
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(expr, "$") && got != expr {
			t.Errorf("%q became %q", expr, got)
		}
		if _, err := expand(expr, func(string) string { return "" }); (err != nil) != (len(variables(expr)) > 0) {
			t.Errorf("%q: %v, variables %q", expr, err, variables(expr))
		}
	})
}

func TestFault_S3_a_key_is_in_nothing_that_is_printed(t *testing.T) {
	r := mustLoad(t, map[string]string{
		"auth.json":   `{"anthropic": {"type": "api_key", "key": "` + canary + `", "env": {"X": "` + canary + `"}}}`,
		"models.json": `{"providers": {"openai": {"apiKey": "` + canary + `"}}}`,
	}, nil)
	for _, ref := range []string{"anthropic/claude-sonnet-4-6", "openai/gpt-5"} {
		m, _, err := r.Find(ref)
		if err != nil || !r.Ready(m) {
			t.Fatal(err)
		}
		if _, err := r.Provider(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		for _, out := range []string{fmt.Sprintf("%v %+v %#v", m, m, m), fmt.Sprintf("%v %+v %#v", r.auth, r.auth, r.auth), fmt.Sprintf("%v %+v %#v", r, r, r)} {
			if strings.Contains(out, canary) {
				t.Errorf("the key is in %s", out)
			}
		}
	}
}
