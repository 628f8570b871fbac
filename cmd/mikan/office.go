package main

import (
	"fmt"

	"mikan/runtime"
)

type officeCmd struct {
	List officeListCmd `cmd:"" help:"List the registered offices: address, key, and whether it is archived."`
}

type officeListCmd struct{ stateFlag }

// Run lists what the state directory has, whether a daemon runs or not.
func (c *officeListCmd) Run(std *streams) error {
	dir, err := c.dir()
	if err != nil {
		return err
	}
	list, err := runtime.NewRegistry(dir).List()
	if err != nil {
		return err
	}
	for _, a := range list {
		mark := ""
		if runtime.Archived(dir, a.Key()) {
			mark = " archived"
		}
		fmt.Fprintf(std.out, "%s %s%s\n", a, a.Key(), mark)
	}
	return nil
}
