package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	exitOK     = 0
	exitNo     = 1 // asked and answered: deny, or a file with faults
	exitFailed = 2 // could not be done: wrong usage, nobody there, refused
)

// errNo ends a command whose answer is no, when all there is to say has been printed.
var errNo = errors.New("no")

// app is what the commands share: where they write and what the environment told them.
type app struct {
	stdout, stderr io.Writer
	getenv         func(string) string
	now            func() time.Time
	colour         bool // stdout is a terminal that wants colours
	admin          adminFlags
}

func newApp(stdout, stderr io.Writer) *app {
	a := &app{stdout: stdout, stderr: stderr, getenv: os.Getenv, now: time.Now}
	a.colour = isTerminal(stdout) && a.getenv("NO_COLOR") == "" && a.getenv("TERM") != "dumb"
	return a
}

// run executes the command that args name and returns its exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := rootCommand(a)
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}

// exitCode prints err, unless there is nothing left to say, and returns the code for it.
func (a *app) exitCode(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errNo):
		return exitNo
	}
	fmt.Fprintf(a.stderr, "headgate: %s\n", safeLines(err.Error()))
	return exitFailed
}

// usage adds to an error in how cmd was called where to read more.
func usage(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w (see `%s --help`)", err, cmd.CommandPath())
}

// want checks that exactly the named arguments are given.
func want(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return usage(cmd, fmt.Errorf("%s takes no argument, got %s", cmd.Name(), quote(args[0])))
		}
		return usage(cmd, fmt.Errorf("%s wants %s, got %s", cmd.Name(), strings.Join(names, " and "), count(len(args), "argument")))
	}
}

// count renders n things: "1 key", "2 keys", "8,799 keys".
func count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return grouped(int64(n)) + " " + thing + "s" // far below 2^63
}

// oneOf renders alternatives: "a", "a or b", "a, b or c".
func oneOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}
