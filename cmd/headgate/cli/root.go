package cli

import (
	"context"

	"github.com/spf13/cobra"
)

// Entry is a command of the program.
type Entry struct {
	// the heading in the help the command stands below; empty: none
	Group string
	Build func(*App) *cobra.Command // returns the command, for a run
}

// Run executes the program the commands in table make up, with args, and returns the exit code, 0
// to 2.
func (a *App) Run(ctx context.Context, table []Entry, args []string) int {
	root := NewRoot(a, table)
	root.SetArgs(args)
	return a.exitCode(root.ExecuteContext(ctx))
}

const rootHelp = `headgate answers "may this request pass?" beside an edge proxy, from
its own memory.

Exit codes: 0 done (check: allow) · 1 no (check: deny; config check: faults found; unblock:
nothing to remove) · 2 error.`

// NewRoot returns the command above the commands of table, listed in help by group, in the order of
// the table. Commands of the parser itself stand in the last group.
func NewRoot(a *App, table []Entry) *cobra.Command {
	root := &cobra.Command{
		Use:           "headgate",
		Short:         "A rate limiter daemon for edge proxies",
		Long:          rootHelp,
		Args:          cobra.ArbitraryArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		RunE:          HelpOrUnknown,
	}
	root.Version = ThisBuild().line()
	root.SetVersionTemplate("{{.Version}}\n")
	root.SetOut(a.Stdout)
	root.SetErr(a.Stderr)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error { return Usage(cmd, err) })
	for _, e := range table {
		if e.Group != "" && !root.ContainsGroup(e.Group) {
			root.AddGroup(&cobra.Group{ID: e.Group, Title: e.Group})
		}
		cmd := e.Build(a)
		cmd.GroupID = e.Group
		root.AddCommand(cmd)
		root.SetHelpCommandGroupID(e.Group)
		root.SetCompletionCommandGroupID(e.Group)
	}
	addBuiltin(root)
	return root
}
