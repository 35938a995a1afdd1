package cli

import "github.com/spf13/cobra"

// addBuiltin adds the commands the parser brings along, help and completion, to root. By themselves
// they answer a name no command has with a page of help and exit code 0, which a script would take
// for the completion it asked for.
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

// helpOn prints the help of the command that path names.
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

// HelpOrUnknown is the action of a command that only has commands below it: it prints its help, and
// takes an argument for a command that does not exist.
func HelpOrUnknown(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		return UnknownCommand(cmd, args[0])
	}
	return cmd.Help()
}
