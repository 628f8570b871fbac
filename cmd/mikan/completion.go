package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kong"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Run prints a script made from the command line's own table.
func (c *completionCmd) Run(std *streams, k *kong.Kong) error {
	switch c.Shell {
	case "fish":
		fishCompletion(std.out, k.Model.Node)
	case "zsh":
		fmt.Fprintln(std.out, "#compdef mikan\nautoload -U +X bashcompinit && bashcompinit")
		fallthrough
	default:
		bashCompletion(std.out, k.Model.Node)
	}
	return nil
}

// words are what can follow a command: its subcommands and its flags.
func words(n *kong.Node) []string {
	var list []string
	for _, child := range n.Children {
		list = append(list, child.Name)
	}
	for _, f := range n.Flags {
		list = append(list, "--"+f.Name)
	}
	return list
}

func bashCompletion(w io.Writer, root *kong.Node) {
	fmt.Fprint(w, `# Completions of mikan(1) for bash and zsh.
_mikan() {
	local cur=${COMP_WORDS[COMP_CWORD]} words
	case "${COMP_WORDS[1]}${COMP_WORDS[2]:+ ${COMP_WORDS[2]}}" in
`)
	for _, n := range root.Children {
		for _, child := range n.Children {
			fmt.Fprintf(w, "\t'%s %s'*) words='%s' ;;\n", n.Name, child.Name, strings.Join(words(child), " "))
		}
		fmt.Fprintf(w, "\t%s|'%s '*) words='%s' ;;\n", n.Name, n.Name, strings.Join(words(n), " "))
	}
	fmt.Fprintf(w, `	esac
	[ "$COMP_CWORD" -eq 1 ] && words='%s'
	COMPREPLY=($(compgen -W "$words" -- "$cur"))
	case $cur in -*) ;; *) COMPREPLY+=($(compgen -f -- "$cur")) ;; esac
}
complete -F _mikan mikan
`, strings.Join(words(root), " "))
}

func fishCompletion(w io.Writer, root *kong.Node) {
	fmt.Fprintln(w, "# Completions of mikan(1) for fish.")
	for _, n := range root.Children {
		fmt.Fprintf(w, "complete -c mikan -n __fish_use_subcommand -f -a %s -d %q\n", n.Name, n.Help)
		for _, child := range n.Children {
			fmt.Fprintf(w, "complete -c mikan -n '__fish_seen_subcommand_from %s' -f -a %s -d %q\n", n.Name, child.Name, child.Help)
		}
		for _, f := range n.Flags {
			fmt.Fprintf(w, "complete -c mikan -n '__fish_seen_subcommand_from %s' -l %s -d %q\n", n.Name, f.Name, f.Help)
		}
	}
}
