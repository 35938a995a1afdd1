package ask

import "github.com/spf13/cobra"

// completeRule completes the first argument with the running daemon's rules; keys are unknown here.
func (a *app) completeRule(
	cmd *cobra.Command, args []string, _ string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return a.AskRuleNames(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
}

// addRuleFlag gives cmd --rule, completed from the running daemon.
func (a *app) addRuleFlag(cmd *cobra.Command, rule *string) {
	cmd.Flags().StringVar(rule, "rule", "", "only the rule `NAME`")
	complete := func(cmd *cobra.Command, _ []string, word string) (
		[]cobra.Completion, cobra.ShellCompDirective,
	) {
		return a.completeRule(cmd, nil, word)
	}
	if err := cmd.RegisterFlagCompletionFunc("rule", complete); err != nil {
		panic(err) // the flag was added two lines up
	}
}
