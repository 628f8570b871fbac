package main

import "context"

type hookCmd struct {
	answering
	Name    string   `arg:"" help:"The hook: platform/conversation/hook, or conversation/hook on the platform local."`
	Command []string `arg:"" passthrough:"" help:"A command, after --: it gets each request as JSON on its standard input."`
}

// Run answers the questions of a hook, see [verdict].
func (c *hookCmd) Run(ctx context.Context, std *streams) error {
	path, err := inOffice("hook", c.Name, "hooks", "tool_call")
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return c.with(ctx, std, path, c.Command, verdict)
}
