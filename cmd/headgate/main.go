// Command headgate is the daemon and everything that speaks to it: one binary, one wiring.
//
//	serve ───────────────► edge: UDP 4290, HTTP 4291, admin 4292
//	check ───────────────► UDP 4290, by edge/wire's client
//	mitigations, top, … ─► admin 4292, JSON
//	config check, replay ► files
//	demo ────────────────► three of serve, in this process
//
// Each command is a file of its own; all of them write to the streams they are given and return an
// error that knows its exit code, so a test runs the whole program by calling run.
package main

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// version is set by the linker (-X main.version=…).
var version = ""

// The groups that help lists the commands in.
const (
	toRun    = "Run it:"
	toAsk    = "Ask it:"
	toChange = "Change it by hand:"
	toKnow   = "About itself:"
)

// commands is the table of everything headgate can do.
var commands = []struct {
	group string
	build func(*app) *cobra.Command
}{
	{toRun, serveCommand},
	{toRun, configCommand},
	{toRun, initCommand},
	{toRun, replayCommand},
	{toRun, demoCommand},
	{toAsk, checkCommand},
	{toAsk, rulesCommand},
	{toAsk, suggestCommand},
	{toAsk, explainCommand},
	{toAsk, mitigationsCommand},
	{toAsk, topCommand},
	{toAsk, eventsCommand},
	{toAsk, clusterCommand},
	{toAsk, healthCommand},
	{toChange, blockCommand},
	{toChange, allowCommand},
	{toChange, unblockCommand},
	{toChange, modeCommand},
	{toChange, reloadCommand},
	{toKnow, versionCommand},
	{toKnow, manCommand},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run executes headgate with args, the program's name left out, and returns its exit code.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return newApp(stdout, stderr).run(ctx, args)
}

const rootHelp = `headgate answers "may this request pass?" beside an edge proxy, from its own memory.

Exit codes: 0 done (check: allow) · 1 no (check: deny; config check: faults found) · 2 could not do it.`

func rootCommand(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:           "headgate",
		Short:         "A rate limiter daemon for edge proxies",
		Long:          rootHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return unknownCommand(cmd, args[0])
			}
			return cmd.Help()
		},
	}
	root.SetOut(a.stdout)
	root.SetErr(a.stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return usage(cmd, err) })
	for _, group := range []string{toRun, toAsk, toChange, toKnow} {
		root.AddGroup(&cobra.Group{ID: group, Title: group})
	}
	for _, entry := range commands {
		cmd := entry.build(a)
		cmd.GroupID = entry.group
		root.AddCommand(cmd)
	}
	root.SetHelpCommandGroupID(toKnow)
	root.SetCompletionCommandGroupID(toKnow)
	return root
}

// unknownCommand says that cmd has no such subcommand, and which ones come near.
func unknownCommand(cmd *cobra.Command, name string) error {
	cmd.SuggestionsMinimumDistance = 2
	text := "unknown command " + quote(name)
	if near := cmd.SuggestionsFor(name); len(near) > 0 {
		text += ", did you mean " + oneOf(near) + "?"
	}
	return usage(cmd, errors.New(text))
}
