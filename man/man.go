package man

import (
	"embed"
	"errors"
	"fmt"
	"strings"
	"text/template"

	"github.com/alecthomas/kong"
)

// Pages are the names of the manual pages.
var Pages = []string{"mikan.1", "mikan.4", "mikan.5", "mikan-ctl.7"}

//go:embed *.mdoc.in
var templates embed.FS

// Program is what the pages say of package main.
type Program struct {
	CLI *kong.Application
	Env []Variable
}

// Variable is an environment variable.
type Variable struct{ Name, Help string }

// Page renders a page. A template that leaves out a command, a place of the tree
// or an error is an error.
func Page(name string, p Program) ([]byte, error) {
	text, err := templates.ReadFile(name + ".mdoc.in")
	if err != nil {
		return nil, err
	}
	cli := &commands{root: p.CLI.Node}
	t, err := template.New(name).Funcs(template.FuncMap{
		"synopsis":    cli.synopsis,
		"command":     cli.command,
		"common":      cli.common,
		"environment": func() string { return environment(p.Env) },
		"places":      places,
		"verbs":       verbs,
		"events":      events,
		"errors":      errorTable,
		"operations":  operations,
		"hooks":       hooks,
	}).Parse(string(text))
	if err != nil {
		return nil, err
	}
	var b strings.Builder
	fmt.Fprintf(&b, ".\\\" Made of %s.mdoc.in by \"go generate ./man\"; do not edit.\n", name)
	err = t.Execute(&b, nil)
	return []byte(b.String()), errors.Join(err, cli.missing())
}
