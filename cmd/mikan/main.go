package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"syscall"

	"github.com/alecthomas/kong"
)

// version is stamped by the build.
var version = "dev"

// The exit statuses; those over 2 are ask's.
const (
	exitFailed  = 1
	exitUsage   = 2
	exitStopped = 3
	exitBudget  = 4
	exitRefused = 5
)

// cli is the command line, from which the help and the completions are made.
type cli struct {
	Serve      serveCmd      `cmd:"" help:"Serve the tree: the daemon."`
	Mount      mountCmd      `cmd:"" help:"Mount a running daemon's tree."`
	Ls         lsCmd         `cmd:"" help:"List a directory of the tree."`
	Cat        catCmd        `cmd:"" help:"Print files of the tree."`
	Write      writeCmd      `cmd:"" help:"Write a file of the tree."`
	Tail       tailCmd       `cmd:"" help:"Follow a file of the tree."`
	Mkdir      mkdirCmd      `cmd:"" help:"Make an office or a session."`
	Rm         rmCmd         `cmd:"" help:"Remove a file of the tree; archive an office or a session."`
	Ask        askCmd        `cmd:"" help:"Give an office a prompt and print the answer as it comes."`
	Hook       hookCmd       `cmd:"" help:"Answer the questions of a hook with a command."`
	Tool       toolCmd       `cmd:"" help:"Do what a tool of the agent is called for with a command."`
	Office     officeCmd     `cmd:"" help:"Look at the offices on disk."`
	Env        envCmd        `cmd:"" help:"List the environment variables that mikan reads."`
	Doctor     doctorCmd     `cmd:"" help:"Say what works here, and what to do about the rest."`
	Version    versionCmd    `cmd:"" help:"Print the version."`
	Completion completionCmd `cmd:"" help:"Print the completions for a shell."`
}

// exitError ends the program with a status; its text, if any, is printed.
type exitError struct {
	status int
	err    error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// hurry is done when the program has been asked a second time to end.
type hurry struct{ context.Context }

func main() {
	ctx, again, stop := signals()
	os.Exit(run(ctx, again, stop, os.Args[1:], &streams{os.Stdin, os.Stdout, os.Stderr}))
}

// signals returns what is done when a signal asks the program to end, what is when
// another does, and what lets signals do again as they usually do.
func signals() (ctx context.Context, again hurry, stop func()) {
	asked := make(chan os.Signal, 2)
	signal.Notify(asked, os.Interrupt, syscall.SIGTERM)
	if !signal.Ignored(syscall.SIGHUP) { // as nohup has it
		signal.Notify(asked, syscall.SIGHUP) // the terminal is closed
	}
	ctx, end := context.WithCancel(context.Background())
	second, endNow := context.WithCancel(context.Background())
	go func() { // as long as the program
		<-asked
		end()
		<-asked
		endNow()
	}()
	return ctx, hurry{second}, func() { signal.Stop(asked) }
}

// run runs one command and returns its exit status. Of a command that has a
// mount to take away, a second signal must not make it leave that; of any other,
// it ends the program at once.
func run(ctx context.Context, again hurry, stopNotify func(), args []string, std *streams) int {
	parser, err := newParser(std)
	if err != nil {
		fmt.Fprintln(std.err, "mikan:", err)
		return exitFailed
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintf(std.err, "mikan: %v\nmikan --help lists the commands\n", err)
		return exitUsage
	}
	if name := k.Selected().Name; name == "serve" || name == "mount" {
		outliveReader()
	} else {
		context.AfterFunc(ctx, stopNotify)
	}
	k.BindTo(ctx, (*context.Context)(nil))
	k.Bind(again)
	err = k.Run(std)
	var status *exitError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &status):
		if text := status.Error(); text != "" {
			fmt.Fprintln(std.err, "mikan:", text)
		}
		return status.status
	}
	fmt.Fprintln(std.err, "mikan:", err)
	return exitFailed
}

// outliveReader lets the program go on when nobody reads what it says any more, as
// after Ctrl-C in "mikan serve | tee log": it has a mount to take away.
func outliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

func newParser(std *streams) (*kong.Kong, error) {
	return kong.New(&cli{},
		kong.Name("mikan"),
		kong.Description("Offices for chat conversations, in which an AI coding agent works, as a file tree. See mikan(1)."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}),
		kong.NamedMapper("path", kong.MapperFunc(absolute)),
		kong.Writers(std.out, std.err),
		kong.Vars{"version": version},
	)
}

// absolute takes a path as seen from the working directory. An empty one, as of a
// variable that is set to nothing, is none; kong would make it that directory.
func absolute(ctx *kong.DecodeContext, target reflect.Value) error {
	var path string
	if err := ctx.Scan.PopValueInto("path", &path); err != nil {
		return err
	}
	if path != "" {
		path = kong.ExpandPath(path)
	}
	target.SetString(path)
	return nil
}

type versionCmd struct{}

// Run prints the version.
func (versionCmd) Run(std *streams) error {
	_, err := fmt.Fprintln(std.out, version)
	return err
}
