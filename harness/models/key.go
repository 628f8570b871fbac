package models

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
	"unicode"
)

// The limits of a command that gives a key.
const (
	commandTime   = 10 * time.Second
	commandOutput = 64 << 10
)

// resolver finds the values of keys and headers. The output of a command is
// kept for the life of the process.
type resolver struct {
	env   func(string) string
	limit time.Duration // of a command

	mu       sync.Mutex
	commands map[string]*command
}

// command is a command that gives a value.
type command struct {
	turn  chan struct{} // holds one token; who has it may run the command
	known bool
	value string
}

func newResolver(env func(string) string) *resolver {
	return &resolver{env: env, limit: commandTime, commands: map[string]*command{}}
}

// resolve returns the value of an expression; see the package comment. more are
// variables that come before those of the environment. No error holds a value.
func (r *resolver) resolve(ctx context.Context, expr string, more map[string]string) (string, error) {
	var value string
	var err error
	if script, ok := strings.CutPrefix(expr, "!"); ok {
		value, err = r.run(ctx, script)
	} else {
		value, err = expand(expr, func(name string) string {
			if v, ok := more[name]; ok {
				return v
			}
			return r.env(name)
		})
	}
	switch {
	case err != nil:
		return "", err
	case value == "":
		return "", errors.New("it is empty")
	case strings.ContainsFunc(value, unicode.IsControl):
		return "", errors.New("it is more than one line, or has control characters")
	}
	return value, nil
}

// expand replaces variables and escapes.
func expand(expr string, env func(string) string) (string, error) {
	var out strings.Builder
	for {
		before, rest, found := strings.Cut(expr, "$")
		out.WriteString(before)
		if !found {
			return out.String(), nil
		}
		if rest != "" && (rest[0] == '$' || rest[0] == '!') {
			out.WriteByte(rest[0])
			expr = rest[1:]
			continue
		}
		name, after := variable(rest)
		if name == "" { // a dollar that means nothing
			out.WriteByte('$')
			expr = rest
			continue
		}
		value := env(name)
		if value == "" {
			return "", fmt.Errorf("the environment variable %s is not set", name)
		}
		out.WriteString(value)
		expr = after
	}
}

// variables returns the names of the variables in an expression.
func variables(expr string) []string {
	var names []string
	_, _ = expand(expr, func(name string) string { names = append(names, name); return "x" })
	return names
}

// variable reads a name, or a name in braces, at the beginning of s.
func variable(s string) (name, after string) {
	if inner, ok := strings.CutPrefix(s, "{"); ok {
		in, out, closed := strings.Cut(inner, "}")
		if !closed || nameLength(in) != len(in) {
			return "", s
		}
		return in, out
	}
	n := nameLength(s)
	return s[:n], s[n:]
}

// nameLength is the length of the variable's name at the beginning of s.
func nameLength(s string) int {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || c < '0' || c > '9') {
			return i
		}
	}
	return len(s)
}

// run returns what a command prints, and runs it once.
func (r *resolver) run(ctx context.Context, script string) (string, error) {
	r.mu.Lock()
	c := r.commands[script]
	if c == nil {
		c = &command{turn: make(chan struct{}, 1)}
		c.turn <- struct{}{}
		r.commands[script] = c
	}
	r.mu.Unlock()
	select {
	case <-c.turn:
	case <-ctx.Done():
		return "", ctx.Err()
	}
	defer func() { c.turn <- struct{}{} }()
	if c.known {
		return c.value, nil
	}
	limited, cancel := context.WithTimeout(ctx, r.limit)
	defer cancel()
	value, err := output(limited, script, []string{"HOME=" + r.env("HOME"), "PATH=" + r.env("PATH")})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case limited.Err() != nil:
		return "", fmt.Errorf("its command took longer than %v", r.limit)
	case err != nil:
		return "", err
	}
	c.value, c.known = value, true
	return value, nil
}

// output runs a script in a process group of its own, of which nothing is left
// when it returns. What the script says on its standard error is not passed on:
// it may hold what it was to keep.
func output(ctx context.Context, script string, env []string) (string, error) {
	out := &bounded{limit: commandOutput}
	cmd := exec.CommandContext(ctx, "/bin/sh", "-c", script)
	cmd.Env = env
	cmd.Dir = "/"
	cmd.Stdout = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	if err := cmd.Start(); err != nil {
		return "", errors.New("its command cannot be started")
	}
	err := cmd.Wait()
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // what it left in the background; usually nothing
	switch {
	case out.over:
		return "", fmt.Errorf("its command printed more than %d KiB", commandOutput>>10)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay):
		return "", fmt.Errorf("its command failed: %w", err)
	}
	return strings.TrimSpace(out.kept.String()), nil
}

// bounded keeps the first limit bytes. It is no bytes.Buffer, whose ReadFrom
// would take them all.
type bounded struct {
	kept  bytes.Buffer
	limit int
	over  bool
}

func (b *bounded) Write(p []byte) (int, error) {
	keep := p
	if room := b.limit - b.kept.Len(); len(p) > room {
		b.over = true
		keep = p[:room]
	}
	b.kept.Write(keep)
	return len(p), nil
}
