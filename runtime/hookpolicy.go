package runtime

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"mikan/fs"
	"mikan/wire"
)

// policy is what holds for a hook. It is the owner's; no listener can weaken it.
type policy struct {
	Require bool     `json:"require,omitempty"` // without an answer: deny
	Timeout string   `json:"timeout,omitempty"`
	Only    []string `json:"only,omitempty"` // tools; none: all
}

func (p policy) timeout() time.Duration {
	if d, err := time.ParseDuration(p.Timeout); err == nil && d > 0 && d <= maxHookTimeout {
		return d
	}
	return hookTimeout
}

// policies is hooks.json of an office.
type policies struct {
	Start  policy `json:"before_agent_start,omitzero"`
	Call   policy `json:"tool_call,omitzero"`
	Result policy `json:"tool_result,omitzero"`
}

func (p *policies) of(hook string) *policy {
	switch hook {
	case wire.HookStart:
		return &p.Start
	case wire.HookCall:
		return &p.Call
	case wire.HookResult:
		return &p.Result
	}
	return nil
}

func (h *Hooks) load() (p policies, err error) {
	data, ok, err := readState(h.c.HooksPath)
	if err != nil || !ok {
		return p, err
	}
	return p, wire.DecodeJSON(h.c.HooksPath, data, &p)
}

// Command runs a line of hooks/ctl.
func (h *Hooks) Command(ctx context.Context, line string) error {
	l, err := parse(wire.AtHooks, line)
	if err != nil {
		return err
	}
	release, err := acquire(ctx, h.editing)
	if err != nil {
		return err
	}
	defer release()
	all, err := h.load()
	if err != nil {
		return err
	}
	p := all.of(l.Arg(0))
	if p == nil {
		names := slices.Sorted(maps.Keys(h.Services))
		return fs.Errorf(fs.Invalid, "%s: no hook %q%s; the hooks are %s", l.Verb, l.Arg(0), wire.DidYouMean(l.Arg(0), names), strings.Join(names, ", "))
	}
	switch l.Verb {
	case "require", "optional":
		p.Require = l.Verb == "require"
	case "timeout":
		d, err := time.ParseDuration(l.Arg(1))
		if err != nil || d <= 0 || d > maxHookTimeout {
			return fs.Errorf(fs.Invalid, "timeout: %q: want a duration such as 5s, of at most %v", l.Arg(1), maxHookTimeout)
		}
		p.Timeout = d.String()
	case "only":
		p.Only = strings.FieldsFunc(l.Arg(1), func(r rune) bool { return r == ',' })
		tools, err := h.c.toolNames()
		if err != nil {
			return err
		}
		for _, name := range p.Only {
			if !slices.Contains(tools, name) && !wire.IsRemoteTool(name) {
				return fs.Errorf(fs.Invalid, "only: no tool %q%s; the tools are %s", name, wire.DidYouMean(name, tools), strings.Join(tools, ", "))
			}
		}
	}
	data, err := json.MarshalIndent(all, "", "  ")
	if err != nil {
		return err
	}
	return writeState(h.c.HooksPath, append(data, '\n'))
}

// Status is what hooks/ctl reads as: a line for each hook.
func (h *Hooks) Status() ([]byte, error) {
	all, err := h.load()
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, k := range wire.Hooks {
		p := all.of(k.Name)
		rule := "optional"
		if p.Require {
			rule = "require"
		}
		only := "all"
		if len(p.Only) > 0 {
			only = strings.Join(p.Only, ",")
		}
		fmt.Fprintf(&b, "%s %s timeout %v only %s listeners %d failed %d\n",
			k.Name, rule, p.timeout(), only, len(h.Services[k.Name].Listeners()), h.failed[k.Name])
	}
	return b.Bytes(), nil
}
