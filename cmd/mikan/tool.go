package main

import "context"

type toolCmd struct {
	answering
	Name    string   `arg:"" help:"The tool: platform/conversation/tool, or conversation/tool on the platform local."`
	Command []string `arg:"" passthrough:"" help:"A command, after --: it gets each call as JSON on its standard input."`
}

// Run does what a tool is called for, see [outcome].
func (c *toolCmd) Run(ctx context.Context, std *streams) error {
	path, err := inOffice("tool", c.Name, "tools", "weather")
	if err != nil {
		return &exitError{exitUsage, err}
	}
	return c.with(ctx, std, path+"/call", c.Command, outcome)
}
