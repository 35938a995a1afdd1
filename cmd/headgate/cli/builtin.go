package cli

import "github.com/spf13/cobra"

// addBuiltin adds the commands the parser brings along, help and completion, to root. By default an
// unknown name is answered with a page of help and exit code 0, which a script would take for the
// completion.
func addBuiltin(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, cmd := range root.Commands() {
		switch cmd.Name() {
		case "help":
			cmd.Run, cmd.RunE = nil, helpOn
		case "completion":
			cmd.Args, cmd.RunE = cobra.ArbitraryArgs, HelpOrUnknown
		}
	}
}

// helpOn prints the help of path's command.
func helpOn(help *cobra.Command, path []string) error {
	cmd, rest, err := help.Root().Find(path)
	if err != nil {
		return Usage(help, err)
	}
	if len(rest) > 0 && cmd.HasSubCommands() {
		return UnknownCommand(cmd, rest[0])
	}
	cmd.InitDefaultHelpFlag()
	return cmd.Help()
}

// HelpOrUnknown is the action of a command with commands below: help is printed, and an argument is
// taken for an unknown command.
func HelpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UnknownCommand(cmd, args[0])
	}
	return cmd.Help()
}
