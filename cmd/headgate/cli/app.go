package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/headgate-dev/headgate/edge/api"
	"github.com/spf13/cobra"
)

// The exit codes of every command.
const (
	ExitOK     = 0
	ExitNo     = 1 // asked and answered: deny, or a file with faults
	ExitFailed = 2 // could not be done: wrong usage, nobody there, refused
)

// ErrNo ends a command whose answer is no, when all there is to say has been printed.
var ErrNo = errors.New("no")

// App is shared by the commands: their streams and their environment.
type App struct {
	Stdout, Stderr io.Writer
	Getenv         func(string) string // a variable of the environment; empty: not set
	Now            func() time.Time
	Colour         bool // Stdout is a terminal wanting colours
	admin          adminFlags
}

// NewApp returns the surroundings of a run writing to stdout and stderr, in the environment of this
// process.
func NewApp(stdout, stderr io.Writer) *App {
	a := &App{Stdout: stdout, Stderr: stderr, Getenv: os.Getenv, Now: time.Now}
	a.Colour = IsTerminal(stdout) && a.Getenv("NO_COLOR") == "" && a.Getenv("TERM") != "dumb"
	return a
}

// exitCode prints err, unless there is nothing left to say, and returns the exit code.
func (a *App) exitCode(err error) int {
	switch {
	case err == nil:
		return ExitOK
	case errors.Is(err, ErrNo):
		return ExitNo
	}
	fmt.Fprintf(a.Stderr, "headgate: %s\n", SafeLines(err.Error()))
	return ExitFailed
}

// Usage adds to an error in how cmd was called where to read more.
func Usage(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w (see `%s --help`)", err, cmd.CommandPath())
}

// Want checks for exactly the named arguments.
func Want(names ...string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) == len(names) {
			return nil
		}
		if len(names) == 0 {
			return Usage(cmd, fmt.Errorf("%s takes no argument, got %s",
				cmd.Name(), Quote(args[0])))
		}
		return Usage(cmd, fmt.Errorf("%s wants %s, got %s", cmd.Name(),
			strings.Join(names, " and "), Count(len(args), "argument")))
	}
}

// WantAll accepts arguments, at least 1, each of which is called name.
func WantAll(name string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return nil
		}
		return Usage(cmd, fmt.Errorf("%s wants %s, got 0 arguments", cmd.Name(), name))
	}
}

// Count renders n things: "1 key", "2 keys", "8,799 keys".
func Count[N int | int64 | uint64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return Grouped(int64(n)) + " " + thing + "s" // far below 2^63
}

// OneOf renders alternatives: "a", "a or b", "a, b or c".
func OneOf(names []string) string {
	last := len(names) - 1
	if last < 1 {
		return strings.Join(names, "")
	}
	return strings.Join(names[:last], ", ") + " or " + names[last]
}

// UnknownCommand is the error of an unknown subcommand of cmd, with the nearest name.
func UnknownCommand(cmd *cobra.Command, name string) error {
	text := "unknown command " + Quote(name)
	var names []string
	for _, c := range cmd.Commands() {
		names = append(names, c.Name())
	}
	if near := api.Nearest(name, slices.Values(names)); near != "" {
		text += ", did you mean " + near + "?"
	}
	return Usage(cmd, errors.New(text))
}
