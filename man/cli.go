package man

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// commands sets the command line, and notes which commands it has described.
type commands struct {
	root *kong.Node
	told map[string]bool
}

// shared are the flags of many commands, described once.
var shared = map[string]bool{"help": true, "socket": true, "state-dir": true}

// leaves are the commands that can be run, in the order of the help.
func (c *commands) leaves() []*kong.Node {
	return c.root.Leaves(true)
}

// name is a command's name with those it is under: "office list".
func name(n *kong.Node) string {
	if n.Parent == nil || n.Parent.Type == kong.ApplicationNode {
		return n.Name
	}
	return name(n.Parent) + " " + n.Name
}

// synopsis is a line for each command.
func (c *commands) synopsis() string {
	var b strings.Builder
	for _, n := range c.leaves() {
		fmt.Fprintf(&b, ".Nm\n.Ic %s\n", name(n))
		for _, f := range n.Flags {
			if !f.Hidden && f.Name != "help" {
				fmt.Fprintf(&b, ".Op %s\n", flag(f))
			}
		}
		for _, p := range n.Positional {
			b.WriteString("." + positional(p) + "\n")
		}
	}
	return b.String()
}

// flag sets a flag with its argument.
func flag(f *kong.Flag) string {
	long := "Fl -" + f.Name
	if !f.IsBool() {
		long += " Ns = Ns Ar " + argument(cmp.Or(f.PlaceHolder, "N"))
	}
	if f.Short != 0 {
		return "Fl " + string(f.Short) + " , " + long
	}
	return long
}

// positional sets an argument of a command.
func positional(p *kong.Positional) string {
	s := "Ar " + p.Name
	if p.IsCumulative() {
		s += " ..."
	}
	if !p.Required {
		s = "Op " + s
	}
	return s
}

// command is the head of a command's description: how it is called, what it
// does and its own flags. The template goes on.
func (c *commands) command(which string) (string, error) {
	for _, n := range c.leaves() {
		if name(n) != which {
			continue
		}
		if c.told == nil {
			c.told = map[string]bool{}
		}
		c.told[which] = true
		return describe(n), nil
	}
	return "", fmt.Errorf("the program has no command %q", which)
}

func describe(n *kong.Node) string {
	var b strings.Builder
	fmt.Fprintf(&b, ".It Ic %s", name(n))
	for _, p := range n.Positional {
		b.WriteString(" " + positional(p))
	}
	b.WriteString("\n" + prose(n.Help))
	var own []*kong.Flag
	for _, f := range n.Flags {
		if !f.Hidden && !shared[f.Name] {
			own = append(own, f)
		}
	}
	if len(own)+len(n.Positional) == 0 {
		return b.String()
	}
	b.WriteString(".Pp\n.Bl -tag -width Ds -compact\n")
	for _, p := range n.Positional {
		fmt.Fprintf(&b, ".It Ar %s\n%s", p.Name, prose(p.Help))
	}
	for _, f := range own {
		b.WriteString(item(f))
	}
	b.WriteString(".El\n")
	return b.String()
}

func item(f *kong.Flag) string {
	s := fmt.Sprintf(".It %s\n%s", flag(f), prose(f.Help))
	if f.HasDefault {
		s += "The default is\n.Cm " + argument(f.Default) + " .\n"
	}
	for _, env := range f.Envs {
		s += ".Ev " + env + "\nstands in for it.\n"
	}
	return s
}

// common describes the flags that many commands have.
func (c *commands) common() string {
	var b strings.Builder
	done := map[string]bool{}
	for _, n := range c.leaves() {
		for _, f := range n.AllFlags(false) {
			for _, f := range f {
				if shared[f.Name] && !done[f.Name] {
					done[f.Name] = true
					b.WriteString(item(f))
				}
			}
		}
	}
	return b.String()
}

// missing reports the commands that a page which describes some leaves out.
func (c *commands) missing() error {
	if c.told == nil {
		return nil
	}
	for _, n := range c.leaves() {
		if !c.told[name(n)] {
			return fmt.Errorf("the page says nothing about the command %q", name(n))
		}
	}
	return nil
}

// environment is the list of environment variables.
func environment(vars []Variable) string {
	var b strings.Builder
	for _, v := range vars {
		fmt.Fprintf(&b, ".It Ev %s\n%s", v.Name, prose(sentence(v.Help)))
	}
	return b.String()
}
